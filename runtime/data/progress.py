"""Says how far the reading of a data file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, float], object]
"""Called with the name of the file and the fraction that is read, 0 … 1, in the reading thread.
An exception that it raises cancels the reading."""

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Within, the listener is called while any thread reads a data file."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report(name: str, fraction: float) -> None:
    """Tell the listeners how far the reading is."""
    for listener in tuple(_listeners):
        listener(name, min(1.0, fraction))
