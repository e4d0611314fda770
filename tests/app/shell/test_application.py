"""Starting, in a process of its own, with and without what it needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QIcon

from gradwire.app.document.document import Document
from gradwire.app.services.examples import ASSETS, examples
from gradwire.app.shell.application import BLAS_THREADS, TURN, _hook, _spare_cores, run
from gradwire.blocks.errors import RunError

ROOT = Path(__file__).parents[3]
SHORT_LIFE = """
import gc, json, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QSettings, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from threadpoolctl import threadpool_info
QSettings.setDefaultFormat(QSettings.Format.IniFormat)
QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, sys.argv[2])
from gradwire.app.shell import application, main_window, windows

class Window(main_window.MainWindow):
    def show(self):
        super().show()
        self.document.problem.connect(problems.append)
        self.evaluator.resultChanged.connect(self.report)
        QTimer.singleShot(60_000, QApplication.quit)  # rather than wait for what never comes

    def report(self, result):
        if result.values:
            self.findings = {
                "title": self.windowTitle(),
                "gradients": sorted(result.gradients),
                "collected by Python": gc.isenabled(),
                "turn": sys.getswitchinterval(),
                "BLAS threads": [lib["num_threads"] for lib in threadpool_info()],
                "name": QCoreApplication.applicationName(),
                "desktop file": QGuiApplication.desktopFileName(),
                "has icon": not QGuiApplication.windowIcon().isNull(),
                "scale": QGuiApplication.highDpiScaleFactorRoundingPolicy().name,
                "arguments": QCoreApplication.arguments(),
                "hook": sys.excepthook.__module__,
            }
            QTimer.singleShot(0, self.close)

    def closeEvent(self, event):
        super().closeEvent(event)
        found = self.findings | {"recovery offered": offered, "translators": translators}
        found["problems"] = problems
        print(json.dumps(found), flush=True)

offered, translators, problems = [], [], []
offer, wait = windows.Windows.offer_recovery, QApplication.exec
QApplication.exec = lambda self: wait() or 7
windows.Windows.offer_recovery = lambda self: offered.append(len(self.listed)) or offer(self)
from gradwire.app.services import translation
installed = translation.install
translation.install = lambda made: translators.append(1) or installed(made)
main_window.MainWindow = Window
sys.exit(application.run(Path(sys.argv[1])))
"""


def start(code, *arguments, **environment):
    left_out = ("DISPLAY", "WAYLAND_DISPLAY", *BLAS_THREADS)
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env=kept | environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


@pytest.mark.night
def test_it_opens_a_file_runs_it_and_ends_with_the_code_of_the_window(tmp_path):
    """One start, as a user sees it; each entry is undone by leaving out one line of ``run``."""
    path = examples()[0].path
    environment = {"QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path)}
    ended = start(SHORT_LIFE, str(path), str(tmp_path), **environment)
    assert ended.returncode == 7, ended.stderr
    found = json.loads(ended.stdout)
    assert path.name in found.pop("title")
    assert found == {
        "gradients": ["a", "b"],
        "collected by Python": False,  # the editor does it, in the thread of its windows
        "turn": TURN,
        "BLAS threads": [1] * len(found["BLAS threads"]),
        "name": "Gradwire",
        "desktop file": "gradwire",
        "has icon": True,
        "scale": "PassThrough",
        "arguments": ["-c"],
        "hook": "gradwire.app.shell.application",
        "recovery offered": [1],
        "translators": [1],
        "problems": [],
    }


FINDER = """
import types
from PySide6.QtGui import QFileOpenEvent

def ask_and_wait(self):
    QTimer.singleShot(0, lambda: QCoreApplication.sendEvent(self, QFileOpenEvent(sys.argv[1])))
    return wait()

QApplication.exec = ask_and_wait
application.sys = types.SimpleNamespace(**vars(sys) | {"platform": "darwin"})
sys.exit(application.run(None))
"""


@pytest.mark.night
def test_on_macos_it_opens_the_files_that_finder_gives_it(tmp_path):
    example = examples()[0].path
    code = SHORT_LIFE.replace("sys.exit(application.run(Path(sys.argv[1])))\n", FINDER)
    environment = {"QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path)}
    ended = start(code, str(example), str(tmp_path), **environment)
    assert json.loads(ended.stdout)["gradients"], ended.stderr


@pytest.mark.night
def test_without_its_typeface_it_starts_and_says_what_to_install(tmp_path):
    without = (
        "from gradwire.runtime import extras; find = extras.find_spec\n"
        "extras.find_spec = lambda name: None if name == 'pymupdf_fonts' else find(name)\n"
    )
    environment = {"QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path)}
    ended = start(without + SHORT_LIFE, str(examples()[0].path), str(tmp_path), **environment)
    (problem,) = json.loads(ended.stdout)["problems"]
    assert "Noto Sans is not installed" in problem
    assert problem.endswith("pip install pymupdf-fonts")


def test_without_a_display_it_points_to_the_headless_command(monkeypatch):
    if not sys.platform.startswith("linux"):
        pytest.skip("other systems always have a display")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RunError, match=r"gradwire run my\.gradwire\.json"):
        run(Path("my.gradwire.json"))


def test_without_qt_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"gradwire\[app\]"):
        run(None)


def test_importing_the_start_needs_no_qt():
    ended = start("import sys, gradwire.app.shell.application; print('PySide6' in sys.modules)")
    assert ended.stdout.strip() == "False", ended.stderr


IMPORTS = """
import gc, linecache, os, sys
from pathlib import Path
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication
from gradwire.app.shell import application

class Watch(QObject):
    def eventFilter(self, canvas, event):
        if event.type() == QEvent.Type.Paint and canvas.view.scene.page.blocks:
            QTimer.singleShot(0, end)
        return False

