"""Questions whose answers take runs of changed diagrams: asked of a thread, newest of a kind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from PySide6.QtCore import QObject, Signal

from runtime.diagram.model import same_meaning
from runtime.engine import Session

if TYPE_CHECKING:
    from runtime.diagram import Diagram

PATIENCE = 2.0
"""Seconds that closing waits for an answer under way."""
Question: TypeAlias = Callable[[Session], object]


class _Asked(NamedTuple):
    serial: int
    kind: str
    diagram: Diagram
    question: Question


class Asker(QObject):
    """Asks one thread, which keeps a session of its own for the diagram it was last asked about.

    A question replaces the one of its ``kind`` that waits; an answer that nobody waits for any
    more is dropped. The thread begins with the first question.
    """

    answered = Signal(str, object)
    """The kind, and the answer, or the exception that came instead."""
    _finished = Signal(int, str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._awaited: dict[str, int] = {}
        self._serial = 0
        self._queue = _Queue()
        self._thread: threading.Thread | None = None
        self._finished.connect(self._receive)

    def ask(self, kind: str, diagram: Diagram, question: Question) -> None:
        """Have ``question`` answered for a session of ``diagram``."""
        self._serial += 1
        self._awaited[kind] = self._serial
        self._queue.put(_Asked(self._serial, kind, diagram, question))
        if self._thread is None:
            self._thread = threading.Thread(
                target=_work, args=(self._queue, self._finished), name="evaluator", daemon=True
            )
            self._thread.start()

    def forget(self, kind: str) -> None:
        """Wait no longer for an answer of this kind."""
        self._awaited.pop(kind, None)
        self._queue.drop(kind)

    def waits(self, kind: str) -> bool:
        """An answer of this kind is on its way."""
        return kind in self._awaited

    def shutdown(self) -> None:
        """Drop all questions and end the thread."""
        self._awaited.clear()
        self._queue.close()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _receive(self, serial: int, kind: str, answer: object) -> None:
        if self._awaited.get(kind) == serial:
            del self._awaited[kind]
            self.answered.emit(kind, answer)


class _Queue:
    """The newest question of each kind, in the order they came."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting: dict[str, _Asked] = {}
        self._closed = False

    def put(self, asked: _Asked) -> None:
        with self._condition:
            self._waiting.pop(asked.kind, None)
            self._waiting[asked.kind] = asked
            self._condition.notify()

    def drop(self, kind: str) -> None:
        with self._condition:
            self._waiting.pop(kind, None)

    def take(self) -> _Asked | None:
        """Wait for a question; None when the queue was closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._closed or bool(self._waiting))
            if self._closed:
                return None
            return self._waiting.pop(next(iter(self._waiting)))

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._waiting.clear()
            self._condition.notify()


def _work(queue: _Queue, finished: Any) -> None:
    """The thread: it knows the queue and where answers go, not the asker that may be gone."""
    session: Session | None = None
    while (asked := queue.take()) is not None:
        try:
            if session is None or not same_meaning(session.diagram, asked.diagram):
                session = Session(asked.diagram, partial=True)
            answer = asked.question(session)
        except Exception as error:  # whatever a block does, the next answer must be possible
            session, answer = None, error
        finished.emit(asked.serial, asked.kind, answer)
        del asked, answer  # what waits for the next question would be kept alive
