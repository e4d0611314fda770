"""Plays and rewinds courses, and says what a frame of them shows."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from gradwire.blocks.errors import GradwireError, reason_of
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.training.process.messages import Edit, Frame, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.training.course import Course
    from gradwire.runtime.training.saving.checkpoint import TrainerState

FRAME = 1.0 / 30.0
"""Seconds between two frames at least."""
_VARIABLE = "variable/"


class Control:
    """What a watcher wants of a run under way; two threads use it."""

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
    def is_stopping(self) -> bool:
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


def play(courses: Sequence[Course], control: Control, emit: Callable[[Frame], None]) -> Frame:
    """Make steps until the control ends it; ``emit`` takes frames, the last one is returned."""
    made = counted = edits = 0
    shown = due = time.monotonic()
    losses: list[Mapping[str, float]] = [{} for _ in courses]

    def frame(seconds: float, **more: Any) -> Frame:
        lanes = tuple(_lane(*about) for about in zip(courses, losses, strict=True))
        rate = counted / seconds if seconds > 0.0 else 0.0
        return Frame(lanes, rate, edits, **more)

    def take_edits() -> bool:
        """Take the edits since the last call; False if the courses are over."""
        nonlocal edits
        for edit in control.take_edits():
            edits += 1
            if not all([c.take(*both) for c, both in zip(courses, edit, strict=True)]):
                break
        return not _are_over(courses)

    while not control.is_stopping and made != control.most:
        try:
            if not take_edits():
                return _over(edits)
            is_slow = control.pace is not None and control.pace * FRAME <= 1.0
            is_due = control.wants_frame and (is_slow or time.monotonic() - shown >= FRAME)
            is_shown = is_due or made + 1 == control.most
            for place, course in enumerate(courses):
                record = course.advance_measured() if is_shown else course.advance()
                losses[place] = record.losses
        except Exception as error:  # a plug-in's block may raise anything
            text, block = described(error)
            return frame(0.0, is_last=True, problem=text, place=block)
        made, counted, now = made + 1, counted + 1, time.monotonic()
        if is_shown and made != control.most:
            control.give_frame()
            emit(frame(now - shown))
            shown, counted = now, 0
        if control.pace is not None:
            due = max(due + 1.0 / control.pace, now - 1.0)
            if due > now:
                control.rest(due - now)
    return frame(0.0, is_last=True) if take_edits() else _over(edits)


def go(courses: Sequence[Course], step: int, superseded: Callable[[], bool]) -> Frame | None:
    """Go to a step that was reached before; None if it was superseded on the way."""
    if _are_over(courses):
        return _over()
    if not all([course.go(step, superseded) for course in courses]):
        return None
    return still(courses)


def still(courses: Sequence[Course]) -> Frame:
    """What courses show while nothing runs."""
    return Frame(tuple(_lane(course, course.losses()) for course in courses), 0.0, is_last=True)


def _are_over(courses: Sequence[Course]) -> bool:
    return any(course.trainer.is_over for course in courses)


def _over(edits: int = 0) -> Frame:
    """Says that the courses are over, also if nobody waited for that when the edit was taken."""
    return Frame((), 0.0, edits, is_last=True, is_structural=True)


def described(error: Exception) -> tuple[str, str]:
    """What an error says, and the block that it names."""
    if not isinstance(error, GradwireError):
        return reason_of(error), ""
    location = error.location
    return str(error), str(location.block or "") if location else ""


def _lane(course: Course, losses: Mapping[str, float]) -> Lane:
    state = course.trainer.state()
    number, values = course.session.step_number, _values(course, state)
    return Lane(course.step, number, course.epoch, values, losses, state, course.take_alarms())


def _values(course: Course, state: TrainerState) -> dict[Address, Array]:
    """The arrays of variables in a state, by where they are in the document."""
    found = {}
    for name, array in state.arrays.items():
        if name.startswith(_VARIABLE):
            path = InstancePath(name.removeprefix(_VARIABLE))
            address = resolve(course.session.diagram, path)
            if address is not None and not address.part:
                found[address] = array
    return found
