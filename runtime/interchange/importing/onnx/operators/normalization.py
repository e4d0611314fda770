"""Normalisation over batches, channels and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.onnx.operators.node import Node, rule
from gradwire.runtime.interchange.importing.onnx.operators.reductions import mean_and_variance

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _epsilon(node: Node) -> float:
    return node.number("epsilon", 1e-5)


@rule("BatchNormalization")
def _batch_normalization(node: Node) -> tuple[Staged, ...]:
    """By the statistics it keeps, or in training by those of the batch."""
    training = node.training or bool(node.integer("training_mode"))
    return node.stage.blocks(
        "BatchNorm",
        *(node.x(i) for i in range(5)),
        epsilon=_epsilon(node),
        mode="batch" if training else "running",
        momentum=round(1 - node.number("momentum", 0.9), 9),
        unbiased=False,
    )


@rule("InstanceNormalization")
def _instance_normalization(node: Node) -> Staged:
    given = node.x(0), node.x(1), node.x(2)
    return node.stage.block("GroupNorm", *given, epsilon=_epsilon(node), groups=given[0].shape[1])


@rule("GroupNormalization")
def _group_normalization(node: Node) -> Staged:
    x, stage, groups = node.x(), node.stage, node.integer("num_groups")
    scale, bias = node.x(1), node.x(2)
    each = x.shape[1] // groups
    if scale.shape[0] != x.shape[1]:  # one number a group, before opset 21
        repeated = [place // each for place in range(x.shape[1])]
        scale, bias = (stage.take(given, repeated, 0) for given in (scale, bias))
    return stage.block("GroupNorm", x, scale, bias, epsilon=_epsilon(node), groups=groups)


@rule("LayerNormalization")
def _layer_normalization(node: Node) -> Staged | tuple[Staged, ...]:
    x, stage, scale, bias = node.x(), node.stage, node.x(1), node.get(2)
    axes = tuple(range(node.axis(-1), x.ndim))
    plain = not (node.wants(1) or node.wants(2))
    if plain and _fit(x, axes, scale, bias):
        given = x, scale, bias
        return stage.block("LayerNorm", *given, epsilon=_epsilon(node), axes=_last(x, axes))
    mean, variance = mean_and_variance(x, axes)
    inverse = 1.0 / stage.block("Sqrt", variance + _epsilon(node))
    y = (x - mean) * inverse * scale
    return (y if bias is None else y + bias), mean, inverse


def _fit(x: Staged, axes: Sequence[int], *parameters: Staged | None) -> bool:
    """Whether parameters have the lengths of these axes, and need not be broadcast."""
    lengths = tuple(x.shape[axis] for axis in axes)
    return all(given is None or given.shape == lengths for given in parameters)


def _last(x: Staged, axes: tuple[int, ...]) -> int | tuple[int, ...]:
    """Axes counted from the end; a single one is a bare number."""
    return -1 if len(axes) == 1 else tuple(axis - x.ndim for axis in axes)


@rule("RMSNormalization", "SimplifiedLayerNormalization")
def _rms_normalization(node: Node) -> Staged:
    x, stage, scale = node.x(), node.stage, node.x(1)
    axes = tuple(range(node.axis(-1), x.ndim))
    if _fit(x, axes, scale):
        return stage.block("RMSNorm", x, scale, epsilon=_epsilon(node), axes=_last(x, axes))
    return stage.block("RMSNorm", x, epsilon=_epsilon(node), axes=_last(x, axes)) * scale


@rule("LRN")
def _local_response(node: Node) -> Staged:
    return node.stage.block(
        "LRN",
        node.x(),
        size=node.integer("size"),
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
        bias=node.number("bias", 1.0),
    )


@rule("LpNormalization")
def _lp_normalization(node: Node) -> Staged:
    """A vector of zeros stays."""
    x, stage, axis = node.x(), node.stage, node.axis(-1)
    if node.integer("p", 2) == 2:
        length = stage.block("Norm", x, axis=axis, keepdims=True)
    else:
        length = stage.block("Sum", stage.block("Abs", x), axis=axis, keepdims=True)
    empty = stage.block("Equal", length, x.like(0))
    return x / stage.block("Where", empty, x.like(1), length)


@rule("MeanVarianceNormalization")
def _mean_variance(node: Node) -> Staged:
    x, axes = node.x(), node.integers("axes") or (0, 2, 3)
    mean, variance = mean_and_variance(x, axes)
    return (x - mean) / (node.stage.block("Sqrt", variance) + 1e-9)
