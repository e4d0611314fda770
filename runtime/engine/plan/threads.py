"""How many threads the engine may use, and the threads themselves."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

EACH = 1 << 17
"""Elements that a thread must have for its start to be worth it, at some operations an element."""

_limit: int | None = None
_pool: ThreadPoolExecutor | None = None


def count() -> int:
    """Threads for plans made from now on.

    What ``limit`` says, else OMP_NUM_THREADS, else the processors this process may run on.
    """
    if _limit is not None:
        return _limit
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdigit() and int(told):
        return int(told)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit(threads: int | None) -> None:
    """Use that many threads in plans made from now on; None for what the machine has."""
    global _limit
    _limit = threads


def together(work: Sequence[Callable[[], Any]]) -> None:
    """Run all at once, one of them here, and wait; the first error is raised when all are done."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(thread_name_prefix="gradwire")
    waiting = [_pool.submit(_silently, part) for part in work[1:]]
    try:
        work[0]()
    finally:
        for future in waiting:
            future.exception()
    for future in waiting:
        future.result()


def divided(work: Callable[[int, int], Any], length: int, elements: int) -> None:
    """``work(start, stop)`` for runs that make up 0 … length, one for each thread that is worth its
    start when there are so many elements to go through.
    """
    most = max(1, min(count(), length, elements // EACH))
    cuts = [length * i // most for i in range(most + 1)]
    if most == 1:
        work(0, length)
    else:
        together([partial(work, start, stop) for start, stop in itertools.pairwise(cuts)])


def _silently(part: Callable[[], Any]) -> None:
    """Numpy's error state belongs to a thread, and a plan's is silent."""
    with np.errstate(all="ignore"):
        part()
