"""Elements at indices, read and written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, Node, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

RULES["GatherElements"] = lambda node: node.stage.block(
    "TakeAlong", node.x(), node.x(1), axis=node.axis(0)
)


@rule("Gather")
def _gather(node: Node) -> Staged:
    """Rows of a weight are an Embedding."""
    x, indices, axis = node.x(), node.x(1), node.axis(0)
    weight = x.source is not None and x.source.block.type_name() == "Variable"
    if weight and x.is_float and x.ndim == 2 and axis == 0 and indices.ndim:
        return node.stage.block("Embedding", indices, x)
    return node.stage.block("Gather", x, indices, axis=axis)


def _rows(node: Node, x: Staged, indices: Staged, batch: int) -> Staged:
    """Indices of the rows of ``x``, its leading axes put together, that tuples of indices name."""
    stage, leading = node.stage, indices.shape[:-1]
    depth = indices.shape[-1]
    total: Staged | None = None
    stride = 1
    for place in reversed(range(batch + depth)):
        length = x.shape[place]
        if place < batch:
            shape = [1] * len(leading)
            shape[place] = length
            part = stage.constant(np.arange(length, dtype=np.int64).reshape(shape))
        else:
            part = stage.cast(stage.select(indices, -1, place - batch), "int64")
            part = wrapped(part, length)
        part = part * stride if stride != 1 else part
        total = part if total is None else total + part
        stride *= length
    assert total is not None
    return stage.broadcast(total, leading)


def wrapped(indices: Staged, length: int) -> Staged:
    """Indices from the front, in the place of negative ones."""
    return indices.stage.block("Where", indices < 0, indices + length, indices)


@rule("GatherND")
def _gather_nd(node: Node) -> Staged:
    x, indices, batch = node.x(), node.x(1), node.integer("batch_dims")
    reach = batch + indices.shape[-1]
    if reach > x.ndim or not indices.shape[-1]:
        raise node.unsupported(f"indices of {indices.shape[-1]} axes for x of {x.ndim}")
    flat = node.stage.reshape(x, (math.prod(x.shape[:reach]), *x.shape[reach:]))
    return node.stage.block("Gather", flat, _rows(node, x, indices, batch), axis=0)


@rule("OneHot")
def _one_hot(node: Node) -> Staged:
    indices, values, stage = node.x(), node.x(2), node.stage
    depth = node.known_integer(1)
    indices = wrapped(stage.cast(indices, "int64"), depth)
    hot = stage.block("OneHot", indices, depth=depth, dtype="bool")
    hot = last_to(hot, node.axis(-1, hot.ndim))
    off, on = (stage.reshape(stage.cut(values, 0, i, i + 1), ()) for i in range(2))
    return stage.block("Where", hot, on, off)


def last_to(x: Staged, axis: int) -> Staged:
    """``x`` with its last axis moved to ``axis``."""
    order = list(range(x.ndim - 1))
    order.insert(axis, x.ndim - 1)
    return x.stage.transpose(x, order)


def to_last(x: Staged, axis: int) -> Staged:
    """``x`` with an axis moved to the end."""
    return x.stage.transpose(x, [*(i for i in range(x.ndim) if i != axis), axis])


@rule("Compress")
def _compress(node: Node) -> Staged:
    x, kept = node.x(), np.flatnonzero(node.known(1))
    if "axis" not in node.attributes:
        return node.stage.take(node.stage.reshape(x, (x.size,)), kept, 0)
    return node.stage.take(x, kept, node.axis(0))


@rule("NonZero")
def _non_zero(node: Node) -> Staged:
    return node.stage.constant(np.array(np.nonzero(node.known(0)), np.int64))


@rule("Unique")
def _unique(node: Node) -> tuple[Staged, ...]:
    """Known numbers without repetitions, sorted or as they come first."""
    x = node.known(0)
    axis = node.axis(0) if "axis" in node.attributes else None
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not node.integer("sorted", 1):
        order = np.argsort(first)
        values, first, counts = np.take(values, order, axis or 0), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    indices = [array.astype(np.int64) for array in (first, inverse, counts)]
    return tuple(node.stage.constant(array) for array in (values, *indices))


def _mode(node: Node) -> str:
    """How updates change what is there."""
    return {"none": "set"}.get(node.text("reduction", "none"), node.text("reduction"))


@rule("ScatterElements", "Scatter")
def _scatter_elements(node: Node) -> Staged:
    inputs = node.x(0), node.x(1), node.x(2)
    return node.stage.block("ScatterAlong", *inputs, mode=_mode(node), axis=node.axis(0))


@rule("ScatterND")
def _scatter_nd(node: Node) -> Staged:
    x, indices, updates, stage = node.x(), node.x(1), node.x(2), node.stage
    depth = indices.shape[-1]
    rows = _rows(node, x, indices, 0)
    flat = stage.reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    new = stage.reshape(updates, (rows.size, *x.shape[depth:]))
    index = stage.reshape(rows, (rows.size,))
    return stage.reshape(scatter(flat, index, new, _mode(node)), x.shape)


@rule("TensorScatter")
def _tensor_scatter(node: Node) -> Staged:
    """Updates written into a cache, from a place on that differs by batch."""
    past, update, stage = node.x(0), node.x(1), node.stage
    axis, circular = node.integer("axis", -2) % past.ndim, node.text("mode", "linear") == "circular"
    starts = node.known_integers(2) or [0] * past.shape[0]
    steps = np.arange(update.shape[axis])
    places = np.array([[*(steps + start)] for start in starts], np.int64)
    places = places % past.shape[axis] if circular else places
    shape = [1] * update.ndim
    shape[0], shape[axis] = places.shape
    indices = np.ascontiguousarray(np.broadcast_to(places.reshape(shape), update.shape))
    given = past, stage.constant(indices), update
    return stage.block("ScatterAlong", *given, mode="set", axis=axis)


def scatter(x: Staged, indices: Staged, updates: Staged, mode: str) -> Staged:
    """``x`` with its rows at ``indices`` set, or changed by another mode."""
    return x.stage.block("ScatterRows", x, indices, updates, mode=mode, axis=0)
