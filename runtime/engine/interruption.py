"""Ends computations that nobody waits for any more, at the next step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_T = TypeVar("_T")


class Interrupted(BaseException):
    """The computation was cancelled; nothing came of it. No Exception, so that no handler of
    errors takes it for one and remembers what it found until then.
    """


class _Current(threading.local):
    """Whether what this thread computes is cancelled; None where nobody can cancel it."""

    cancelled: Callable[[], bool] | None = None


_current = _Current()


@contextmanager
def interruptible(cancelled: Callable[[], bool]) -> Iterator[None]:
    """Within, this thread's runs and traces raise Interrupted once ``cancelled`` returns true.

    They ask before each step: one kernel is not divided.
    """
    before, _current.cancelled = _current.cancelled, cancelled
    try:
        yield
    finally:
        _current.cancelled = before


def until_cancelled(steps: Iterable[_T]) -> Iterable[_T]:
    """The steps, as they are where nobody can cancel them."""
    cancelled = _current.cancelled
    return steps if cancelled is None else _watched(steps, cancelled)


def _watched(steps: Iterable[_T], cancelled: Callable[[], bool]) -> Iterator[_T]:
    for step in steps:
        if cancelled():
            raise Interrupted
        yield step
