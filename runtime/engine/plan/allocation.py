"""Takes memory for arrays, and tells where there is too little of it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.calculus.dtypes import NUMPY

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


HUGE = 1 << 21
"""Bytes of a huge page; numpy asks the system for these in arrays of twice as many."""

LINE = 64
"""Bytes of a line of the caches."""

_LEAST = 1 << 12
"""Bytes from which arrays begin with a line."""


@cache
def machine_bytes() -> int:
    """Bytes of memory that this process may use; the system grants more, and kills who uses it."""
    found = [sys.maxsize]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):  # ValueError: the word max
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    if sys.platform != "win32":
        with suppress(ImportError):
            import resource

            found.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    return min(n for n in found if n > 0)  # RLIM_INFINITY is below 0


def allocate(value: Value, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory for a value; raises RunError with its block where there is not enough.

    It begins with a line of the caches, unless it is small: a vector that lies across two lines
    takes twice as long to write.
    """
    size = math.prod(shape) * dtype.itemsize
    if size > machine_bytes():
        raise not_enough(value)
    try:
        return np.empty(shape, dtype) if size < _LEAST else _at_line(shape, dtype, size)
    except (MemoryError, ValueError):  # ValueError: more bytes than an address can count
        raise not_enough(value) from None


class _Memory(np.ndarray):
    """What arrays begin within. Views of an array of it refer to that array, since numpy goes on to
    what is behind it only where types are the same: so it shows whether they are used.
    """


def _at_line(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> Array:
    """An array that begins with a line."""
    memory = _Memory(size + LINE, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.ctypes.data % LINE)


def not_enough(value: Value, needed: int = 0, why: str = "") -> RunError:
    """The error of a value for which there is no memory, where all in all ``needed`` bytes are."""
    needed = needed or value.size * NUMPY[value.dtype].itemsize
    return RunError(
        f"There is not enough memory for {value.dtype} of shape {list(value.shape)}{why}.",
        location=Location(block=None if value.owner is None else str(value.owner)),
        expected=f"at most {machine_bytes() / 2**30:,.1f} GiB",
        got=f"{needed / 2**30:,.1f} GiB",
        next_step="Make the shape smaller.",
    )


def require_room(results: Collection[Value]) -> None:
    """Raise RunError with the block of the largest of the results if copies of them don't fit."""
    needed = sum(value.size * NUMPY[value.dtype].itemsize for value in results)
    if needed > machine_bytes():
        raise no_room(results, needed)


def no_room(results: Iterable[Value], needed: int = 0) -> RunError:
    """The error of results for copies of which there is no memory; the largest is named."""
    largest = max(results, key=lambda value: (value.owner is not None, value.size))
    return not_enough(largest, needed, ", with the other results" if needed else ", as a result")
