"""The same elements in other shapes, joined or repeated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator


def _reshape(call: Call) -> Staged:
    x, wanted = call.x(), call.wholes(1)
    known = math.prod(length for length in wanted if length != -1)
    shape = tuple(x.size // max(known, 1) if length == -1 else length for length in wanted)
    return call.block("Reshape", x, shape=shape) if shape != x.shape else x


def _transpose(call: Call) -> Staged:
    x = call.x()
    return call.block("Transpose", x, perm=call.axes(1, x.ndim))


def _expand(call: Call) -> Staged:
    return call.block("ExpandDims", call.x(), axis=call.axis(1, call.x().ndim + 1))


def _squeeze(call: Call) -> Staged:
    x = call.x()
    axes = call.attributes.wholes("squeeze_dims")
    gone = {axis % max(x.ndim, 1) for axis in axes}
    gone = gone or {axis for axis, length in enumerate(x.shape) if length == 1}
    if any(x.shape[axis] != 1 for axis in gone):
        raise call.unsupported(f"axes {sorted(gone)} of {x.shape} are not all of length 1")
    return call.stage.reshape(x, [n for axis, n in enumerate(x.shape) if axis not in gone])


def _concat(call: Call) -> Staged:
    parts = call.xs(-1)
    return call.block("Concat", *parts, axis=call.axis(-1, parts[0].ndim))


def _stack(call: Call) -> Staged:
    return call.block("Stack", *call.xs(), axis=call.attributes.whole("axis"))


def _unstack(call: Call) -> tuple[Staged, ...]:
    x, axis = call.x(), call.attributes.whole("axis")
    return tuple(call.stage.select(x, axis, i) for i in range(x.shape[axis]))


def _split(call: Call) -> tuple[Staged, ...]:
    x, count = call.x(1), call.attributes.whole("num_split")
    axis = call.axis(0, x.ndim)
    if count < 1 or x.shape[axis] % count:
        raise call.unsupported(f"{x.shape} has no {count} equal parts along axis {axis}")
    return _parts(call, x, axis, [x.shape[axis] // count] * count)


def _split_sizes(call: Call) -> tuple[Staged, ...]:
    x, sizes = call.x(), list(call.wholes(1))
    axis = call.axis(2, x.ndim)
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    return _parts(call, x, axis, [rest if size == -1 else size for size in sizes])


def _parts(call: Call, x: Staged, axis: int, sizes: Sequence[int]) -> tuple[Staged, ...]:
    ends = list(accumulate(sizes, initial=0))
    return tuple(call.stage.cut(x, axis, start, stop) for start, stop in pairwise(ends))


def _tile(call: Call) -> Staged:
    """Repeats the whole along each axis."""
    x, counts = call.x(), call.shape(1)
    pairs = list(zip(counts, x.shape, strict=True))
    thin = [length for _, own in pairs for length in (1, own)]
    spread = call.stage.broadcast(call.stage.reshape(x, thin), [n for pair in pairs for n in pair])
    return call.stage.reshape(spread, [count * length for count, length in pairs])


def _broadcast(call: Call) -> Staged:
    return call.stage.broadcast(call.x(), call.shape(1))


def _pad(call: Call) -> Staged:
    x, widths = call.x(), call.numbers(1)
    value = call.numbers(2).item() if len(call) > 2 else 0.0
    pairs = tuple((int(before), int(after)) for before, after in widths)
    return call.block("Pad", x, widths=pairs, value=value)


def _mirror(call: Call) -> Staged:
    """Reflects at the edges: SYMMETRIC repeats them, REFLECT doesn't."""
    x, mode = call.x(), call.attributes.text("mode", "REFLECT")
    for axis, (before, after) in enumerate(call.numbers(1)):
        if before or after:
            widths, along = (int(before), int(after)), np.arange(x.shape[axis])
            reflected = np.pad(along, widths, "reflect")
            places = reflected if mode == "REFLECT" else np.pad(along, widths, "symmetric")
            x = call.stage.take(x, places, axis)
    return x


def _reverse(call: Call) -> Staged:
    x = call.x()
    axes = call.axes(1, x.ndim)
    return call.block("Flip", x, axis=axes) if axes else x


def _roll(call: Call) -> Staged:
    x = call.x()
    for shift, axis in zip(call.wholes(1), call.axes(2, x.ndim), strict=True):
        places = np.roll(np.arange(x.shape[axis]), shift)
        x = call.stage.take(x, places, axis)
    return x


def _diagonal(call: Call) -> Staged:
    """A matrix with the last axis on its diagonal."""
    x = call.x()
    if len(call) > 1 and (call.whole(1), call.numbers(4).item()) != (0, 0):
        raise call.unsupported("only the main diagonal, with zeros around it, can be made")
    eye = call.stage.constant(np.eye(x.shape[-1], dtype=x.dtype))
    return call.block("Mul", call.stage.block("ExpandDims", x, axis=-1), eye)


def _band(call: Call) -> Staged:
    """Zeros outside a band around the diagonal."""
    x = call.x()
    below, above = call.whole(1), call.whole(2)
    rows, columns = x.shape[-2:]
    distance = np.arange(rows)[:, None] - np.arange(columns)[None]
    inside = ((below < 0) | (distance <= below)) & ((above < 0) | (-distance <= above))
    return call.block("Where", call.stage.constant(inside), x, x.like(0))


OPERATORS: dict[str, Operator] = {
    "Reshape": _reshape, "Transpose": _transpose, "ExpandDims": _expand, "Squeeze": _squeeze,
    "ConcatV2": _concat, "Pack": _stack, "Unpack": _unstack, "Split": _split,
    "SplitV": _split_sizes, "Tile": _tile, "BroadcastTo": _broadcast, "Pad": _pad, "PadV2": _pad,
    "MirrorPad": _mirror, "ReverseV2": _reverse, "Roll": _roll, "MatrixDiag": _diagonal,
    "MatrixDiagV3": _diagonal, "MatrixBandPart": _band,
}  # fmt: skip
