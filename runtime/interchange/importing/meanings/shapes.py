"""The same numbers in other shapes and orders, cut, padded and repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def whole(shape: Sequence[int], size: int) -> list[int]:
    """A shape with its -1 worked out."""
    known = math.prod(n for n in shape if n != -1)
    return [size // max(known, 1) if n == -1 else n for n in shape]


def squeeze(x: Staged, axes: Sequence[int] | None = None) -> Staged:
    """Without some axes of length 1, by default all."""
    ones = [axis for axis, length in enumerate(x.shape) if length == 1]
    gone = ones if axes is None else [axis % max(x.ndim, 1) for axis in axes]
    return x.stage.reshape(x, [n for axis, n in enumerate(x.shape) if axis not in gone])


def unsqueeze(x: Staged, axes: Sequence[int]) -> Staged:
    """With further axes of length 1, at these places of the result."""
    rank = x.ndim + len(axes)
    new, lengths = {axis % rank for axis in axes}, iter(x.shape)
    return x.stage.reshape(x, [1 if axis in new else next(lengths, 1) for axis in range(rank)])


def move(x: Staged, source: int, destination: int) -> Staged:
    """``x`` with an axis moved to another place."""
    order = [axis for axis in range(x.ndim) if axis != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return x.stage.transpose(x, order)


def swap(x: Staged, one: int, other: int) -> Staged:
    """Two axes in each other's place."""
    order = list(range(x.ndim))
    if order:
        order[one], order[other] = order[other], order[one]
    return x.stage.transpose(x, order)


def flip(x: Staged, axes: Sequence[int]) -> Staged:
    """Backwards along some axes."""
    return put("Flip", x, axis=tuple(axes)) if axes else x


def roll(x: Staged, shifts: Sequence[int], axes: Sequence[int]) -> Staged:
    """Moved along axes; what falls off comes back at the other end."""
    for axis, shift in zip(axes, shifts, strict=True):
        x = x.stage.take(x, np.roll(np.arange(x.shape[axis]), shift), axis)
    return x


def split(x: Staged, sizes: Sequence[int], axis: int) -> list[Staged]:
    """Parts of given lengths in order along an axis."""
    ends = pairwise(accumulate(sizes, initial=0))
    return [x.stage.cut(x, axis, start, stop) for start, stop in ends]


def unstack(x: Staged, axis: int) -> list[Staged]:
    """All elements along an axis."""
    return [x.stage.select(x, axis, index) for index in range(x.shape[axis])]


def tile(x: Staged, counts: Sequence[int], inner: bool = False) -> Staged:
    """Copies of the whole side by side along each axis; ``inner``: of each element."""
    rank = max(len(counts), x.ndim)
    lengths = (1,) * (rank - x.ndim) + x.shape
    times = (1,) * (rank - len(counts)) + tuple(counts)
    if set(times) == {1}:
        return x.stage.reshape(x, lengths)
    both = [(n, t) if inner else (t, n) for n, t in zip(lengths, times, strict=True)]
    thin = [number for n in lengths for number in ((n, 1) if inner else (1, n))]
    wide = x.stage.broadcast(x.stage.reshape(x, thin), [number for pair in both for number in pair])
    return x.stage.reshape(wide, [math.prod(pair) for pair in both])


def pad(
    x: Staged, widths: Sequence[tuple[int, int]], value: float = 0.0, mode: str = "constant"
) -> Staged:
    """Elements before and after along each axis, in a mode of NumPy; negative widths cut off."""
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            x = x.stage.cut(x, axis, max(-before, 0), x.shape[axis] - max(-after, 0))
    more = [(max(before, 0), max(after, 0)) for before, after in widths]
    if not any(map(any, more)):
        return x
    if mode == "constant":
        return put("Pad", x, widths=tuple(more), value=value)
    for axis, ends in enumerate(more):
        if any(ends):
            # numpy's annotations want a literal here, and this is one of several.
            places = np.pad(np.arange(x.shape[axis]), ends, mode)  # type: ignore[call-overload]
            x = x.stage.take(x, places, axis)
    return x


def band(x: Staged, below: int | None, above: int | None) -> Staged:
    """0 outside a band around the diagonal of the last two axes; None is all of a side."""
    rows, columns = x.shape[-2:]
    far = np.arange(columns)[None] - np.arange(rows)[:, None]
    inside = far >= -(rows if below is None else below)
    inside &= far <= (columns if above is None else above)
    return put("Where", x.stage.constant(inside), x, x.like(0))


def depth_to_space(x: Staged, size: int, depth_first: bool = True) -> Staged:
    """Channels as finer pixels: those of a pixel vary before the channels that stay, or after."""
    *batch, channels, height, width = x.shape
    n, left = len(batch), channels // size**2
    apart = (size, size, left) if depth_first else (left, size, size)
    inner, down, across = (n + 2, n, n + 1) if depth_first else (n, n + 1, n + 2)
    y = x.stage.reshape(x, (*batch, *apart, height, width))
    y = x.stage.transpose(y, (*range(n), inner, n + 3, down, n + 4, across))
    return x.stage.reshape(y, (*batch, left, height * size, width * size))


def space_to_depth(x: Staged, size: int, depth_first: bool = True) -> Staged:
    """What ``depth_to_space`` does, undone."""
    *batch, channels, height, width = x.shape
    n, rows, columns = len(batch), height // size, width // size
    y = x.stage.reshape(x, (*batch, channels, rows, size, columns, size))
    order = (n + 2, n + 4, n) if depth_first else (n, n + 2, n + 4)
    y = x.stage.transpose(y, (*range(n), *order, n + 1, n + 3))
    return x.stage.reshape(y, (*batch, channels * size**2, rows, columns))
