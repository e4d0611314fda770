"""Workers that compute on threads of their own, and the engines that they compute with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, Signal, SignalInstance

from gradwire.app.services.background import Cancelled, tell
from gradwire.blocks.errors import RunError, reason_of, shortened
from gradwire.blocks.plugins import breakable, interrupt
from gradwire.runtime import extras
from gradwire.runtime.diagram import same_meaning
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.interruption import interruptible
from gradwire.runtime.engine.session.engines import NAMES, EngineChoice

if TYPE_CHECKING:
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.engine import Engine

_NUMPY = EngineChoice()


class Engines(QObject):
    """Opens the engine of the settings where it is first needed; NumPy without settings.

    In place of one that can't be opened NumPy computes from then on, and ``refused`` says why.
    """

    changed = Signal()
    """The user has chosen another engine."""
    refused = Signal(str)
    """Why the chosen engine could not be opened."""
    _failed = Signal(str)

    def __init__(self, settings: Settings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        name = "numpy" if settings is None else settings.engine
        self.choice = EngineChoice(name if name in NAMES else "numpy")
        """The engine, in words that another process can be told."""
        self._opened: tuple[EngineChoice, Engine] | None = None
        self._opening = threading.Lock()
        self._failed.connect(self._refuse)

    def choose(self, name: str) -> None:
        """Compute with another engine from now on; it is opened later."""
        if name == self.choice.name:
            return
        self.choice = EngineChoice(name)
        self._keep(name)
        self.changed.emit()

    def open(self) -> Engine:
        """The engine, for any thread that computes: to open it may take seconds."""
        with self._opening:
            choice = self.choice
            if self._opened is None or self._opened[0] != choice:
                self._opened = self._open(choice)
            return self._opened[1]

    def _open(self, choice: EngineChoice) -> tuple[EngineChoice, Engine]:
        try:
            return choice, choice.open()
        except Exception as error:  # a package that is installed by half may raise anything
            if self.choice == choice:
                self.choice = _NUMPY
            tell(self._failed, shortened(str(error)) or reason_of(error))
            return _NUMPY, _NUMPY.open()

    def _refuse(self, reason: str) -> None:
        self._keep(self.choice.name)
        self.refused.emit(reason)

    def _keep(self, name: str) -> None:
        if self._settings is not None:
            self._settings.engine = name


def why_missing(name: str) -> str:
    """What to install for an engine; empty if that is there."""
    return "" if name == "numpy" or extras.installed(name) else extras.command(name)


PATIENCE = 2.0
"""Seconds that ``shutdown`` waits for the job under way; a longer one is abandoned."""
Superseded: TypeAlias = Callable[[], bool]
"""Whether nobody waits for the result of a job any more."""
Job: TypeAlias = Callable[[Superseded], object]
Query: TypeAlias = Callable[[Session], object]


class Worker(QObject):
    """Runs jobs one at a time, on a thread that starts with the first.

    A job supersedes the earlier one of its ``kind``: if that is still waiting it never runs, and
    if it is running its result is dropped, and the code of a plug-in that it runs is broken off.
    ``submit`` returns at once.
    """

    finished = Signal(str, object)
    """The kind of a job, and its result or the exception it raised; in the window's thread."""
    _ended = Signal(int, str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = _Queue()
        self._thread: threading.Thread | None = None
        self._ended.connect(self._receive)

    def submit(self, kind: str, job: Job) -> None:
        """Run ``job`` after those that wait already; it should return early when superseded."""
        self._queue.put(kind, job)
        if self._thread is None:
            # A daemon, because a QThread that is still inside a kernel when the program ends
            # aborts it.
            self._thread = threading.Thread(
                target=_work, args=(self._queue, self._ended), name="worker", daemon=True
            )
            self._thread.start()

    def cancel(self, kind: str) -> None:
        """Drop the job of this kind, whether it waits or runs."""
        self._queue.forget(kind)

    def abandon(self) -> None:
        """End all jobs with Cancelled, also one inside a long kernel.

        Later jobs get another thread; that of the job under way ends with its kernel.
        """
        queue, self._queue = self._queue, _Queue(self._queue.serial)
        awaited = [*queue.newest]
        queue.close()
        self._thread = None
        for kind in awaited:
            self.finished.emit(kind, Cancelled(self.tr("The computation was cancelled.")))

    def is_pending(self, kind: str) -> bool:
        """Whether a result of this kind is still to come."""
        return kind in self._queue.newest

    def shutdown(self) -> None:
        """Drop all jobs and end the thread."""
        self._queue.close()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _receive(self, serial: int, kind: str, result: object) -> None:
        # A newer job may have come while the result waited among the events.
        if not self._queue.superseded(kind, serial):
            self._queue.forget(kind)
            self.finished.emit(kind, result)


class SessionWorker(Worker):
    """A worker that also answers queries about diagrams.

    It keeps the session of the last diagram for queries about diagrams of the same meaning.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept = _LastSession()
        self._step_number = 0
        self.engines: Engines | None = None
        """What opens the engine of its sessions; None for NumPy."""

    def set_step(self, number: int) -> None:
        """Let Random and Dataset blocks draw what they do at a training step, from the next query
        on: as in the result that is shown.
        """
        self._step_number = number

    def query(self, kind: str, diagram: Diagram, query: Query) -> None:
        """Submit ``query``, to be called with a session of ``diagram``."""
        answer = self._kept.answer
        self.submit(kind, partial(answer, diagram, self._step_number, self.engines, query))


class _LastSession:
    """The session of the last query; used by the worker's thread alone."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._engine: str | Engine = ""
        """The engine that the session was given."""

    def answer(
        self,
        diagram: Diagram,
        step_number: int,
        engines: Engines | None,
        query: Query,
        superseded: Superseded,
    ) -> object:
        session, self._session = self._session, None  # none is kept where this fails
        engine = "numpy" if engines is None else engines.open()
        is_kept = engine is self._engine
        if session is None or not is_kept or not same_meaning(session.diagram, diagram):
            self._engine = engine  # that of the session is another where this one is unfit
            session = Session(diagram, partial=True, engine=engine)
        session.step_number = step_number
        answer = query(session)
        self._session = session
        return answer


class _Submitted(NamedTuple):
    serial: int
    kind: str
    job: Job


class _Queue:
    """The newest job of each kind, in the order of submission."""

    def __init__(self, serial: int = 0) -> None:
        self.newest: dict[str, int] = {}
        """By kind the serial number of the job whose result is awaited."""
        self._condition = threading.Condition()
        self._waiting: dict[str, _Submitted] = {}
        self._running: tuple[str, int] | None = None
        """The kind of the job that was taken last, and its thread."""
        self.serial = serial
        """The number of the last job, of this queue or of the one before it."""
        self._closed = False

    def put(self, kind: str, job: Job) -> None:
        with self._condition:
            if self._closed:
                return
            self.serial += 1
            self.newest[kind] = self.serial
            self._waiting.pop(kind, None)  # so that it goes to the end of the queue
            self._waiting[kind] = _Submitted(self.serial, kind, job)
            self._break_off(kind)
            self._condition.notify()

    def take(self) -> _Submitted | None:
        """Wait for a job; None once the queue is closed."""
        with self._condition:
            self._running = None
            self._condition.wait_for(lambda: self._closed or bool(self._waiting))
            if self._closed:
                return None
            taken = self._waiting.pop(next(iter(self._waiting)))
            self._running = taken.kind, threading.get_ident()
            return taken

    def forget(self, kind: str) -> None:
        with self._condition:
            self.newest.pop(kind, None)
            self._waiting.pop(kind, None)
            self._break_off(kind)

    def superseded(self, kind: str, serial: int) -> bool:
        return self.newest.get(kind) != serial

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self.newest.clear()
            self._waiting.clear()
            if self._running is not None:
                self._break_off(self._running[0])
            self._condition.notify()

    def _break_off(self, kind: str) -> None:
        """End what a plug-in computes in vain, or a loop of it would keep the thread for ever."""
        if self._running is not None and self._running[0] == kind:
            interrupt(self._running[1])


def _work(queue: _Queue, ended: SignalInstance) -> None:
    """The thread's loop. It refers to no Worker, which may be deleted while a job runs."""
    while _do_next(queue, ended):
        pass


def _do_next(queue: _Queue, ended: SignalInstance) -> bool:
    """Wait for a job and do it; return False once the queue is closed."""
    with breakable():  # from before the job is taken, so that no interrupt comes too early
        if (submitted := queue.take()) is None:
            return False
        superseded = partial(queue.superseded, submitted.kind, submitted.serial)
        try:
            with interruptible(superseded):
                result = submitted.job(superseded)
        except Exception as error:  # whatever a block does, the next job must be possible
            result = error
        except BaseException as error:
            result = RunError(f"The work was broken off: {error!r}.")
    if not superseded():
        tell(ended, submitted.serial, submitted.kind, result)
    return True
