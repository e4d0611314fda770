"""Windows without a screen, settings that no other run has seen, and nothing left behind."""

from __future__ import annotations

import threading
from functools import partialmethod

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from gradwire.app.services import theme
from gradwire.app.services.garbage import GarbageCollector
from gradwire.app.services.settings import Settings
from gradwire.app.shell.main_window import MainWindow
from gradwire.runtime.diagram import save
from tests.app.closing import give_up
from tests.app.mouse import let_go

PATIENCE = 60_000
"""Milliseconds until a test gives up waiting: more than any machine needs, however busy."""


class PatientBot(QtBot):
    """Waits for what happens, so that no test states how fast a machine must be."""

    waitActive = partialmethod(QtBot.waitActive, timeout=PATIENCE)
    waitCallback = partialmethod(QtBot.waitCallback, timeout=PATIENCE)
    waitExposed = partialmethod(QtBot.waitExposed, timeout=PATIENCE)
    waitSignal = partialmethod(QtBot.waitSignal, timeout=PATIENCE)
    waitSignals = partialmethod(QtBot.waitSignals, timeout=PATIENCE)
    waitUntil = partialmethod(QtBot.waitUntil, timeout=PATIENCE)


@pytest.fixture
def qtbot(qapp, request) -> PatientBot:
    """The robot of pytest-qt with more patience."""
    return PatientBot(request)


@pytest.fixture(autouse=True, scope="session")
def collector(qapp):
    """Garbage is collected as in the editor, and after each test (see tests/conftest.py)."""
    return GarbageCollector(qapp)


@pytest.fixture(autouse=True)
def dressed(qapp):
    """The light theme, whatever the desktop is, and no widgets of the test before."""
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # no event loop runs between tests
    theme.apply(theme.LIGHT, qapp)


@pytest.fixture
def settings(tmp_path) -> Settings:
    """Settings of a user who has just installed the editor and uses it in daylight."""
    made = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    made.theme = "light"
    return made


def open_panels(window: MainWindow) -> None:
    """Open all panels but the history, as one does on a large screen."""
    for name, dock in window.docks.by_name.items():
        dock.setVisible(name != "history")


def require_room(window: MainWindow) -> None:
    """Whatever is said has room: a layout may give a label that counts as shown no width."""
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    labels = [x for x in window.findChildren(QLabel) if x.isVisible() and x.text()]
    assert not [x.text() for x in labels if not (x.width() and x.height())]


@pytest.fixture
def window(qtbot, settings):
    """A window with open panels, shown and active; with it go all that it opened."""
    made = MainWindow(settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.resize(1300, 850)
    open_panels(made)
    made.show()
    qtbot.waitExposed(made)
    made.activateWindow()
    windows = made.windows
    yield made
    for each in windows.listed:
        require_room(each)
        give_up(each)


@pytest.fixture
def opened(qtbot, settings, tmp_path):
    """Open a diagram in a window of its own, wait for its numbers, and return the window."""
    made = []

    def open_diagram(diagram):
        window = MainWindow(settings)
        made.append(window)
        window.resize(1300, 850)
        open_panels(window)
        window.show()
        qtbot.waitExposed(window)
        path = tmp_path / "diagram.gradwire.json"
        save(diagram, path)
        assert window.open_path(path)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        window.canvas.zoom_to_fit()
        window.canvas.setFocus()
        return window

    yield open_diagram
    for window in made:
        if isValid(window):
            require_room(window)
        give_up(window)
        window.deleteLater()


@pytest.fixture(autouse=True)
def no_button_is_left_down(qapp):
    yield
    held = qapp.mouseButtons()
    let_go(QWidget())  # so that only the test that pressed it fails
    assert not held, f"{held} is still down: release what the test presses"


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    left = [thread for thread in threading.enumerate() if thread.name == "worker"]
    for thread in left:
        thread.join(PATIENCE / 1000)  # closing a window waits for a run, but not for long
    assert not [thread for thread in left if thread.is_alive()]
