"""Trainings of a study in processes of this machine, each of which computes on one processor."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, TypeAlias

from gradwire.blocks.errors import RunError
from gradwire.runtime.interpreters import blas_threads, end, pipes, start, why_ended
from gradwire.runtime.training.process.messages import packed, receive, send
from gradwire.runtime.training.studies.task import Trained, train

if TYPE_CHECKING:
    from gradwire.runtime.training.studies.task import Stop, StudyWork, TrainingTask

_PATIENCE = 0.2
"""Seconds between two looks at whether to stop."""


class _Worker:
    """A process that trains one task after the other."""

    def __init__(self, work: StudyWork, heard: SimpleQueue[_Heard]) -> None:
        self.number: int | None = None
        """The task that it has; None while it waits for one."""
        self._began = 0.0
        try:
            self._process = start(__name__, blas_threads(1))
        except OSError as error:
            raise RunError("A process can't be started.", got=error.strerror) from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._tasks = self._process.stdin
        threading.Thread(
            target=self._listen, args=(self._process.stdout, heard), name="study", daemon=True
        ).start()
        self._send(work)

    def begin(self, number: int, task: TrainingTask) -> None:
        """Give it a task, while it waits for one."""
        self.number, self._began = number, time.perf_counter()
        self._send(task)

    def lost(self) -> Trained:
        """How its task ended, once the process has."""
        why = why_ended(self._process.returncode)
        seconds = time.perf_counter() - self._began
        return Trained.failed(f"{why[0].upper()}{why[1:]}.", seconds)

    def end(self) -> None:
        """End the process, whatever it computes."""
        end(self._process)
        with suppress(OSError):  # what could not be sent
            self._tasks.close()

    def _send(self, message: StudyWork | TrainingTask) -> None:
        with suppress(OSError):  # that it has ended is heard
            send(self._tasks, packed(message))

    def _listen(self, answers: IO[bytes], heard: SimpleQueue[_Heard]) -> None:
        with answers, suppress(EOFError, OSError):
            while True:
                heard.put((self, receive(answers)))
        self._process.wait()
        heard.put((self, None))


_Heard: TypeAlias = "tuple[_Worker, Trained | None]"
"""How the task of a worker ended; None if its process has."""


def in_processes(
    work: StudyWork, tasks: list[TrainingTask], workers: int, stop: Stop = lambda: False
) -> Iterator[tuple[int, Trained]]:
    """Train in so many processes; see ``Runner``.

    A task whose process ends, because memory runs out, say, has failed; another process goes on
    with the other tasks. Raises RunError if none can be started.
    """
    waiting = deque(enumerate(tasks))
    heard: SimpleQueue[_Heard] = SimpleQueue()
    crew: list[_Worker] = []
    try:
        while waiting or any(worker.number is not None for worker in crew):
            if stop():
                return
            while waiting and len(crew) < workers:
                crew.append(_Worker(work, heard))
                crew[-1].begin(*waiting.popleft())
            try:
                worker, trained = heard.get(timeout=_PATIENCE)
            except Empty:
                continue
            number, worker.number = worker.number, None
            if trained is None:
                crew.remove(worker)
                worker.end()
                trained = worker.lost()
            elif waiting:
                worker.begin(*waiting.popleft())
            if number is not None:
                yield number, trained
    finally:
        for worker in crew:
            worker.end()


def main() -> None:
    """Train each task that comes through a pipe, and send back how it ended."""
    commands, answers = pipes()
    work: StudyWork = receive(commands)
    tasks: SimpleQueue[TrainingTask] = SimpleQueue()
    threading.Thread(target=_await, args=(commands, tasks), daemon=True).start()
    with suppress(OSError):  # nobody reads any more
        while True:
            send(answers, packed(train(work, tasks.get())))


def _await(commands: IO[bytes], tasks: SimpleQueue[TrainingTask]) -> None:
    """Take what comes; end this process, whatever it computes, as soon as nobody writes."""
    with suppress(EOFError):
        while True:
            tasks.put(receive(commands))
    os._exit(1)
