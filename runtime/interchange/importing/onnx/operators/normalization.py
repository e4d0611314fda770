"""Normalisation over batches, channels and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.interchange.importing.onnx.operators.node import Node, rule
from runtime.interchange.importing.onnx.operators.reductions import mean_and_variance

if TYPE_CHECKING:
    from runtime.interchange.importing.staged import Staged


def by_channel(x: Staged, rank: int) -> Staged:
    """Numbers of channels in a shape that broadcasts over the places behind them."""
    return x.stage.reshape(x, (x.shape[0], *(1,) * (rank - 2))) if x.ndim == 1 else x


def normalised(x: Staged, mean: Staged, variance: Staged, epsilon: float) -> Staged:
    """``(x - mean) / sqrt(variance + epsilon)``."""
    return (x - mean) / x.stage.block("Sqrt", variance + epsilon)


def _epsilon(node: Node) -> float:
    return node.number("epsilon", 1e-5)


@rule("BatchNormalization")
def _batch_normalization(node: Node) -> Staged | tuple[Staged, ...]:
    """By the statistics it keeps, or in training by those of the batch."""
    x, running = node.x(), [node.x(3), node.x(4)]
    scale, bias = (by_channel(node.x(i), x.ndim) for i in (1, 2))
    if not node.integer("training_mode"):
        mean, variance = (by_channel(given, x.ndim) for given in running)
        return normalised(x, mean, variance, _epsilon(node)) * scale + bias
    mean, variance = mean_and_variance(x, (0, *range(2, x.ndim)))
    y = normalised(x, mean, variance, _epsilon(node)) * scale + bias
    keep = node.number("momentum", 0.9)
    new = [
        old * keep + node.stage.reshape(now, old.shape) * (1.0 - keep)
        for old, now in zip(running, (mean, variance), strict=True)
    ]
    return (y, *new)


@rule("InstanceNormalization")
def _instance_normalization(node: Node) -> Staged:
    x = node.x()
    scale, bias = (by_channel(node.x(i), x.ndim) for i in (1, 2))
    mean, variance = mean_and_variance(x, range(2, x.ndim))
    return normalised(x, mean, variance, _epsilon(node)) * scale + bias


@rule("GroupNormalization")
def _group_normalization(node: Node) -> Staged:
    x, stage, groups = node.x(), node.stage, node.integer("num_groups")
    scale, bias = node.x(1), node.x(2)
    each = x.shape[1] // groups
    if scale.shape[0] != x.shape[1]:  # one number a group, before opset 21
        repeated = [place // each for place in range(x.shape[1])]
        scale, bias = (stage.take(given, repeated, 0) for given in (scale, bias))
    grouped = stage.reshape(x, (x.shape[0], groups, each, *x.shape[2:]))
    mean, variance = mean_and_variance(grouped, range(2, grouped.ndim))
    y = stage.reshape(normalised(grouped, mean, variance, _epsilon(node)), x.shape)
    return y * by_channel(scale, x.ndim) + by_channel(bias, x.ndim)


@rule("LayerNormalization")
def _layer_normalization(node: Node) -> tuple[Staged, ...]:
    x, stage = node.x(), node.stage
    axes = range(node.axis(-1), x.ndim)
    mean, variance = mean_and_variance(x, axes)
    inverse = 1.0 / stage.block("Sqrt", variance + _epsilon(node))
    y = (x - mean) * inverse * node.x(1)
    bias = node.get(2)
    return (y if bias is None else y + bias), mean, inverse


@rule("RMSNormalization", "SimplifiedLayerNormalization")
def _rms_normalization(node: Node) -> Staged:
    x, stage = node.x(), node.stage
    axes = tuple(range(node.axis(-1), x.ndim))
    square = stage.block("Mean", stage.block("Square", x), axis=axes, keepdims=True)
    return x / stage.block("Sqrt", square + _epsilon(node)) * node.x(1)


@rule("LRN")
def _local_response(node: Node) -> Staged:
    """Divides by a power of the mean square over the nearest channels."""
    x, stage, size = node.x(), node.stage, node.integer("size")
    before = (size - 1) // 2
    widths = [(0, 0), (before, size - 1 - before), *((0, 0),) * (x.ndim - 2)]
    squares = stage.block("Pad", stage.block("Square", x), widths=tuple(widths))
    near = [stage.cut(squares, 1, i, i + x.shape[1]) for i in range(size)]
    total = stage.block("AddN", *near)
    mean = total * (node.number("alpha", 1e-4) / size) + node.number("bias", 1.0)
    return x / mean ** node.number("beta", 0.75)


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
    x, axes = node.x(), _axes(node)
    mean, variance = mean_and_variance(x, axes)
    return (x - mean) / (node.stage.block("Sqrt", variance) + 1e-9)


def _axes(node: Node) -> Sequence[int]:
    return node.integers("axes") or (0, 2, 3)