def end():
    print(*sys.modules, *linecache.cache, flush=True)
    os._exit(0)

def wait_for_a_frame(self):
    names = vars(sys.modules["gradwire.app.shell.main_window"])
    if any(each is names for each in gc.get_objects()):
        print("looked at for garbage:", names["__name__"])
    (window,) = (each for each in self.topLevelWidgets() if hasattr(each, "canvas"))
    window.resize(window.width(), 600)  # the palette paints the blocks that it has room for
    watch = Watch(window.canvas)
    window.canvas.installEventFilter(watch)
    QTimer.singleShot(60_000, QApplication.quit)  # rather than wait for what never comes
    return wait()

wait, QApplication.exec = QApplication.exec, wait_for_a_frame
application.run(Path(sys.argv[1]))
"""

SELDOM = {
    "gradwire.blocks.library.activations", "gradwire.blocks.library.convolution",
    "gradwire.blocks.library.functions", "gradwire.blocks.library.layers",
    "gradwire.blocks.library.reduce", "gradwire.blocks.library.linear_algebra",
    "gradwire.blocks.library.logic", "gradwire.blocks.library.parts",
    "gradwire.blocks.library.random", "gradwire.blocks.library.sampling",
    "gradwire.blocks.library.shape", "gradwire.app.controllers.costs",
    "gradwire.app.controllers.lessons.authoring", "gradwire.app.panels.bars.cost_bar",
    "gradwire.app.panels.lessons.authoring", "gradwire.app.panels.lessons.step_form",
    "gradwire.app.controllers.lessons.player", "gradwire.app.controllers.lessons.predict",
    "gradwire.app.controllers.timeline", "gradwire.app.panels.bars.timeline_bar",
    "gradwire.app.panels.lessons.player", "gradwire.app.panels.lessons.prediction",
    "gradwire.app.panels.dialogs.bookmarks", "gradwire.app.panels.dialogs.command_palette",
    "gradwire.app.panels.dialogs.import_sheet", "gradwire.app.panels.dialogs.shortcuts",
    "gradwire.app.panels.dialogs.thresholds",
    "gradwire.app.shell.lesson_room", "gradwire.runtime.diagram.layout.arranging",
    "gradwire.runtime.diagram.lesson", "gradwire.runtime.diagram.training",
    "gradwire.runtime.lessons.prediction", "gradwire.runtime.lessons.steps",
    "gradwire.runtime.training.optimisers", "gradwire.runtime.training.recipe",
    "gradwire.app.commands.compare", "gradwire.app.commands.pictures",
    "gradwire.app.commands.sharing", "gradwire.app.panels.dialogs.recovery",
    "gradwire.app.pictures.files", "numpy.ma",
    "PySide6.QtPrintSupport", "PySide6.QtQml", "pyqtgraph", "gradwire.runtime.data.generators",
    "gradwire.runtime.interchange.importing.torch.operators",
    "gradwire.runtime.lessons.course.checking", "gradwire.runtime.lessons.derivative.card",
    "gradwire.runtime.publish.living", "gradwire.runtime.training.course",
    "gradwire.runtime.training.studies.files", "http.client", "ssl",
}  # fmt: skip
"""What most windows never need."""


@pytest.mark.night
def test_the_first_frame_of_a_file_needs_nothing_that_is_seldom_needed(tmp_path):
    environment = {"QT_QPA_PLATFORM": "offscreen", "XDG_STATE_HOME": str(tmp_path)}
    ended = start(IMPORTS, str(examples()[0].path), **environment)
    modules = set(ended.stdout.split())
    assert "gradwire.app.shell.main_window" in modules, ended.stderr
    assert modules & SELDOM == set()
    sources = [name for name in modules if name.endswith("main_window.py")]
    assert not sources, "PySide6 reads the source of what is imported"
    assert "garbage:" not in modules


def test_the_icon_can_be_drawn(qapp):
    icon = QIcon(str(ASSETS / "icons" / "gradwire.svg"))
    assert icon.pixmap(64, 64).toImage().pixelColor(32, 40).blue() > 100


HURT = """
import sys
import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from gradwire.app.canvas.view import CanvasView
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


@pytest.mark.night
def test_an_error_of_numpy_under_the_pointer_does_not_kill_the_editor():
    ended = start(HURT, QT_QPA_PLATFORM="offscreen")
    assert ended.stdout.split("\n")[-3:-1] == ["told ValueError", "alive"], ended.stderr


class Windows:
    """As much of the windows as the hook needs."""

    def __init__(self):
        self.document = Document()
        self.listed = (self,)
        self.closed = False

    def active(self):
        return self.listed[-1]

    def close_all(self):
        self.closed = True


def test_what_nothing_caught_is_told_and_the_windows_live_on(qapp, capsys):
    windows, told = Windows(), []
    windows.document.problem.connect(told.append)
    _hook(windows)(ValueError, ValueError("oh"), None)
    assert "ValueError: oh" in told[0]
    assert "ValueError: oh" in capsys.readouterr().err
    assert not windows.closed


def test_what_nothing_caught_after_the_last_window_is_told_in_the_terminal(qapp, capsys):
    windows = Windows()
    windows.listed = ()
    _hook(windows)(ValueError, ValueError("oh"), None)
    assert "ValueError: oh" in capsys.readouterr().err


def test_an_interrupt_closes_the_windows(qapp):
    windows = Windows()
    _hook(windows)(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert windows.closed


@pytest.fixture
def limits(monkeypatch):
    """The limits that are set, instead of setting them."""
    found = []
    monkeypatch.setattr("threadpoolctl.threadpool_limits", lambda *a, **k: found.append((a, k)))
    monkeypatch.setattr("gradwire.runtime.engine.plan.threads.limit", found.append)
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
