"""Where rows lie in arrays, in sheets of rows that are equally far apart; threads share them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.jobs import Call, cuts
from gradwire.runtime.engine.plan.native import address
from gradwire.runtime.engine.plan.team import ROOM

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape

Array = NDArray[Any]


class Sheet(NamedTuple):
    """Some rows: the address of the first and the bytes from row to row, for each array."""

    rows: int
    places: list[tuple[int, int]]


def sheets_of(arrays: Sequence[Array], shape: Shape, most: int) -> list[Sheet]:
    """The fewest sheets of at most so many rows in which arrays lie, whose first axes have this
    shape.
    """
    lengths, strides = _merged(arrays, shape)
    found = []
    for place in np.ndindex(*lengths[:-1]):
        for start in range(0, lengths[-1], most):
            at = [sum(i * step for i, step in zip((*place, start), away, strict=True))
                  for away in strides]  # fmt: skip
            places = [
                (address(x) + i, away[-1]) for x, i, away in zip(arrays, at, strides, strict=True)
            ]
            found.append(Sheet(min(most, lengths[-1] - start), places))
    return found


def _merged(arrays: Sequence[Array], shape: Shape) -> tuple[list[int], list[list[int]]]:
    """The fewest lengths that axes of this shape can be merged to, and the bytes along each, by
    array.
    """
    lengths = [1]
    strides: list[tuple[int, ...]] = [(0,) * len(arrays)]
    for axis, length in enumerate(shape):
        step = tuple(array.strides[axis] for array in arrays)
        if length == 1:
            continue
        if lengths[-1] == 1:
            lengths[-1], strides[-1] = length, step
        elif strides[-1] == tuple(s * length for s in step):
            lengths[-1] *= length
            strides[-1] = step
        else:
            lengths.append(length)
            strides.append(step)
    return lengths, [list(each) for each in zip(*strides, strict=True)]


def shared(
    kernel: Callable[..., None], sheets: Sequence[tuple[int, int]], *, by_sheets: bool, work: int
) -> list[list[Call]]:
    """The calls of a kernel for sheets, given by their frames and rows: some sheets, or rows of all
    sheets, in each part.
    """
    some, rows = cuts(len(sheets), work), cuts(sheets[0][1], work)
    if by_sheets or len(some) >= len(rows):
        return [[Call(kernel, frame, ROOM, 0, n) for frame, n in sheets[a:b]] for a, b in some]
    return [[Call(kernel, frame, ROOM, *cut) for frame, _ in sheets] for cut in rows]
