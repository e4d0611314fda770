"""Trainings of a study in processes of this machine, each of which computes on one processor."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.runtime.training.process.children import blas_threads, why_ended
from gradwire.runtime.training.studies.task import Trained, train

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from gradwire.runtime.training.studies.task import Stop, Task, Work

_CONTEXT = get_context("spawn")
_PATIENCE = 0.2
"""Seconds between two looks at whether to stop."""
_GRACE = 10.0
"""Seconds that a process which was killed may take to end."""


class _Worker:
    """A process that trains one task after the other."""

    def __init__(self, work: Work) -> None:
        self.number: int | None = None
        """The task that it has; None while it waits for one."""
        self._began = 0.0
        self.pipe, far = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(far, work), daemon=True)
        try:
            with _for_workers():
                self._process.start()
        except OSError as error:
            raise RunError("A process can't be started.", got=error.strerror) from error
        finally:
            far.close()  # so that its end is seen here

    def begin(self, number: int, task: Task) -> None:
        """Give it a task, while it waits for one."""
        self.number, self._began = number, time.perf_counter()
        with suppress(OSError):  # that it has ended is seen when it is to answer
            self.pipe.send(task)

    def take(self) -> tuple[int, Trained, bool]:
        """Its task, how that ended, and whether the process can go on; once the pipe is ready."""
        assert self.number is not None
        number, self.number = self.number, None
        try:
            return number, self.pipe.recv(), True
        except (EOFError, OSError):
            self._process.join(_GRACE)
            why = why_ended(self._process.exitcode)
            seconds = time.perf_counter() - self._began
            return number, Trained.failed(f"{why[0].upper()}{why[1:]}.", seconds), False

    def end(self) -> None:
        """End the process, whatever it computes."""
        self._process.kill()
        self._process.join(_GRACE)
        self._process.close()
        self.pipe.close()


def in_processes(
    work: Work, tasks: list[Task], workers: int, stop: Stop = lambda: False
) -> Iterator[tuple[int, Trained]]:
    """Train in so many processes; see ``Runner``.

    A task whose process ends, because memory runs out, say, has failed; another process goes on
    with the other tasks. Raises RunError if none can be started.
    """
    waiting = deque(enumerate(tasks))
    crew: list[_Worker] = []
    try:
        while waiting or any(worker.number is not None for worker in crew):
            if stop():
                return
            while waiting and len(crew) < workers:
                crew.append(_Worker(work))
                crew[-1].begin(*waiting.popleft())
            busy = [worker for worker in crew if worker.number is not None]
            ready = connection.wait([worker.pipe for worker in busy], _PATIENCE)
            for worker in busy:
                if worker.pipe not in ready:
                    continue
                number, trained, goes_on = worker.take()
                if not goes_on:
                    crew.remove(worker)
                    worker.end()
                elif waiting:
                    worker.begin(*waiting.popleft())
                yield number, trained
    finally:
        for worker in crew:
            worker.end()


def _serve(pipe: Connection, work: Work) -> None:
    """Train each task that comes through a pipe, and send back how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            pipe.send(train(work, pipe.recv()))


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, however that came."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _for_workers() -> Iterator[None]:
    """Within, processes start with one thread for matrix products, and Ctrl-C waits, so that none
    of them is interrupted before it ignores that.
    """
    changed = blas_threads(1)
    before = None
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # its start would let Ctrl-C through again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(changed)
    try:
        yield
    finally:
        for name in changed:
            del os.environ[name]
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
