"""Normalisation over batches, channels and features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings import normalisation
from gradwire.runtime.interchange.importing.meanings.reductions import mean_and_variance
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, rule
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def _epsilon(node: OperatorNode) -> float:
    return node.number("epsilon", 1e-5)


@rule("BatchNormalization")
def _batch_normalization(node: OperatorNode) -> tuple[Staged, ...]:
    """By the statistics it keeps, or in training by those of the batch."""
    x, scale, bias, mean, variance = (node.x(i) for i in range(5))
    training = node.training or bool(node.integer("training_mode"))
    momentum = round(1 - node.number("momentum", 0.9), 9)
    return normalisation.batch_norm(
        x, scale, bias, mean, variance, training, _epsilon(node), momentum
    )


@rule("GroupNormalization")
def _group_normalization(node: OperatorNode) -> Staged:
    x, stage, groups = node.x(), node.stage, node.integer("num_groups")
    scale, bias = node.x(1), node.x(2)
    each = x.shape[1] // groups
    if scale.shape[0] != x.shape[1]:  # one number a group, before opset 21
        repeated = [place // each for place in range(x.shape[1])]
        scale, bias = (stage.take(given, repeated, 0) for given in (scale, bias))
    return normalisation.group_norm(x, groups, scale, bias, _epsilon(node))


@rule("LayerNormalization")
def _layer_normalization(node: OperatorNode) -> Staged | tuple[Staged, ...]:
    x, scale, bias = node.x(), node.x(1), node.get(2)
    axes = range(node.axis(-1), x.ndim)
    plain = not (node.wants(1) or node.wants(2))
    if plain and _fit(x, axes, scale, bias):
        return normalisation.layer_norm(x, scale, bias, axes, _epsilon(node))
    return normalisation.standardised(x, axes, _epsilon(node), scale, bias)


def _fit(x: Staged, axes: Sequence[int], *parameters: Staged | None) -> bool:
    """Whether parameters have the lengths of these axes, and need not be broadcast."""
    lengths = tuple(x.shape[axis] for axis in axes)
    return all(given is None or given.shape == lengths for given in parameters)


@rule("RMSNormalization", "SimplifiedLayerNormalization")
def _rms_normalization(node: OperatorNode) -> Staged:
    x, scale = node.x(), node.x(1)
    axes = range(node.axis(-1), x.ndim)
    if _fit(x, axes, scale):
        return normalisation.rms_norm(x, scale, axes, _epsilon(node))
    return normalisation.rms_norm(x, None, axes, _epsilon(node)) * scale


@rule("MeanVarianceNormalization")
def _mean_variance(node: OperatorNode) -> Staged:
    x, axes = node.x(), node.integers("axes") or (0, 2, 3)
    mean, variance = mean_and_variance(x, axes)
    return (x - mean) / (put("Sqrt", variance) + 1e-9)


RULES |= {
    "InstanceNormalization": lambda node: normalisation.group_norm(
        node.x(), node.x().shape[1], node.x(1), node.x(2), _epsilon(node)
    ),
    "LpNormalization": lambda node: normalisation.by_length(
        node.x(), (node.axis(-1),), 2 if node.integer("p", 2) == 2 else 1
    ),
    "LRN": lambda node: put(
        "LRN", node.x(), size=node.integer("size"), alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75), bias=node.number("bias", 1.0),
    ),
}  # fmt: skip
