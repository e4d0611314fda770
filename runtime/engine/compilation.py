"""Says when an engine compiles a program, which may take seconds, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias


class Compilation(NamedTuple):
    """The compilation of a program."""

    operations: int
    """How many there are in the program, those of a loop once."""
    seconds: float | None = None
    """How long it took; None when it begins."""


Listener: TypeAlias = Callable[[Compilation], object]
"""Called when a compilation begins and when it ends, in the thread that compiles."""

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within, the listener is called for compilations in any thread."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def compiling(operations: int) -> Iterator[None]:
    """Within, a program of so many operations is compiled."""
    tell(Compilation(operations))
    began = time.perf_counter()
    try:
        yield
    finally:
        tell(Compilation(operations, time.perf_counter() - began))


def tell(compilation: Compilation) -> None:
    """Tell the listeners of a compilation, which may be one in another process."""
    for listener in tuple(_listeners):
        listener(compilation)
