"""The same numbers in other shapes; made of constants, they are constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


MAX_PARTS = 10_000
"""Parts that a value may be cut into."""


def require_small(node: Node, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that may be allocated. Raises UnsupportedError for one that may not."""
    if any(length < 0 for length in shape) or math.prod(shape) > MAX_CONSTANT or len(shape) > 64:
        shown = ", ".join(str(length) for length in shape[:8])
        raise node.unsupported(f"the shape ({shown}) is too large")
    return tuple(shape)


@rule("Reshape")
def _reshape(node: Node) -> Staged:
    x, shape = node.x(), node.known_integers(1, "shape") or []
    if not node.integer("allowzero"):
        if any(n == 0 and i >= x.ndim for i, n in enumerate(shape)):
            raise node.unsupported(f"the shape {shape} keeps axes that x lacks")
        shape = [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = [x.size // max(rest, 1) if n == -1 else n for n in shape]
    return node.stage.reshape(x, shape)


@rule("Flatten")
def _flatten(node: Node) -> Staged:
    x, axis = node.x(), node.integer("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return node.stage.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@rule("Transpose")
def _transpose(node: Node) -> Staged:
    x = node.x()
    return node.stage.transpose(x, node.integers("perm") or tuple(reversed(range(x.ndim))))


@rule("Squeeze")
def _squeeze(node: Node) -> Staged:
    x, axes = node.x(), node.known_integers(1, "axes")
    if axes is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    gone = {axis % max(x.ndim, 1) for axis in axes}
    return node.stage.reshape(x, [n for i, n in enumerate(x.shape) if i not in gone])


@rule("Unsqueeze")
def _unsqueeze(node: Node) -> Staged:
    x, axes = node.x(), node.known_integers(1, "axes") or []
    new = {axis % (x.ndim + len(axes)) for axis in axes}
    lengths = iter(x.shape)
    shape = [1 if i in new else next(lengths, 1) for i in range(x.ndim + len(new))]
    return node.stage.reshape(x, shape)


@rule("Concat")
def _concat(node: Node) -> Staged:
    values = node.values()
    return node.stage.block("Concat", *values, axis=node.axis(1)) if len(values) > 1 else values[0]


def cut_up(x: Staged, sizes: Sequence[int], axis: int) -> list[Staged]:
    """``x`` in parts of the sizes, in order along an axis."""
    if len(sizes) > MAX_PARTS:
        raise UnsupportedError("Split", f"more than {MAX_PARTS} parts are too many")
    ends = np.cumsum([0, *sizes]).tolist()
    return [x.stage.cut(x, axis, *ends[i : i + 2]) for i in range(len(sizes))]


@rule("Split")
def _split(node: Node) -> tuple[Staged, ...]:
    x, axis = node.x(), node.axis(0)
    sizes = node.known_integers(1, "split")
    if sizes is None:
        count, length = len(node.wanted), x.shape[axis]
        each = -(-length // count)
        sizes = [min(each, max(length - i * each, 0)) for i in range(count)]
    return tuple(cut_up(x, sizes, axis))


@rule("Slice")
def _slice(node: Node) -> Staged:
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
def _pad(node: Node) -> Staged:
    """Negative widths cut off; the other modes than constant take elements again."""
    x, stage, mode = node.x(), node.stage, node.text("mode", "constant")
    pads = node.known_integers(1, "pads") or list(node.integers("paddings") or ())
    axes = node.known_integers(3) or list(range(x.ndim))
    if len(pads) != 2 * len(axes) or any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"{len(pads)} widths for {len(axes)} axes")
    widths = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        widths[axis % x.ndim] = pads[i], pads[i + len(axes)]
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            x = stage.cut(x, axis, max(-before, 0), x.shape[axis] - max(-after, 0))
    widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    require_small(node, [n + sum(width) for n, width in zip(x.shape, widths, strict=True)])
    if mode == "constant":
        value = float(node.known(2).item()) if node.has(2) else node.number("value")
        return pad(x, widths, value)
    return _taken_again(x, widths, mode)


def pad(x: Staged, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Staged:
    """``x`` with a number around it; itself where nothing is added."""
    if not any(before or after for before, after in widths):
        return x
    return x.stage.block("Pad", x, widths=tuple(widths), value=value)


def _taken_again(x: Staged, widths: Sequence[tuple[int, int]], mode: str) -> Staged:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            places = np.arange(x.shape[axis])
            # numpy's annotations want a literal here, and this is one of several.
            padded = np.pad(places, (before, after), mode=mode)  # type: ignore[call-overload]
            x = x.stage.take(x, padded, axis)
    return x


@rule("Expand")
def _expand(node: Node) -> Staged:
    x, shape = node.x(), require_small(node, node.known_integers(1) or [])
    return node.stage.broadcast(x, np.broadcast_shapes(shape, x.shape))


@rule("Tile")
def _tile(node: Node) -> Staged:
    x, repeats = node.x(), node.known_integers(1) or []
    require_small(node, [n * r for n, r in zip(x.shape, repeats, strict=True)])
    for axis, count in enumerate(repeats):
        if count != 1:
            x = node.stage.take(x, np.tile(np.arange(x.shape[axis]), count), axis)
    return x


@rule("Shape")
def _shape(node: Node) -> Staged:
    end = node.integer("end", len(node.x().shape))
    part = node.x().shape[node.integer("start") : end]
    return node.stage.constant(np.asarray(part, np.int64))


RULES["Size"] = lambda node: node.stage.constant(np.asarray(node.x().size, np.int64))


@rule("ConstantOfShape")
def _constant_of_shape(node: Node) -> Staged:
    value = node.array("value") if "value" in node.attributes else np.zeros(1, np.float32)
    shape = require_small(node, node.known_integers(0) or [])
    return node.stage.constant(np.full(shape, value.reshape(-1)[0], value.dtype))


@rule("Range")
def _range(node: Node) -> Staged:
    start, limit, step = (node.known(i).item() for i in range(3))
    count = math.ceil((limit - start) / step) if step else -1
    require_small(node, (count,) if step else (-1,))
    numbers = start + step * np.arange(max(count, 0))
    return node.stage.constant(numbers.astype(node.x().dtype))


@rule("EyeLike")
def _eye_like(node: Node) -> Staged:
    x = node.x()
    rows, columns = require_small(node, x.shape)
    dtype = node.dtype("dtype", x.dtype)
    return node.stage.constant(np.eye(rows, columns, node.integer("k")).astype(dtype))


@rule("Trilu")
def _trilu(node: Node) -> Staged:
    x, offset = node.x(), node.known_integer(1, 0)
    ones = np.ones(require_small(node, x.shape[-2:]), bool)
    mask = np.triu(ones, offset) if node.integer("upper", 1) else np.tril(ones, offset)
    return node.stage.block("Where", node.stage.constant(mask), x, x.like(0))


@rule("DepthToSpace")
def _depth_to_space(node: Node) -> Staged:
    x, stage, size = node.x(), node.stage, node.integer("blocksize")
    n, channels, height, width = x.shape
    left = channels // size**2
    if node.text("mode", "DCR") == "DCR":
        y = stage.reshape(x, (n, size, size, left, height, width))
        y = stage.transpose(y, (0, 3, 4, 1, 5, 2))
    else:
        y = stage.reshape(x, (n, left, size, size, height, width))
        y = stage.transpose(y, (0, 1, 4, 2, 5, 3))
    return stage.reshape(y, (n, left, height * size, width * size))


@rule("SpaceToDepth")
def _space_to_depth(node: Node) -> Staged:
    x, stage, size = node.x(), node.stage, node.integer("blocksize")
    n, channels, height, width = x.shape
    y = stage.reshape(x, (n, channels, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if node.text("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    y = stage.transpose(y, order)
    return stage.reshape(y, (n, channels * size**2, height // size, width // size))


@rule("ReverseSequence")
def _reverse_sequence(node: Node) -> Staged:
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
