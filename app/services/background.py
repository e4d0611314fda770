"""Slow jobs on a thread: the window stays responsive, shows progress, and can cancel them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QEventLoop, QObject, QTimer, Signal, SignalInstance

from gradwire.blocks.errors import GradwireError

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Pulse

_T = TypeVar("_T")

AT_ONCE = 0.1
"""Seconds that the window waits for a job before it handles other events."""
SHOWN_AFTER = 0.3
"""Seconds from then until progress is shown."""
_EVERY = 15
"""Milliseconds between two checks of the job."""


def tell(signal: SignalInstance, *values: object) -> None:
    """Emit a signal from another thread, which may outlive the window that it tells; nothing
    happens if its object is deleted by now.
    """
    with suppress(RuntimeError):  # which PySide raises for that alone: no slot runs in this thread
        signal.emit(*values)


class Cancelled(Exception):
    """The user cancelled the job; nothing of it was kept."""


class Occupied(GradwireError):
    """Another job is still running in this window."""


class JobRunner(Protocol):
    """Runs a job, and returns its result or raises its exception."""

    def __call__(self, text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
        """``text`` describes the job. A cancelled ``pure`` job, which only reads or computes, is
        abandoned: what it waits for may never come.
        """


def at_once(text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
    """Run the job on the calling thread."""
    return job(lambda share: None)


class Background(QObject):
    """Runs the jobs of one window, one at a time; but what is written waits for no pure job.

    The window is blocked for ``AT_ONCE`` at most. After that, events are handled while the job
    runs, so callers must check again whatever those events may have changed.
    """

    progressed = Signal(str, float)
    """The text of the running job, and the share that is done, 0 … 1; 0 if unknown."""
    ended = Signal()
    """A job that ``progressed`` was emitted for has ended: done, failed or cancelled."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._work: _Work[Any] | None = None
        self._afterwards: list[Callable[[], object]] = []

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._work is not None

    def afterwards(self, act: Callable[[], object]) -> None:
        """Call ``act`` once the running job has ended: done, failed or cancelled."""
        self._afterwards.append(act)

    def cancel(self) -> None:
        """Cancel the running job, if any."""
        if self._work is not None:
            self._work.cancelled.set()

    def require_idle(self, *, pure: bool = True) -> None:
        """Raise Occupied while a job is running that another one must wait for."""
        if self._work is not None and (pure or not self._work.pure):
            raise Occupied(
                self.tr("{0}: this is still under way.").format(self._work.text),
                next_step=self.tr("Wait for it, or cancel it, and try again."),
            )

    def run(self, text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
        """Run ``job`` on a thread; see :class:`Runner`. Raises Cancelled and Occupied."""
        self.require_idle(pure=pure)
        work: _Work[_T] = _Work(text, job, pure)
        outer, self._work = self._work, work
        try:
            if not work.wait():
                self._await(work)
            return work.result()
        finally:
            self._work = outer
            if outer is None:
                acts, self._afterwards = self._afterwards, []
                for act in acts:
                    QTimer.singleShot(0, self, act)

    def _await(self, work: _Work[_T]) -> None:
        """Handle events until the job has ended."""
        loop, began = QEventLoop(), time.monotonic()

        def look() -> None:
            if self._work is not work:
                return  # something is written meanwhile
            if work.over:
                self.ended.emit()
                loop.quit()
            elif time.monotonic() - began >= SHOWN_AFTER:
                self.progressed.emit(work.text, work.share)

        timer = QTimer(interval=_EVERY)
        timer.timeout.connect(look)
        timer.start()
        loop.exec()


class _Work(Generic[_T]):
    """A job and the thread that runs it; the thread does not touch the window."""

    def __init__(self, text: str, job: Callable[[Pulse], _T], pure: bool) -> None:
        self.text = text
        self.share = 0.0
        self.cancelled = threading.Event()
        self.pure = pure
        self._future: Future[_T] = Future()
        threading.Thread(target=self._do, args=(job,), name="work", daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether the job has ended, or was cancelled and may be abandoned."""
        return self._future.done() or (self.pure and self.cancelled.is_set())

    def wait(self) -> bool:
        """Wait for ``AT_ONCE``; return whether the job has ended."""
        return bool(wait([self._future], AT_ONCE).done)

    def result(self) -> _T:
        """The result of the job, once it is over; a job that can't be cancelled any more counts."""
        if self.pure and self.cancelled.is_set():
            raise Cancelled
        return self._future.result()

    def _do(self, job: Callable[[Pulse], _T]) -> None:
        try:
            self._future.set_result(job(self._pulse))
        except BaseException as error:
            self._future.set_exception(error)

    def _pulse(self, share: float) -> None:
        if self.cancelled.is_set():
            raise Cancelled
        self.share = share
