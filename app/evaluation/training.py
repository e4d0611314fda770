"""Trains in another process, so that the window and the steps share neither lock nor core."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, Signal

from gradwire.app.services.background import Cancelled, tell
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import RunError
from gradwire.runtime.data import allowed_data
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.training import (
    PROCESSES,
    Begin,
    CoursesReport,
    Drop,
    Edit,
    Ended,
    FollowedCourse,
    Forget,
    Frame,
    Go,
    Play,
    PlayPace,
    Stop,
    Take,
    WantFrame,
)

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram, Training
    from gradwire.runtime.training import CourseProcess, CurveRecording, TrainerState


_NUMPY = EngineChoice()
_serials = itertools.count(1)
"""Of jobs of all workers, since a process may have served another one before."""


class EndedError(RunError):
    """The process of the training has ended by itself."""


@by_identity
class Begun(NamedTuple):
    """Courses that were made, and what they show."""

    courses: tuple[FollowedCourse, ...]
    frame: Frame


class TrainingControl:
    """What the window wants of a run; it takes effect in the process that makes the steps."""

    def __init__(self, pace: float | None, most: int | None = None) -> None:
        self._pace = pace
        self.most = most
        """Steps to make; None for no end."""
        self._process: CourseProcess | None = None
        self._waiting: list[object] = []
        """Commands until there is a process."""

    @property
    def pace(self) -> float | None:
        """Steps a second; None for as many as possible."""
        return self._pace

    @pace.setter
    def pace(self, pace: float | None) -> None:
        self._pace = pace
        self._send(PlayPace(pace))

    def stop(self) -> None:
        """End the run after the step under way."""
        self._send(Stop())

    def want_frame(self) -> None:
        """Ask for the next frame; there is none until the one before has been shown."""
        self._send(WantFrame())

    def edit(self, edit: Edit) -> None:
        """Hand over an edit of what was shown."""
        self._send(Take(edit))

    def bind(self, process: CourseProcess) -> None:
        """Send commands to this process from now on, the run itself having been sent."""
        self._process = process
        waiting, self._waiting = self._waiting, []
        for command in waiting:
            process.send(command)

    def _send(self, command: object) -> None:
        if self._process is None:
            self._waiting.append(command)
        else:
            self._process.send(command)


class TrainingWorker(QObject):
    """Runs and rewinds courses in a process of its own, one job at a time; a job supersedes those
    before it.

    ``framed`` gives a Frame while they run, ``finished`` the last one, what has Begun, or an
    exception: EndedError if the process has ended.
    """

    framed = Signal(object)
    finished = Signal(object)
    _heard = Signal(object, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: CourseProcess | None = None
        self._awaited = 0
        """The job whose end is awaited; 0 for none."""
        self._under_way = 0
        """The last job whose end is not known yet, whether anybody waits for it or not."""
        self._begun = 0
        self._courses: tuple[FollowedCourse, ...] = ()
        self._recordings: Sequence[CurveRecording] = ()
        """Those of the courses that are being made."""
        self._heard.connect(self._take)

    @property
    def process(self) -> CourseProcess | None:
        """The process, from the first job on."""
        return self._process

    def prepare(self) -> None:
        """Have a process ready soon: the first job will not wait for its start."""
        if self._process is None:
            PROCESSES.prepare()

    def begin(
        self,
        diagrams: Sequence[Diagram],
        recordings: Sequence[CurveRecording],
        training: Training,
        limit: int,
        states: Sequence[TrainerState] = (),
        past: Sequence[Sequence[TrainerState]] = (),
        engine: EngineChoice = _NUMPY,
    ) -> None:
        """Make a course of each diagram, with ``limit`` bytes for all of their states. Each goes on
        from one of the ``states``, if there are any, and back to those of its ``past``.
        """
        names = [recording.name for recording in recordings]
        self._recordings, self._begun, self._courses = recordings, 0, ()
        serial, share = self._next(), limit // len(diagrams)
        allowed = allowed_data()
        given = diagrams, names, training, share, allowed, states, past, engine
        self._send(Begin(serial, *given))

    def play(self, names: Sequence[str], control: TrainingControl) -> None:
        """Make steps until the control ends it; where a course had gone back, it goes on under its
        new name.
        """
        self._send(Play(self._next(), names, control.pace, control.most))
        assert self._process is not None
        control.bind(self._process)

    def go(self, step: int) -> None:
        """Go to a step that was reached before."""
        self._send(Go(self._next(), step))

    def cancel(self) -> None:
        """Drop the job that is awaited; a step under way is finished."""
        if self._awaited:
            self._send(Drop(self._awaited))
            self._awaited = 0

    def abandon(self) -> None:
        """End the job under way with Cancelled, also one inside a long kernel."""
        if self._under_way:
            self._leave(is_idle=False)
            self.finished.emit(Cancelled(self.tr("The computation was cancelled.")))

    def forget(self) -> None:
        """Drop everything; the process may forget its courses."""
        self.cancel()
        self._begun, self._courses = 0, ()
        if self._process is not None:
            self._process.send(Forget())

    def shutdown(self) -> None:
        """Drop everything and let go of the process; it ends at once if it computes."""
        if self._process is not None:
            self._leave(is_idle=not self._under_way)

    def _next(self) -> int:
        self._awaited = self._under_way = next(_serials)
        return self._awaited

    def _send(self, command: object) -> None:
        if self._process is None:
            self._process = PROCESSES.lend()
            self._process.listener = partial(self._hear, self._process)
        self._process.send(command)

    def _leave(self, *, is_idle: bool) -> None:
        process, self._process = self._process, None
        assert process is not None
        PROCESSES.take_back(process, is_idle=is_idle)
        self._awaited = self._under_way = self._begun = 0
        self._courses = ()

    def _hear(self, process: CourseProcess, answer: CoursesReport | Ended) -> None:
        """Follow the courses in the thread that listens, and let the window know the rest."""
        if isinstance(answer, CoursesReport):
            if answer.begun and answer.begun == self._begun:
                for followed in zip(self._courses, answer.events, answer.about, strict=True):
                    course, events, about = followed
                    course.follow(events, about)
            if not answer.serial:
                return
        tell(self._heard, process, answer)

    def _take(self, process: CourseProcess, answer: Any) -> None:
        if process is not self._process:
            return
        if isinstance(answer, Ended):
            self._leave(is_idle=False)
            self.finished.emit(EndedError(answer.reason))
            return
        if answer.is_end and answer.serial == self._under_way:
            self._under_way = 0
        if answer.serial != self._awaited:
            return
        if not answer.is_end:
            self.framed.emit(answer.content)
            return
        self._awaited = 0
        if answer.problem:
            self.finished.emit(RunError(answer.problem))
        elif answer.begun and answer.begun != self._begun:
            pairs = zip(self._recordings, answer.about, strict=True)
            self._courses = tuple(FollowedCourse(*pair) for pair in pairs)
            self._begun = answer.begun
            self.finished.emit(Begun(self._courses, answer.content))
        elif answer.content is not None:
            self.finished.emit(answer.content)
