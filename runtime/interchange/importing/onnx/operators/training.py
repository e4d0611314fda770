"""Steps of optimisers and gradients, which models for training have inside."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, Rule
    from gradwire.runtime.interchange.importing.staged import Staged

Step: TypeAlias = "Callable[..., tuple[Staged, ...]]"
"""A parameter and its states after a step, from a node, it, its gradient and its states."""


def _stepped(step: Step, states: int, node: OperatorNode) -> tuple[Staged, ...]:
    """All parameters after a step, then all states of each kind."""
    values = node.values(2)
    each = len(values) // (2 + states)
    columns = [values[i * each : (i + 1) * each] for i in range(2 + states)]
    decay = node.number("norm_coefficient")
    done = [step(node, x, g + x * decay, *more) for x, g, *more in zip(*columns, strict=True)]
    return tuple(y for column in zip(*done, strict=True) for y in column)


def _momentum(node: OperatorNode, x: Staged, g: Staged, state: Staged) -> tuple[Staged, ...]:
    """``v' = alpha v + beta g``, ``x' = x - rate v'``, or with Nesterov's look ahead."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    beta = stage.block("Where", step > 0, x.like(node.number("beta")), x.like(1.0))
    new = state * node.number("alpha") + g * beta
    ahead = new if node.text("mode") == "standard" else g + new * node.number("alpha")
    return x - stage.cast(rate, x.dtype) * ahead, new


def _adagrad(node: OperatorNode, x: Staged, g: Staged, state: Staged) -> tuple[Staged, ...]:
    """``h' = h + g²``, ``x' = x - rate g / (sqrt(h') + epsilon)``."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    slower = rate / (stage.cast(step, rate.dtype) * node.number("decay_factor") + 1.0)
    new = state + g * g
    return x - slower * g / (stage.block("Sqrt", new) + node.number("epsilon", 1e-6)), new


def _adam(
    node: OperatorNode, x: Staged, g: Staged, first: Staged, second: Staged
) -> tuple[Staged, ...]:
    """Running means of gradients and of their squares, corrected from the second step on."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    first = first * alpha + g * (1 - alpha)
    second = second * beta + g * g * (1 - beta)
    time = stage.cast(step, x.dtype)
    corrected = rate * stage.block("Sqrt", 1.0 - x.like(beta) ** time)
    factor = stage.block("Where", step > 0, corrected / (1.0 - x.like(alpha) ** time), rate)
    moved = x - factor * first / (stage.block("Sqrt", second) + node.number("epsilon", 1e-6))
    return moved * (1.0 - node.number("norm_coefficient_post")), first, second


def _gradient(node: OperatorNode) -> tuple[Staged, ...]:
    """Of a value for others, all named as the graph names them."""
    of = node.graphs.named(node.text("y"))
    names = node.texts("xs") or []
    return tuple(node.stage.block("Gradient", of, node.graphs.named(name)) for name in names)


TRAINING_RULES: dict[str, Rule] = {
    "Adagrad": partial(_stepped, _adagrad, 1),
    "Adam": partial(_stepped, _adam, 2),
    "Gradient": _gradient,
    "Momentum": partial(_stepped, _momentum, 1),
}
"""The rules of the domain for training."""
