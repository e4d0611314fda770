"""The process of the courses: it does one job after another until nobody writes to it any more."""

from __future__ import annotations

import os
import threading
import time
import traceback
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from gradwire.blocks.errors import FileError, GradwireError, reason_of
from gradwire.blocks.plugins import BrokenOff, breakable, interrupt
from gradwire.blocks.registry import registry
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.progress import listening
from gradwire.runtime.diagram.pages import resolve
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import compilation
from gradwire.runtime.engine.interruption import Interrupted, interruptible
from gradwire.runtime.interpreters import pipes
from gradwire.runtime.training.course import Course
from gradwire.runtime.training.process.messages import (
    About,
    Begin,
    Branch,
    CoursesReport,
    Drop,
    Edit,
    Event,
    Forget,
    Frame,
    Go,
    Job,
    Lane,
    Numbers,
    Play,
    PlayPace,
    Reading,
    Refuse,
    States,
    Stop,
    Take,
    WantFrame,
    packed,
    receive,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.training.saving.checkpoint import TrainerState


# Plays and rewinds courses, and says what a frame of them shows.

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


MOST = 4096
"""Numbers of steps that wait for the next frame, at most."""


def main() -> None:
    """Serve whoever started this process, over standard input and output."""
    Server(*pipes()).serve()


class Server:
    """Does jobs in this thread. Another one reads what the watcher wants meanwhile."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands, self._answers = commands, answers
        self._answering, self._breaking = threading.Lock(), threading.Lock()
        self._jobs: SimpleQueue[tuple[Job, Control] | None] = SimpleQueue()
        self._control = Control(None)
        """Of the newest job."""
        self._dropped = 0
        """The last job that nobody waits for."""
        self._is_breakable = False
        """Whether the job under way may be broken off at any place: no step would be half done."""
        self._worker = threading.get_ident()
        self._courses: tuple[Course, ...] = ()
        self._begun = 0
        self._events: tuple[list[Event], ...] = ()
        self._refused: dict[str, str] = {}

    def serve(self) -> None:
        """Do jobs; the process ends when nobody writes commands any more."""
        len(registry().classes)  # imports the plug-ins now, before there are jobs to stop
        threading.Thread(target=self._listen, daemon=True).start()
        with listening(self._tell_reading), compilation.listening(self._send):
            while True:
                if (job := self._jobs.get()) is None:
                    self._begin_with((), 0)
                else:
                    self._do(*job)

    # ---- the other thread ----------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            while True:
                self._take(receive(self._commands))
        except EOFError:
            os._exit(0)  # also in the middle of a kernel: whoever wanted its result is gone
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def _take(self, command: object) -> None:
        control = self._control
        if isinstance(command, Begin | Play | Go):
            pace, most = (command.pace, command.most) if isinstance(command, Play) else (None, None)
            self._drop(command.serial - 1)
            self._control = Control(pace, most)
            self._jobs.put((command, self._control))
        elif isinstance(command, Forget):
            self._jobs.put(None)
        elif isinstance(command, Drop):
            self._drop(command.serial)
        elif isinstance(command, Stop):
            control.stop()
        elif isinstance(command, WantFrame):
            control.want_frame()
        elif isinstance(command, PlayPace):
            control.pace = command.pace
        elif isinstance(command, Take):
            control.edit(command.edit)
        elif isinstance(command, Refuse):
            self._refused[command.name] = command.reason

    def _drop(self, serial: int) -> None:
        self._dropped = max(self._dropped, serial)
        self._control.stop()
        with self._breaking:
            if self._is_breakable:
                interrupt(self._worker)

    # ---- jobs ----------------------------------------------------------------------------------

    def _do(self, job: Job, control: Control) -> None:
        frame, problem = None, ""
        try:
            if isinstance(job, Play):
                frame = self._play(job, control)
            else:
                frame = self._do_breakably(job)
        except Exception as error:  # a plug-in may raise anything; the process lives on
            problem, _ = described(error)
        except (BrokenOff, Interrupted):
            problem = "broken off"  # which nobody waits for
        self._report(job.serial, frame, problem=problem, is_end=True)

    def _play(self, job: Play, control: Control) -> Frame:
        for course, name, events in zip(self._courses, job.names, self._events, strict=True):
            if course.step < course.furthest:
                course.branch(name)
                events.append(Branch(name, course.step))
        return play(self._courses, control, partial(self._report, job.serial))

    def _do_breakably(self, job: Begin | Go) -> Frame | None:
        def superseded() -> bool:
            return job.serial <= self._dropped

        try:
            with breakable(), interruptible(superseded):
                self._is_breakable = True
                if superseded():
                    return None
                if isinstance(job, Go):
                    return go(self._courses, job.step, superseded)
                self._begin(job)
                return still(self._courses)
        finally:
            with self._breaking:
                self._is_breakable = False

    def _begin(self, job: Begin) -> None:
        self._begin_with((), 0)
        for path in job.allowed:
            with suppress(FileError):  # gone by now; reading says so
                allow_data(path)
        engine = job.engine.open()
        courses = [
            Course(diagram, job.training, name=name, limit=job.limit, engine=engine)
            for diagram, name in zip(job.diagrams, job.names, strict=True)
        ]
        past = job.past or [()] * len(job.states)
        for course, state, before in zip(courses, job.states, past, strict=False):
            course.resume(state, before)
        self._begin_with(tuple(courses), job.serial)

    def _begin_with(self, courses: tuple[Course, ...], serial: int) -> None:
        self._courses, self._begun = courses, serial
        self._events = tuple([] for _ in courses)
        for course, events in zip(courses, self._events, strict=True):
            course.on_numbers = partial(self._note, events)

    # ---- answers -------------------------------------------------------------------------------

    def _note(self, events: list[Event], step: int, numbers: Mapping[str, float | None]) -> None:
        events.append(Numbers(step, numbers))
        if len(events) > MOST:
            self._report(0, None)

    def _report(
        self, serial: int, frame: Frame | None, *, problem: str = "", is_end: bool = False
    ) -> None:
        about = [_about(course) for course in self._courses]
        self._send(CoursesReport(self._begun, about, self._events, serial, frame, is_end, problem))
        for events in self._events:
            events.clear()

    def _tell_reading(self, name: str, fraction: float) -> None:
        self._send(Reading(name, fraction))
        if (reason := self._refused.pop(name, None)) is not None:
            raise FileError(reason, path=name)

    def _send(self, answer: object) -> None:
        content = packed(answer)
        try:
            with self._answering:
                send(self._answers, content)
        except OSError:
            os._exit(0)  # nobody reads any more


def _about(course: Course) -> About:
    ring = course.ring
    states = States(len(ring), ring.spacing, ring.steps[0], ring.nbytes, ring.limit)
    return About(course.step, course.recording.losses, course.trainer.notes, states)
