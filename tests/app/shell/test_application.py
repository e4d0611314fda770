"""Starting, in a process of its own, with and without what it needs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QIcon

from app.document.document import Document
from app.services.examples import ASSETS, examples
from app.shell.application import BLAS_THREADS, TURN, _hook, _spare_cores, run
from blocks.errors import RunError

ROOT = Path(__file__).parents[3]
SHORT_LIFE = """
import gc, sys
from pathlib import Path
from PySide6.QtCore import QSettings, QTimer
QSettings.setDefaultFormat(QSettings.Format.IniFormat)
QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, sys.argv[2])
from app.shell import application, main_window

class Window(main_window.MainWindow):
    def show(self):
        super().show()
        self.evaluator.resultChanged.connect(self.tell)

    def tell(self, result):
        if result.values:
            print(self.windowTitle(), sorted(result.gradients), gc.isenabled(), flush=True)
            QTimer.singleShot(0, self.close)

main_window.MainWindow = Window
sys.exit(application.run(Path(sys.argv[1])))
"""


def start(code, *arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env=kept | environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def test_it_opens_a_file_runs_it_and_ends_when_the_window_is_closed(tmp_path):
    path = str(examples()[0].path)
    ended = start(
        SHORT_LIFE, path, str(tmp_path), QT_QPA_PLATFORM="offscreen", XDG_STATE_HOME=str(tmp_path)
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert Path(path).name in ended.stdout
    assert "['a', 'b'] False" in ended.stdout  # garbage is collected by the editor, not by Python


def test_without_a_display_it_points_to_the_headless_command(monkeypatch):
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems always have a display")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RunError, match=r"gradwire run my\.gradwire\.json"):
        run(Path("my.gradwire.json"))


def test_without_qt_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("runtime.cli.display.importlib.util.find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"gradwire\[app\]"):
        run(None)


def test_importing_the_start_needs_no_qt():
    ended = start("import sys, app.shell.application; print('PySide6' in sys.modules)")
    assert ended.stdout.strip() == "False", ended.stderr


def test_the_icon_can_be_drawn(qapp):
    icon = QIcon(str(ASSETS / "icons" / "gradwire.svg"))
    assert icon.pixmap(64, 64).toImage().pixelColor(32, 40).blue() > 100


HURT = """
import sys
import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from app.canvas.view import CanvasView
application = QApplication([])
sys.excepthook = lambda *error: print("told", error[0].__name__)
class Hurt(CanvasView):
    def mousePressEvent(self, event):
        np.zeros(0).min()
canvas = Hurt()
canvas.show()
at, left = QPointF(9, 9), Qt.MouseButton.LeftButton
press = QMouseEvent(QEvent.Type.MouseButtonPress, at, at, left, left, Qt.NoModifier)
QTimer.singleShot(0, lambda: application.postEvent(canvas, press))
QTimer.singleShot(50, application.quit)
application.exec()
print("alive")
"""


def test_an_error_of_numpy_under_the_pointer_does_not_kill_the_editor():
    ended = start(HURT, QT_QPA_PLATFORM="offscreen")
    assert ended.stdout.split("\n")[-3:-1] == ["told ValueError", "alive"], ended.stderr


class Windows:
    """As much of the windows as the hook needs."""

    def __init__(self):
        self.document = Document()
        self.closed = False

    def active(self):
        return self

    def close_all(self):
        self.closed = True


def test_what_nothing_caught_is_told_and_the_windows_live_on(qapp, capsys):
    windows, told = Windows(), []
    windows.document.problem.connect(told.append)
    _hook(windows)(ValueError, ValueError("oh"), None)
    assert "ValueError: oh" in told[0]
    assert "ValueError: oh" in capsys.readouterr().err
    assert not windows.closed


def test_an_interrupt_closes_the_windows(qapp):
    windows = Windows()
    _hook(windows)(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert windows.closed


@pytest.fixture
def limits(monkeypatch):
    """The limits that are set, instead of setting them."""
    found = []
    monkeypatch.setattr("threadpoolctl.threadpool_limits", lambda *a, **k: found.append((a, k)))
    monkeypatch.setattr("runtime.engine.plan.threads.limit", found.append)
    for name in BLAS_THREADS:
        monkeypatch.delenv(name, raising=False)
    return found


def test_arithmetic_leaves_the_other_cores_to_the_window(limits):
    _spare_cores()
    assert limits == [((1,), {"user_api": "blas"}), 1]


@pytest.mark.parametrize("name", BLAS_THREADS)
def test_a_user_says_how_many_threads_to_use(limits, monkeypatch, name):
    monkeypatch.setenv(name, "2")
    _spare_cores()
    assert limits == []


def test_the_window_gets_its_turn_sooner_than_by_default():
    assert 0 < TURN < 0.005
