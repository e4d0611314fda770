"""Copies of transposed arrays, by machine code where there is a compiler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.kernels.transposing import copy_transposed, is_transposed
from gradwire.runtime.engine.plan.native import installed

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.compiler.computing import Computation
    from gradwire.runtime.engine.plan.tasks import Step


LARGE = 1 << 12
"""Elements from which machine code is faster."""

ROWS, COLUMNS = 4, 4
"""Elements along the two axes from which it is: fewer leave most of a register empty."""


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
