"""Starts processes for courses, and keeps one ready, since a start takes most of a second."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, TypeAlias

from gradwire.runtime.data.progress import report
from gradwire.runtime.engine.compilation import Compilation, tell
from gradwire.runtime.interpreters import PATIENCE, blas_threads, processors, start, why_ended
from gradwire.runtime.training.process.messages import (
    CoursesReport,
    Forget,
    Reading,
    Refuse,
    packed,
    receive,
    send,
)

Listener: TypeAlias = "Callable[[CoursesReport | Ended], object]"
"""Takes what a process answers, in a thread of its own."""


class Ended:
    """A process has ended by itself."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class CourseProcess:
    """A process that runs courses. It ends with this one, however this one ends.

    ``send`` returns at once. ``listener`` is called in another thread; None while nobody listens.
    """

    def __init__(self) -> None:
        self.listener: Listener | None = None
        self._commands: SimpleQueue[object] = SimpleQueue()
        self._is_closed = False
        threads = blas_threads(max(1, processors() - 1))  # one is for this process
        self._process = start("gradwire.runtime.training.process.serving", threads)
        assert self._process.stdin is not None and self._process.stdout is not None
        to, of = self._process.stdin, self._process.stdout
        for work, stream in ((self._write, to), (self._read, of)):
            threading.Thread(target=work, args=(stream,), name="courses", daemon=True).start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be sent anything."""
        return not self._is_closed and self._process.poll() is None

    def send(self, command: object) -> None:
        """Send a command, after those before it."""
        self._commands.put(command)

    def kill(self) -> None:
        """End it at once, whatever it computes."""
        self._is_closed, self.listener = True, None
        with suppress(OSError):
            self._process.kill()
        self._commands.put(None)

    def wait(self) -> None:
        """Wait until it has ended, once it was killed."""
        self._process.wait(PATIENCE)

    def _write(self, stream: IO[bytes]) -> None:
        with suppress(OSError), stream:  # that it has ended is told by the other thread
            while (command := self._commands.get()) is not None:
                try:
                    content = packed(command)
                except Exception as error:  # a plug-in's block may refuse to be pickled
                    listener = self.listener
                    self.kill()
                    if listener is not None:
                        listener(Ended(f"its diagram can't be sent to its process ({error})"))
                    return
                send(stream, content)

    def _read(self, stream: IO[bytes]) -> None:
        with stream, suppress(EOFError, OSError):
            while True:
                self._take(receive(stream))
        self._is_closed = True
        self._commands.put(None)
        code = self._process.wait()
        if (listener := self.listener) is not None:
            listener(Ended(why_ended(code)))

    def _take(self, answer: CoursesReport | Reading | Compilation) -> None:
        if isinstance(answer, CoursesReport):
            if (listener := self.listener) is not None:
                listener(answer)
            return
        if isinstance(answer, Compilation):
            tell(answer)
            return
        try:
            report(answer.name, answer.fraction)
        except Exception as error:  # which cancels the reading
            self.send(Refuse(answer.name, str(getattr(error, "what", error))))


class Processes:
    """Lends processes; of those that come back, one is kept ready for the next."""

    def __init__(self) -> None:
        self._spare: CourseProcess | None = None
        self._lent: list[CourseProcess] = []
        atexit.register(self.end)

    def prepare(self) -> None:
        """Have a process ready soon."""
        if self._spare is None or not self._spare.is_alive:
            self._spare = CourseProcess()

    def lend(self) -> CourseProcess:
        """A process without courses, nobody else's."""
        self.prepare()
        process, self._spare = self._spare, None
        assert process is not None
        self._lent.append(process)
        return process

    def take_back(self, process: CourseProcess, *, is_idle: bool) -> None:
        """Take back a process; one that still computes, or that is not needed, ends at once."""
        self._lent.remove(process)
        process.listener = None
        if is_idle and process.is_alive and self._spare is None:
            process.send(Forget())
            self._spare = process
        else:
            process.kill()

    def end(self) -> None:
        """End all processes, and wait until they have."""
        spare, self._spare = self._spare, None
        ending = [*self._lent, *([] if spare is None else [spare])]
        self._lent = []
        for process in ending:
            process.kill()
        for process in ending:
            process.wait()


PROCESSES = Processes()
"""Those of this process."""
