"""Trains on a thread, in slices between which the window has its turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from PySide6.QtCore import QAbstractEventDispatcher, QObject, Signal

from app.evaluation.worker import Superseded, Worker
from blocks.errors import GradwireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runtime.diagram import Diagram
    from runtime.diagram.pages import Address
    from runtime.training.alarms import Alarm
    from runtime.training.course import Course

FRAME = 1.0 / 30.0
"""Seconds between two frames at least."""
_TURN = 0.03
"""Seconds that the window may take before the training makes a step regardless."""
RUN = "run"
Edit: TypeAlias = "Sequence[tuple[Diagram, Diagram]]"
"""For each course what was shown, and what it is to be."""


@dataclass(frozen=True)
class Lane:
    """What a frame shows of one course."""

    step: int
    step_number: int
    """Of the session: Random and Dataset blocks draw for it."""
    epoch: int | None
    """How often the data were seen; None without data."""
    values: Mapping[Address, NDArray[Any]]
    """All variables."""
    losses: Mapping[str, float]
    """Of the last step, by port; empty if none was made."""
    alarms: tuple[Alarm, ...] = ()
    """Those since the frame before."""


@dataclass(frozen=True)
class Frame:
    """All courses at one step, to be shown."""

    lanes: tuple[Lane, ...]
    rate: float
    """Steps a second since the frame before; 0 if nothing runs."""
    edits: int = 0
    """How many edits the courses had taken by then."""
    is_last: bool = False
    problem: str = ""
    """Why the training can't go on, if so."""
    place: str = ""
    """The block at which it can't."""
    is_structural: bool = False
    """An edit changed more than numbers, so that the courses are over."""

    @property
    def step(self) -> int:
        """Rounds made so far."""
        return self.lanes[0].step if self.lanes else 0


class Control:
    """What the window wants of a run under way; both threads use it."""

    def __init__(self, pace: float | None, most: int | None = None) -> None:
        self.pace = pace
        """Steps a second; None for as many as possible."""
        self.most = most
        """Steps to make; None for no end."""
        self._stop = threading.Event()
        self._wanted = threading.Event()
        self._wanted.set()
        self._edits: list[Edit] = []
        self._lock = threading.Lock()

    def stop(self) -> None:
        """End the run after the step under way."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """Whether the run is to end."""
        return self._stop.is_set()

    def want_frame(self) -> None:
        """Ask for the next frame; there is none until the one before has been shown."""
        self._wanted.set()

    @property
    def wants_frame(self) -> bool:
        """Whether the frame before has been shown."""
        return self._wanted.is_set()

    def give_frame(self) -> None:
        """Count a frame as given."""
        self._wanted.clear()

    def edit(self, edit: Edit) -> None:
        """Hand over an edit of what was shown."""
        with self._lock:
            self._edits.append(edit)

    def take_edits(self) -> list[Edit]:
        """The edits since the last call."""
        with self._lock:
            edits, self._edits = self._edits, []
        return edits

    def rest(self, seconds: float) -> None:
        """Wait, at most until the run is to end."""
        self._stop.wait(seconds)


class Turns(QObject):
    """Whether the window's thread waits for events, so that another may compute undisturbed.

    Python runs one thread at a time: without this, a window that is busy would wait for the
    training again and again.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._idle = threading.Event()
        self._idle.set()
        self._dispatcher = QAbstractEventDispatcher.instance()

    def begin(self) -> None:
        """Watch the events of the window's thread."""
        if self._dispatcher is not None:
            self._dispatcher.aboutToBlock.connect(self._idle.set)
            self._dispatcher.awake.connect(self._idle.clear)

    def end(self) -> None:
        """Stop watching: whoever waits need not."""
        if self._dispatcher is not None:
            self._dispatcher.aboutToBlock.disconnect(self._idle.set)
            self._dispatcher.awake.disconnect(self._idle.clear)
        self._idle.set()

    def wait(self) -> None:
        """Return when the window has nothing to do, or has had its turn for long enough."""
        self._idle.wait(_TURN)


class TrainingWorker(Worker):
    """Runs and rewinds courses. ``framed`` gives a Frame while they run, ``finished`` the last."""

    framed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.turns = Turns(self)

    def begin(self, make: Callable[[], Sequence[Course]]) -> None:
        """Make courses: they are the result."""
        self.submit(RUN, lambda superseded: tuple(make()))

    def play(self, courses: Sequence[Course], names: Sequence[str], control: Control) -> None:
        """Make steps until the control ends it; where a course had gone back, it goes on under its
        new name.
        """
        emit: Callable[[Frame], None] = self.framed.emit

        def job(superseded: Superseded) -> Frame:
            for course, name in zip(courses, names, strict=True):
                if course.step < course.furthest:
                    course.branch(name)
            return _play(tuple(courses), control, self.turns.wait, emit, superseded)

        self.submit(RUN, job)

    def go(self, courses: Sequence[Course], step: int) -> None:
        """Go to a step that was reached before."""
        self.submit(RUN, partial(_go, tuple(courses), step))


def _play(
    courses: tuple[Course, ...],
    control: Control,
    wait: Callable[[], None],
    emit: Callable[[Frame], None],
    superseded: Superseded,
) -> Frame:
    made = counted = edits = 0
    shown = due = time.monotonic()
    losses: list[Mapping[str, float]] = [{} for _ in courses]

    def frame(seconds: float, **more: Any) -> Frame:
        lanes = (_lane(*about) for about in zip(courses, losses, strict=True))
        rate = counted / seconds if seconds > 0.0 else 0.0
        return Frame(tuple(lanes), rate, edits, **more)

    while not (control.stopping or superseded()) and made != control.most:
        try:
            for edit in control.take_edits():
                edits += 1
                if not all([c.take(*both) for c, both in zip(courses, edit, strict=True)]):
                    return Frame((), 0.0, edits, is_last=True, is_structural=True)
            wait()
            is_slow = control.pace is not None and control.pace * FRAME <= 1.0
            is_due = control.wants_frame and (is_slow or time.monotonic() - shown >= FRAME)
            is_shown = is_due or made + 1 == control.most
            for place, course in enumerate(courses):
                record = course.advance_measured() if is_shown else course.advance()
                losses[place] = record.losses
        except GradwireError as error:
            at = (error.location.block if error.location else None) or ""
            return frame(0.0, is_last=True, problem=str(error), place=at)
        made, counted, now = made + 1, counted + 1, time.monotonic()
        if is_shown and made != control.most:
            control.give_frame()
            emit(frame(now - shown))
            shown, counted = now, 0
        if control.pace is not None:
            due = max(due + 1.0 / control.pace, now - 1.0)
            if due > now:
                control.rest(due - now)
    return frame(0.0, is_last=True)


def _go(courses: tuple[Course, ...], step: int, superseded: Superseded) -> Frame | None:
    if not all([course.go(step, superseded) for course in courses]):
        return None
    return Frame(tuple(_lane(course, course.losses()) for course in courses), 0.0, is_last=True)


def _lane(course: Course, losses: Mapping[str, float]) -> Lane:
    number, values = course.session.step_number, course.values()
    return Lane(course.step, number, course.epoch, values, losses, course.take_alarms())
