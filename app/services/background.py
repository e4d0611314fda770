"""Work that may take long: a thread does it while the window lives on, with progress and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from PySide6.QtCore import QEventLoop, QObject, QTimer, Signal

from blocks.errors import GradwireError

if TYPE_CHECKING:
    from runtime.diagram.files.storage import Pulse

_T = TypeVar("_T")

AT_ONCE = 0.1
"""Seconds that the window waits for work without looking at anything else."""
SHOWN_AFTER = 0.3
"""Seconds after that to the line that tells of it."""
_EVERY = 15
"""Milliseconds between two looks at the work."""


class Cancelled(Exception):
    """The user took it back; nothing of it was kept."""


class Occupied(GradwireError):
    """Something else is under way in this window."""


class Runner(Protocol):
    """Does work and returns what it returned, or raises what it raised."""

    def __call__(self, text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
        """``text`` says what is done. ``pure`` work can be left alone when it is cancelled."""


def at_once(text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
    """Do the work here and now."""
    return job(lambda share: None)


class Background(QObject):
    """The work of one window, one piece at a time.

    What takes no longer than ``AT_ONCE`` is done as if there were no thread. While it takes
    longer, events go on: whoever calls must look again at what they may have changed.
    """

    progressed = Signal(str, float)
    """What is under way, and the share of it that is done, 0 … 1; 0 where that is not known."""
    ended = Signal()
    """What was told by ``progressed`` has ended, however it ended."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._work: _Work[Any] | None = None
        self._afterwards: list[Callable[[], object]] = []

    @property
    def busy(self) -> bool:
        """Something is under way."""
        return self._work is not None

    def afterwards(self, act: Callable[[], object]) -> None:
        """Do something once what is under way has ended, however it ended."""
        self._afterwards.append(act)

    def cancel(self) -> None:
        """Ask what is under way to end."""
        if self._work is not None:
            self._work.cancelled.set()

    def require_idle(self) -> None:
        """Raise Occupied where something is under way."""
        if self._work is not None:
            raise Occupied(
                self.tr("{0}: this is still under way.").format(self._work.text),
                next_step=self.tr("Wait for it, or cancel it, and try again."),
            )

    def run(self, text: str, job: Callable[[Pulse], _T], *, pure: bool = False) -> _T:
        """Do ``job`` in a thread, see :class:`Runner`. Raises Cancelled, and Occupied."""
        self.require_idle()
        work: _Work[_T] = _Work(text, job, pure)
        self._work = work
        try:
            if not work.wait():
                self._await(work)
            return work.result()
        finally:
            self._work = None
            acts, self._afterwards = self._afterwards, []
            for act in acts:
                QTimer.singleShot(0, self, act)

    def _await(self, work: _Work[_T]) -> None:
        """Let events go on until the work has ended."""
        loop, began = QEventLoop(), time.monotonic()

        def look() -> None:
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
    """One piece of work and the thread that does it; the thread knows nothing of the window."""

    def __init__(self, text: str, job: Callable[[Pulse], _T], pure: bool) -> None:
        self.text = text
        self.share = 0.0
        self.cancelled = threading.Event()
        self._pure = pure
        self._future: Future[_T] = Future()
        threading.Thread(target=self._do, args=(job,), name="work", daemon=True).start()

    @property
    def over(self) -> bool:
        """It has ended, or nobody needs to wait for its end."""
        return self._future.done() or (self._pure and self.cancelled.is_set())

    def wait(self) -> bool:
        """Wait a moment; whether it has ended."""
        return bool(wait([self._future], AT_ONCE).done)

    def result(self) -> _T:
        """What came of it, once it is over; what can't be taken back any more counts as done."""
        if self._pure and self.cancelled.is_set():
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
