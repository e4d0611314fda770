"""The same numbers in other shapes and orders; made of constants, they are constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import indexing, shapes
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    OperatorNode,
    halves,
    is_variable,
    require_small,
    rule,
)

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_PARTS = 10_000
"""Parts that a value may be cut into."""


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
        x = node.stage.cut(x, axis, start, end, step)
    return x


@rule("Pad")
def _pad(node: OperatorNode) -> Staged:
    x = node.x()
    pads = node.known_integers(1, "pads") or list(node.integers("paddings") or ())
    axes = node.known_integers(3) or list(range(x.ndim))
    if len(pads) != 2 * len(axes) or any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise node.unsupported(f"{len(pads)} widths for {len(axes)} axes")
    given = dict(zip([axis % x.ndim for axis in axes], halves(pads), strict=True))
    widths = [given.get(axis, (0, 0)) for axis in range(x.ndim)]
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
    rows, columns = require_small(node, node.x().shape)
    dtype = node.dtype("dtype", node.x().dtype)
    return node.stage.constant(np.eye(rows, columns, node.integer("k")).astype(dtype))


@rule("Trilu")
def _trilu(node: OperatorNode) -> Staged:
    x, offset, upper = node.x(), node.known_integer(1, 0), node.integer("upper", 1)
    require_small(node, x.shape[-2:])
    return shapes.band(x, -offset if upper else None, None if upper else offset)


@rule("ReverseSequence")
def _reverse_sequence(node: OperatorNode) -> Staged:
    """Each row backwards up to its length, along the time axis."""
    x, lengths = node.x(), node.known_integers(1) or []
    time, batch = node.integer("time_axis"), node.integer("batch_axis", 1)
    places = [[*range(n - 1, -1, -1), *range(n, x.shape[time])] for n in lengths]
    indices = _by_row(np.array(places, np.int64), x.shape, batch, time)
    return node.stage.block("TakeAlong", x, node.stage.constant(indices), axis=time)


def _by_row(places: Array, shape: Sequence[int], batch: int, axis: int) -> Array:
    """Places along an axis, which differ by the row along another one, for each element."""
    lengths = [1] * len(shape)
    lengths[batch], lengths[axis] = places.shape
    turned = (places if batch < axis else places.T).reshape(lengths)
    return np.ascontiguousarray(np.broadcast_to(turned, shape))


def _blocks(meaning: Callable[[Staged, int, bool], Staged], node: OperatorNode) -> Staged:
    return meaning(node.x(), node.integer("blocksize"), node.text("mode", "DCR") == "DCR")


@rule("Gather")
def _gather(node: OperatorNode) -> Staged:
    """Rows of a weight are an Embedding."""
    x, indices, axis = node.x(), node.x(1), node.axis(0)
    if is_variable(x) and x.is_float and x.ndim == 2 and axis == 0 and indices.ndim:
        return node.stage.block("Embedding", indices, x)
    return node.stage.block("Gather", x, indices, axis=axis)


@rule("GatherND")
def _gather_nd(node: OperatorNode) -> Staged:
    x, indices, batch = node.x(), node.x(1), node.integer("batch_dims")
    reach = batch + indices.shape[-1]
    if reach > x.ndim or not indices.shape[-1]:
        raise node.unsupported(f"indices of {indices.shape[-1]} axes for x of {x.ndim}")
    return indexing.gather_nd(x, indices, batch)


@rule("OneHot")
def _one_hot(node: OperatorNode) -> Staged:
    values, stage, depth = node.x(2), node.stage, node.known_integer(1)
    indices = indexing.inside(stage.cast(node.x(), "int64"), depth)
    off, on = (stage.reshape(stage.cut(values, 0, i, i + 1), ()) for i in range(2))
    axis = node.axis(-1, indices.ndim + 1)
    return indexing.one_hot(indices, depth, values.dtype, axis, on, off)


@rule("Compress")
def _compress(node: OperatorNode) -> Staged:
    x, kept = node.x(), np.flatnonzero(node.known(1))
    if "axis" not in node.attributes:
        return node.stage.take(node.stage.reshape(x, (x.size,)), kept, 0)
    return node.stage.take(x, kept, node.axis(0))


@rule("Unique")
def _unique(node: OperatorNode) -> tuple[Staged, ...]:
    """Known numbers without repetitions, sorted or as they come first."""
    axis = node.axis(0) if "axis" in node.attributes else None
    values, first, inverse, counts = np.unique(
        node.known(0), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.integer("sorted", 1):
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    indices = [array.astype(np.int64) for array in (first, inverse, counts)]
    return tuple(node.stage.constant(array) for array in (values, *indices))


def _mode(node: OperatorNode) -> str:
    """How updates change what is there."""
    return {"none": "set"}.get(node.text("reduction", "none"), node.text("reduction"))


@rule("TensorScatter")
def _tensor_scatter(node: OperatorNode) -> Staged:
    """Updates written into a cache, from a place on that differs by batch."""
    past, update, stage = node.x(0), node.x(1), node.stage
    axis, circular = node.integer("axis", -2) % past.ndim, node.text("mode", "linear") == "circular"
    starts = node.known_integers(2) or [0] * past.shape[0]
    places = np.array(starts, np.int64)[:, None] + np.arange(update.shape[axis])
    places = places % past.shape[axis] if circular else places
    given = past, stage.constant(_by_row(places, update.shape, 0, axis)), update
    return stage.block("ScatterAlong", *given, mode="set", axis=axis)


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
    "DepthToSpace": partial(_blocks, shapes.depth_to_space),
    "SpaceToDepth": partial(_blocks, shapes.space_to_depth),
    "ArrayFeatureExtractor": lambda node: node.stage.block(
        "Gather", node.x(), shapes.reshape(node.x(1), (-1,)), axis=node.x().ndim - 1
    ),
    "GatherElements": lambda node: indexing.take_along(node.x(), node.x(1), node.axis(0)),
    "NonZero": lambda node: node.stage.constant(np.array(np.nonzero(node.known(0)), np.int64)),
    "ScatterND": lambda node: indexing.scatter_nd(node.x(), node.x(1), node.x(2), _mode(node)),
    **dict.fromkeys(("ScatterElements", "Scatter"), lambda node: indexing.scatter_along(
        node.x(), node.x(1), node.x(2), node.axis(0), _mode(node)
    )),
}  # fmt: skip
