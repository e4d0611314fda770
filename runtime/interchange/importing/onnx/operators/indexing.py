"""Elements at indices, read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.meanings import indexing
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


@rule("Gather")
def _gather(node: OperatorNode) -> Staged:
    """Rows of a weight are an Embedding."""
    x, indices, axis = node.x(), node.x(1), node.axis(0)
    weight = x.source is not None and x.source.block.type_name() == "Variable"
    if weight and x.is_float and x.ndim == 2 and axis == 0 and indices.ndim:
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


def _mode(node: OperatorNode) -> str:
    """How updates change what is there."""
    return {"none": "set"}.get(node.text("reduction", "none"), node.text("reduction"))


@rule("TensorScatter")
def _tensor_scatter(node: OperatorNode) -> Staged:
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


RULES |= {
    "GatherElements": lambda node: indexing.take_along(node.x(), node.x(1), node.axis(0)),
    "NonZero": lambda node: node.stage.constant(np.array(np.nonzero(node.known(0)), np.int64)),
    "ScatterND": lambda node: indexing.scatter_nd(node.x(), node.x(1), node.x(2), _mode(node)),
    **dict.fromkeys(("ScatterElements", "Scatter"), lambda node: indexing.scatter_along(
        node.x(), node.x(1), node.x(2), node.axis(0), _mode(node)
    )),
}  # fmt: skip
