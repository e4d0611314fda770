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


def reshape(x: Staged, shape: Sequence[int]) -> Staged:
    """In another shape, in which one length may be -1."""
    return x.stage.reshape(x, whole(shape, x.size))


def flatten(x: Staged, start: int = 0, end: int = -1) -> Staged:
    """Some axes as one, by default all."""
    if not x.ndim:
        return x.stage.reshape(x, (1,))
    start, end = start % x.ndim, end % x.ndim
    merged = math.prod(x.shape[start : end + 1])
    return x.stage.reshape(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


def unflatten(x: Staged, axis: int, sizes: Sequence[int]) -> Staged:
    """One axis as several, of which one length may be -1."""
    axis %= x.ndim
    lengths = whole(sizes, x.shape[axis])
    return x.stage.reshape(x, (*x.shape[:axis], *lengths, *x.shape[axis + 1 :]))


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


def move(x: Staged, source: int | Sequence[int], destination: int | Sequence[int]) -> Staged:
    """``x`` with some axes moved to other places."""
    one, other = (i if isinstance(i, Sequence) else (i,) for i in (source, destination))
    rank = max(x.ndim, 1)
    moved = {new % rank: old % rank for new, old in zip(other, one, strict=True)}
    rest = iter(axis for axis in range(x.ndim) if axis not in moved.values())
    return x.stage.transpose(x, [moved[i] if i in moved else next(rest) for i in range(x.ndim)])


def reverse(x: Staged) -> Staged:
    """The axes in reverse order."""
    return x.stage.transpose(x, range(x.ndim)[::-1])


def swap(x: Staged, one: int, other: int) -> Staged:
    """Two axes in each other's place."""
    order = list(range(x.ndim))
    if order:
        order[one], order[other] = order[other], order[one]
    return x.stage.transpose(x, order)


def broadcast(x: Staged, shape: Sequence[int], keep: int = -1) -> Staged:
    """Repeated to a shape, in which the code ``keep`` leaves a length as it is."""
    missing = len(shape) - x.ndim
    return x.stage.broadcast(
        x, [x.shape[i - missing] if n == keep else n for i, n in enumerate(shape)]
    )


def together(xs: Sequence[Staged]) -> list[Staged]:
    """All repeated to one shape."""
    shape = np.broadcast_shapes(*(x.shape for x in xs))
    return [x.stage.broadcast(x, shape) for x in xs]


def meshgrid(xs: Sequence[Staged], crossed: bool = False) -> list[Staged]:
    """Each along an axis of its own; the first two of them change places where ``crossed``."""
    shape = [x.size for x in xs]
    along = [[x.size if i == j else 1 for j in range(len(shape))] for i, x in enumerate(xs)]
    grids = [
        x.stage.broadcast(x.stage.reshape(x, n), shape) for x, n in zip(xs, along, strict=True)
    ]
    return [swap(x, 0, 1) for x in grids] if crossed else grids


def concat(xs: Sequence[Staged], axis: int = 0) -> Staged:
    """One behind the other along an axis."""
    return xs[0] if len(xs) == 1 else put("Concat", *xs, axis=axis)


def stack(xs: Sequence[Staged], axis: int = 0) -> Staged:
    """Along a new axis."""
    return put("Stack", *xs, axis=axis)


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


def repeat(x: Staged, count: int, axis: int | None = None) -> Staged:
    """Each element several times in a row, along an axis or of all in a row."""
    x, axis = (flatten(x), 0) if axis is None else (x, axis % max(x.ndim, 1))
    return tile(x, [count if i == axis else 1 for i in range(x.ndim)], inner=True)


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


def spread(x: Staged, axis: int, between: int, value: float = 0.0) -> Staged:
    """With ``between`` elements after each but the last, along an axis."""
    length, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
    if not between or length < 2:
        return x
    apart = x.stage.reshape(x, (*before, length, 1, *after))
    wide = pad(apart, [(0, between if i == axis + 1 else 0) for i in range(apart.ndim)], value)
    joined = x.stage.reshape(wide, (*before, length * (between + 1), *after))
    return x.stage.cut(joined, axis, 0, joined.shape[axis] - between)


def band(x: Staged, below: int | None, above: int | None) -> Staged:
    """0 outside a band around the diagonal of the last two axes; None is all of a side."""
    rows, columns = x.shape[-2:]
    far = np.arange(columns)[None] - np.arange(rows)[:, None]
    inside = far >= -(rows if below is None else below)
    inside &= far <= (columns if above is None else above)
    return put("Where", x.stage.constant(inside), x, x.like(0))


def diagonal(x: Staged, offset: int = 0, one: int = 0, other: int = 1) -> Staged:
    """The diagonal of two axes, as the last one."""
    lined = move(x, (one, other), (-2, -1))
    rows, columns = lined.shape[-2:]
    i = np.arange(max(0, -offset), max(0, min(rows, columns - offset)))
    return x.stage.take(flatten(lined, -2), i * columns + i + offset, -1)


def on_diagonal(x: Staged, offset: int = 0) -> Staged:
    """Matrices with the last axis on a diagonal, and 0 elsewhere."""
    there = np.eye(x.shape[-1] + abs(offset), k=offset, dtype=bool)
    ends = (max(-offset, 0), max(offset, 0))
    rows = unsqueeze(pad(x, [(0, 0)] * (x.ndim - 1) + [ends]), (-1,))
    return put("Where", x.stage.constant(there), rows, x.like(0))


def block_diagonal(xs: Sequence[Staged]) -> Staged:
    """Matrices along the diagonal of one that is 0 elsewhere."""
    width, at, rows = sum(x.shape[1] for x in xs), 0, []
    for x in xs:
        sides = (at, width - at - x.shape[1])
        rows.append(put("Pad", x, widths=((0, 0), sides), value=0.0))
        at += x.shape[1]
    return concat(rows)


def windows(x: Staged, axis: int, size: int, step: int) -> Staged:
    """Windows along an axis, as a new last one."""
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    return move(x.stage.take(x, starts[:, None] + np.arange(size), axis), axis % x.ndim + 1, -1)


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
