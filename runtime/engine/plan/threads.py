"""The engine's threads, and how many it may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_own: ContextVar[int | None] = ContextVar("threads", default=None)
_limit: int | None = None


def count() -> int:
    """The number of threads for plans made from now on.

    Set by ``own`` for this context, else by ``limit``, else by OMP_NUM_THREADS, else that of
    ``processors``.
    """
    if (own := _own.get()) is not None:
        return own
    if _limit is not None:
        return _limit
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads):
        return int(threads)
    return processors()


def processors() -> int:
    """The number of processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit(threads: int | None) -> None:
    """Use that many threads in plans made from now on; None for the default of ``count``."""
    global _limit
    _limit = threads


def own(threads: int) -> None:
    """Use that many threads in what is planned and run in the current context."""
    _own.set(threads)


@cache
def pool() -> ThreadPoolExecutor:
    """The threads that work beside callers, which start when they are needed."""
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    return ThreadPoolExecutor(2 * processors(), thread_name_prefix="gradwire")


if hasattr(os, "register_at_fork"):  # the threads stay with the process that forks
    os.register_at_fork(after_in_child=pool.cache_clear)


def together(work: Sequence[Callable[[], object]]) -> None:
    """Run all work in parallel, the first here; when all is done, raise the first error."""
    waiting = [pool().submit(_silently, part) for part in work[1:]]
    try:
        work[0]()
    finally:
        for future in waiting:
            future.exception()
    for future in waiting:
        future.result()


def _silently(part: Callable[[], object]) -> None:
    """Run without numpy's warnings: a plan is silent, and numpy's error state is per thread."""
    with np.errstate(all="ignore"):
        part()
