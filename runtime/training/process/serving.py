"""The process of the courses: it does one job after another until nobody writes to it any more."""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.blocks.plugins import BrokenOff, breakable, interrupt
from gradwire.blocks.registry import registry
from gradwire.runtime.data.files.access import allow_data
from gradwire.runtime.data.progress import listening
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
    Event,
    Forget,
    Frame,
    Go,
    Job,
    Numbers,
    Play,
    PlayPace,
    Reading,
    Refuse,
    States,
    Stop,
    Take,
    WantFrame,
)
from gradwire.runtime.training.process.playing import Control, described, go, play, still
from gradwire.runtime.training.process.transport import packed, receive, send

if TYPE_CHECKING:
    from collections.abc import Mapping

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
