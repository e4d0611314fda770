"""The same numbers in other shapes; made of constants, they are constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import shapes
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    Rule,
    rule,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


MAX_PARTS = 10_000
"""Parts that a value may be cut into."""


def require_small(node: OperatorNode, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that may be allocated. Raises UnsupportedError for one that may not."""
    if any(length < 0 for length in shape) or math.prod(shape) > MAX_CONSTANT or len(shape) > 64:
        shown = ", ".join(str(length) for length in shape[:8])
        raise node.unsupported(f"the shape ({shown}) is too large")
    return tuple(shape)


@rule("Reshape")
def _reshape(node: OperatorNode) -> Staged:
    x, shape = node.x(), node.known_integers(1, "shape") or []
    if not node.integer("allowzero"):
        if any(n == 0 and i >= x.ndim for i, n in enumerate(shape)):
            raise node.unsupported(f"the shape {shape} keeps axes that x lacks")
        shape = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return shapes.reshape(x, shape)


@rule("Flatten")
def _flatten(node: OperatorNode) -> Staged:
    x, axis = node.x(), node.integer("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return node.stage.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


def cut_up(x: Staged, sizes: Sequence[int], axis: int) -> list[Staged]:
    """``x`` in parts of the sizes, in order along an axis."""
    if len(sizes) > MAX_PARTS:
        raise UnsupportedError("Split", f"more than {MAX_PARTS} parts are too many")
    return shapes.split(x, sizes, axis)


@rule("Split")
def _split(node: OperatorNode) -> tuple[Staged, ...]:
    x, axis = node.x(), node.axis(0)
    sizes = node.known_integers(1, "split")
    if sizes is None:
        count, length = len(node.wanted), x.shape[axis]
        each = -(-length // count)
        sizes = [min(each, max(length - i * each, 0)) for i in range(count)]
    return tuple(cut_up(x, sizes, axis))


@rule("Slice")
def _slice(node: OperatorNode) -> Staged:
    x = node.x()
    starts, ends = node.known_integers(1, "starts") or [], node.known_integers(2, "ends") or []
    axes = node.known_integers(3, "axes") or list(range(len(starts)))
    steps = node.known_integers(4) or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 0 or not -x.ndim <= axis < x.ndim:
            raise node.unsupported(f"step {step} along axis {axis} of {x.ndim}")
        length = x.shape[axis]
        stop: int | None = end
        if step < 0:
            start = min(start + length if start < 0 else start, length - 1)
            stop = end + length if end < 0 else end
            stop = None if stop < 0 else stop
        x = node.stage.cut(x, axis, start, stop, step)
    return x


@rule("Pad")
def _pad(node: OperatorNode) -> Staged:
    x = node.x()
    pads = node.known_integers(1, "pads") or list(node.integers("paddings") or ())
    axes = node.known_integers(3) or list(range(x.ndim))
    if len(pads) != 2 * len(axes) or any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"{len(pads)} widths for {len(axes)} axes")
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis % x.ndim] = pads[i], pads[i + len(axes)]
    more = [max(before, 0) + max(after, 0) for before, after in widths]
    require_small(node, [n + m for n, m in zip(x.shape, more, strict=True)])
    mode, value = node.text("mode", "constant"), node.number("value")
    if mode == "constant" and node.has(2):
        value = float(node.known(2).item())
    return shapes.pad(x, widths, value, mode)


@rule("Tile")
def _tile(node: OperatorNode) -> Staged:
    x, repeats = node.x(), node.known_integers(1) or []
    require_small(node, [n * r for n, r in zip(x.shape, repeats, strict=True)])
    return shapes.tile(x, repeats)


@rule("ConstantOfShape")
def _constant_of_shape(node: OperatorNode) -> Staged:
    value = node.array("value") if "value" in node.attributes else np.zeros(1, np.float32)
    shape = require_small(node, node.known_integers(0) or [])
    return node.stage.constant(np.full(shape, value.reshape(-1)[0], value.dtype))


@rule("Range")
def _range(node: OperatorNode) -> Staged:
    start, limit, step = (node.known(i).item() for i in range(3))
    count = math.ceil((limit - start) / step) if step else -1
    require_small(node, (count,) if step else (-1,))
    numbers = start + step * np.arange(max(count, 0))
    return node.stage.constant(numbers.astype(node.x().dtype))


@rule("EyeLike")
def _eye_like(node: OperatorNode) -> Staged:
    x = node.x()
    rows, columns = require_small(node, x.shape)
    dtype = node.dtype("dtype", x.dtype)
    return node.stage.constant(np.eye(rows, columns, node.integer("k")).astype(dtype))


@rule("Trilu")
def _trilu(node: OperatorNode) -> Staged:
    x, offset = node.x(), node.known_integer(1, 0)
    require_small(node, x.shape[-2:])
    upper = node.integer("upper", 1)
    return shapes.band(x, -offset if upper else None, None if upper else offset)


@rule("ReverseSequence")
def _reverse_sequence(node: OperatorNode) -> Staged:
    """Each row backwards up to its length, along the time axis."""
    x, lengths = node.x(), node.known_integers(1) or []
    time, batch = node.integer("time_axis"), node.integer("batch_axis", 1)
    steps = x.shape[time]
    places = np.array([[*range(n - 1, -1, -1), *range(n, steps)] for n in lengths], np.int64)
    shape = [1] * x.ndim
    shape[batch], shape[time] = len(lengths), steps
    indices = np.broadcast_to((places if batch < time else places.T).reshape(shape), x.shape)
    constant = node.stage.constant(np.ascontiguousarray(indices))
    return node.stage.block("TakeAlong", x, constant, axis=time)


def _blocks(meaning: Callable[[Staged, int, bool], Staged]) -> Rule:
    return lambda node: meaning(
        node.x(), node.integer("blocksize"), node.text("mode", "DCR") == "DCR"
    )


RULES |= {
    "Expand": lambda node: node.stage.broadcast(node.x(), np.broadcast_shapes(
        require_small(node, node.known_integers(1) or []), node.x().shape
    )),
    "Shape": lambda node: node.stage.constant(np.asarray(
        node.x().shape[node.integer("start") : node.integer("end", node.x().ndim)], np.int64
    )),
    "Transpose": lambda node: node.stage.transpose(
        node.x(), node.integers("perm") or range(node.x().ndim)[::-1]
    ),
    "Squeeze": lambda node: shapes.squeeze(node.x(), node.known_integers(1, "axes")),
    "Unsqueeze": lambda node: shapes.unsqueeze(node.x(), node.known_integers(1, "axes") or []),
    "Concat": lambda node: shapes.concat(node.values(), node.axis(1)),
    "Size": lambda node: node.stage.constant(np.asarray(node.x().size, np.int64)),
    "DepthToSpace": _blocks(shapes.depth_to_space),
    "SpaceToDepth": _blocks(shapes.space_to_depth),
}  # fmt: skip
