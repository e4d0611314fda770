"""Copies of transposed arrays, by machine code where there is a compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus.kernels.transposing import copy_transposed, is_transposed
from gradwire.runtime.engine.plan.jobs import ROOM, Call, Job, cuts
from gradwire.runtime.engine.plan.native import installed, machine

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.tasks import Step

Array = NDArray[Any]

LARGE = 1 << 12
"""Elements from which machine code is faster."""

ROWS, COLUMNS = 8, 4
"""Elements along the two axes from which it is: fewer leave most of a register empty."""


def copying(source: Array, target: Array) -> Step:
    """A step that copies an array to another of its shape and dtype."""
    return partial(filling(source, target), target)


def filling(source: Array, like: Array) -> Callable[[Array], object]:
    """What copies an array to any that lies as ``like`` does."""
    if _suits(source, like):
        return Transposition(source, like)
    if is_transposed(source) and like.flags.c_contiguous:
        return partial(copy_transposed, source)
    return lambda out: np.copyto(out, source)


def _suits(source: Array, like: Array) -> bool:
    """Whether there is code for a copy: neighbours lie side by side along different axes."""
    if source.size < LARGE or source.itemsize not in (4, 8) or not installed():
        return False
    row, column = _dense(source), _dense(like)
    if row is None or column is None or row == column:
        return False
    return bool(source.shape[row] >= ROWS and source.shape[column] >= COLUMNS)


def _dense(x: Array) -> int | None:
    """The axis along which neighbours lie side by side."""
    axes = (i for i, n in enumerate(x.shape) if n > 1 and x.strides[i] == x.itemsize)
    return next(axes, None)


class Transposition:
    """Copies an array to others of its shape that lie as ``like`` does."""

    def __init__(self, source: Array, like: Array) -> None:
        from gradwire.runtime.engine.plan.native.transposing import (  # few need it
            COPY,
            transposed_copy,
        )

        row, column = _dense(source), _dense(like)
        assert row is not None and column is not None, "it suits"
        lanes = machine.lanes() * 4 // source.itemsize
        others = [i for i in range(source.ndim) if i not in (row, column)]
        places = np.stack([_away(x, others) for x in (source, like)], axis=1)
        bands = -(-source.shape[row] // lanes)
        self._frame = machine.frame(
            COPY,
            source=source,
            target=like,
            places=places,
            source_step=source.strides[column],
            target_step=like.strides[row],
            rows=source.shape[row],
            columns=source.shape[column],
            bands=bands,
        )
        self._target = COPY.index("target")
        call, frame = transposed_copy(source.itemsize, lanes).call, machine.address(self._frame)
        units = cuts(bands * len(places), source.size)
        parts = [[Call(call, frame, ROOM, *each)] for each in units]
        self._job = Job(parts, source.size, kept=(source, places))

    def __call__(self, out: Array) -> None:
        """Copy to this array."""
        self._frame[self._target] = machine.address(out)
        self._job()


def _away(x: Array, axes: list[int]) -> Array:
    """Bytes from the first element to each of the others along these axes."""
    found = np.zeros(1, np.int64)
    for axis in axes:
        found = np.add.outer(found, np.arange(x.shape[axis]) * x.strides[axis]).reshape(-1)
    return found
