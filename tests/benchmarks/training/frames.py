"""How often the canvas follows a training: ``python -m tests.benchmarks.training.frames [FILE …]``.

Each diagram is trained in a whole window of 1280 × 720 at full speed, and then without a window
from the step at which the measurement began. Each line gives the frames a second, counting
paintings that show a new step with its states; the processor time that a frame takes the window's
thread, how often it paints the canvas for one, and what that and the evaluator's thread take; the
steps a second in the window as a share of those without; the processor time of a step without the
window as a share of that with it (on Linux), which is what frames take away from steps; and how
long the window's thread was busy at most before it looked for events again. On a busy machine the
processor times are nearer to the truth than the frames and steps a second. Set QT_QPA_PLATFORM=xcb
for a real window; without a screen the painting is the same. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import cProfile
import math
import os
import pstats
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.evaluator import Evaluation
from gradwire.app.services.garbage import GarbageCollector
from gradwire.app.services.settings import Settings
from gradwire.app.shell import main_window
from gradwire.app.shell.application import TURN, _spare_cores
from gradwire.runtime.diagram import load
from gradwire.runtime.training.course import Course

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from gradwire.runtime.training.saving.checkpoint import TrainerState

DIAGRAMS = Path(__file__).parents[3] / "assets" / "diagrams"
EXAMPLES = ("training_spirals", "training_gan")
PATIENCE = 30.0


class Canvas(CanvasView):
    """A canvas that counts paintings of new results, and how long it paints."""

    shown = painted = 0
    seconds = 0.0
    _counted: Any = None

    def paintEvent(self, event: QPaintEvent) -> None:
        began = time.thread_time()
        super().paintEvent(event)
        self.seconds += time.thread_time() - began
        self.painted += 1
        result = self.view.annotations.page.result
        if result is not None and result is not self._counted:
            self._counted = result
            self.shown += 1


class Evaluator:
    """Counts the evaluator's processor time and, if there is one, profiles its thread."""

    def __init__(self, profile: cProfile.Profile | None) -> None:
        self.seconds = 0.0
        self.profile = profile

    def patched(self) -> Any:
        compute, this = Evaluation.__call__, self

        def call(self: Evaluation, *given: Any) -> Any:
            began = time.thread_time()
            if this.profile is not None:
                this.profile.enable()
            try:
                return compute(self, *given)
            finally:
                if this.profile is not None:
                    this.profile.disable()
                this.seconds += time.thread_time() - began

        return patch.object(Evaluation, "__call__", call)


def spent_by(pid: int) -> float:
    """The processor time that a process has taken, in seconds; NaN where it is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def headless(path: Path, seconds: float, state: TrainerState) -> tuple[float, float]:
    """Steps a second of the same course without a window, from a state on: later steps may take
    longer or shorter than first ones. And the processor time of one.
    """
    course = Course(load(path))
    course.resume(state)
    for _ in range(50):
        course.advance()
    first, began, spent = course.step, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        for _ in range(20):
            course.advance()
    made = course.step - first
    return made / (time.perf_counter() - began), (time.process_time() - spent) / made


def events(seconds: float) -> float:
    """Handle events for so long; the most processor time that one round of them took, in ms."""
    longest, until = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        spent = time.thread_time()
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        longest = max(longest, time.thread_time() - spent)
    return 1e3 * longest


def measured(path: Path, seconds: float, profiles: bool) -> str:
    """The line of one diagram."""
    folder = tempfile.TemporaryDirectory()
    settings = Settings(QSettings(f"{folder.name}/settings.ini", QSettings.Format.IniFormat))
    in_thread, in_window = (cProfile.Profile(time.thread_time) for _ in range(2))
    evaluator = Evaluator(in_thread if profiles else None)
    with evaluator.patched(), patch.object(main_window, "CanvasView", Canvas):
        window = main_window.MainWindow(settings)
        window.resize(1280, 720)
        window.show()
        assert window.open_path(path)
        waker = QTimer(window, interval=50)  # so that waiting for events ends
        waker.start()
        limit = time.perf_counter() + PATIENCE
        while window.evaluator.busy or not window.canvas.shown:
            events(0.05)
            assert time.perf_counter() < limit, "the first result did not come"
        window.training.toggle()
        while not window.training.step_shown:
            events(0.05)
            assert time.perf_counter() < limit, "the first step did not come"
        events(3.0)
        canvas = window.canvas
        course = window.training.courses[0]
        canvas.shown = canvas.painted = 0
        canvas.seconds = evaluator.seconds = 0.0
        assert window.training.shown is not None
        state = window.training.shown.lanes[0].state
        process = window.training.worker.process
        assert process is not None
        first, began, spent = course.step, time.perf_counter(), time.thread_time()
        others = spent_by(process.pid)
        if profiles:
            in_window.enable()
        longest = events(seconds)
        if profiles:
            in_window.disable()
        took, own = time.perf_counter() - began, time.thread_time() - spent
        others, made = spent_by(process.pid) - others, course.step - first
        window.training.pause()
        while window.training.is_playing:
            events(0.05)
        events(0.3)
        window.document.undo_stack.setClean()
        window.close()
    if profiles:
        for profile in (in_window, in_thread):
            pstats.Stats(profile).sort_stats("tottime").print_stats(28)
            pstats.Stats(profile).sort_stats("cumtime").print_stats(45)
    frames, (most, alone) = max(1, canvas.shown), headless(path, seconds / 2, state)
    steps = made / took
    folder.cleanup()
    return (
        f"{path.name.partition('.')[0]:24}{canvas.shown / took:8.1f}{1e3 * own / frames:9.1f}"
        f"{canvas.painted / frames:9.1f}{1e3 * canvas.seconds / frames:7.1f}"
        f"{1e3 * evaluator.seconds / frames:9.1f}"
        f"{steps:9.0f}{most:9.0f}{steps / most:7.0%}{alone / (others / made):9.0%}{longest:9.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args()
    examples = [DIAGRAMS / f"{name}.gradwire.json" for name in EXAMPLES]
    application = QApplication.instance() or QApplication([])
    sys.setswitchinterval(TURN)
    _spare_cores()
    collector = GarbageCollector()
    print(
        f"{'':24}{'frames/s':>8}{'ms/frame':>9}{'paintings':>10}{'ms':>6}{'evaluate':>9}"
        f"{'steps/s':>9}{'headless':>9}{'share':>7}{'of time':>9}{'busy ms':>9}"
    )
    for path in given.files or examples:
        print(measured(path, given.seconds, given.profile), flush=True)
        collector.collect()
    application.processEvents()


if __name__ == "__main__":
    main()
