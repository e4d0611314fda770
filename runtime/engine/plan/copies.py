"""Copies of transposed arrays, and of small ones, by machine code where there is a compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.kernels.transposing import copy_transposed, is_transposed
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.native import installed

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.compiler.computing import Computation
    from gradwire.runtime.engine.plan.tasks import Step


LARGE = 1 << 12
"""Elements from which machine code is faster."""

ROWS, COLUMNS = 4, 4
"""Elements along the two axes from which it is: fewer leave most of a register empty."""

LARGEST = 1 << 11
"""Elements up to which a copy takes less time than calling numpy."""


def copying(source: Array, target: Array) -> Step:
    """A step that copies an array to another of its shape and dtype."""
    turned = _turned(source, target)
    return turned.into(target) if turned is not None else partial(_plain(source, target), target)


def filling(source: Array, like: Array) -> Callable[[Array], object]:
    """What copies an array to any that lies as ``like`` does."""
    return _turned(source, like) or _plain(source, like)


def _plain(source: Array, like: Array) -> Callable[[Array], object]:
    """What does it by numpy."""
    if is_transposed(source) and like.flags.c_contiguous:
        return partial(copy_transposed, source)
    return lambda out: np.copyto(out, source)


def _turned(source: Array, like: Array) -> Computation | None:
    """Code that does it, where neighbours lie side by side along different axes."""
    if source.size < LARGE or source.itemsize not in (4, 8) or not installed():
        return None
    row, column = _dense(source), _dense(like)
    if row is None or column is None or row == column:
        return None
    if source.shape[row] < ROWS or source.shape[column] < COLUMNS:
        return None
    from gradwire.runtime.engine.compiler.computing import copy  # few need it

    return copy(source, like.strides)


def _dense(x: Array) -> int | None:
    """The axis along which neighbours lie side by side."""
    axes = (i for i, n in enumerate(x.shape) if n > 1 and x.strides[i] == x.itemsize)
    return next(axes, None)


def small_copy(target: Array, source: Array) -> Step:
    """A step that copies an array to another, of its shape or to which it is repeated."""
    step = partial(np.copyto, target, source)
    if source.dtype != target.dtype or source.itemsize not in (4, 8) or source.ndim > target.ndim:
        return step
    if not 0 < target.size <= LARGEST:
        return step
    return Joinable(step, partial(copies, [(target, source)]))


def placed(target: Array, source: Array) -> list[Step]:
    """The step that copies an array to where it should be, if it is not there."""
    there = [(x.__array_interface__["data"][0], x.strides) for x in (target, source)]
    return [] if there[0] == there[1] else [small_copy(target, source)]


def copies(pairs: Sequence[tuple[Array, Array]]) -> Job | None:
    """The job that copies to each target from its source, one after another, also to other dtypes
    of floats; None if elements of too many lie apart.
    """
    from gradwire.runtime.engine.compiler.computing import copy

    jobs: list[Job] = []
    for target, source in pairs:
        whole = np.broadcast_to(source, target.shape)
        found = copy(whole, target.strides, target.dtype.name)
        if found is None:
            return None
        jobs.append(found.into(target))
    calls = [call for job in jobs for call in job.calls]
    return Job([calls], sum(target.size for target, _ in pairs), kept=(pairs, jobs))
