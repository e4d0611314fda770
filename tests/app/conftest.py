"""Windows without a screen, settings that no other run has seen, and nothing left behind."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt

from app.services import theme
from app.services.settings import Settings
from app.shell.main_window import MainWindow
from tests.app.closing import give_up


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


@pytest.fixture
def window(qtbot, settings):
    """A window of its own, shown and active; with it go all that it opened."""
    made = MainWindow(settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.resize(1300, 850)
    made.show()
    qtbot.waitExposed(made)
    made.activateWindow()
    windows = made.windows
    yield made
    for each in windows.listed:
        give_up(each)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not [thread.name for thread in threading.enumerate() if thread.name == "evaluator"]
