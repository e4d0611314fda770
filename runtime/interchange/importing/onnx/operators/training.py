"""Steps of optimisers and gradients, which models for training have inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.onnx.operators.node import OperatorNode, Rule
    from gradwire.runtime.interchange.importing.staged import Staged


def _columns(node: OperatorNode, count: int) -> list[list[Staged]]:
    """The inputs after the rate and the step: parameters, gradients and states, each in a list."""
    values = node.values(2)
    each = len(values) // count
    return [values[i * each : (i + 1) * each] for i in range(count)]


def _decayed(node: OperatorNode, parameter: Staged, gradient: Staged) -> Staged:
    return gradient + parameter * node.number("norm_coefficient")


def _momentum(node: OperatorNode) -> tuple[Staged, ...]:
    """``v' = alpha v + beta g``, ``x' = x - rate v'``, or with Nesterov's look ahead."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    parameters, states = [], []
    for x, gradient, state in zip(*_columns(node, 3), strict=True):
        g = _decayed(node, x, gradient)
        beta = stage.block("Where", step > 0, x.like(node.number("beta")), x.like(1.0))
        new = state * node.number("alpha") + g * beta
        ahead = new if node.text("mode") == "standard" else g + new * node.number("alpha")
        parameters.append(x - stage.cast(rate, x.dtype) * ahead)
        states.append(new)
    return *parameters, *states


def _adagrad(node: OperatorNode) -> tuple[Staged, ...]:
    """``h' = h + g²``, ``x' = x - rate g / (sqrt(h') + epsilon)``."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    parameters, states = [], []
    slower = rate / (stage.cast(step, rate.dtype) * node.number("decay_factor") + 1.0)
    for x, gradient, state in zip(*_columns(node, 3), strict=True):
        g = _decayed(node, x, gradient)
        new = state + g * g
        parameters.append(
            x - slower * g / (stage.block("Sqrt", new) + node.number("epsilon", 1e-6))
        )
        states.append(new)
    return *parameters, *states


def _adam(node: OperatorNode) -> tuple[Staged, ...]:
    """Running means of gradients and of their squares, corrected from the second step on."""
    rate, step, stage = node.x(0), node.x(1), node.stage
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    parameters, firsts, seconds = [], [], []
    for x, gradient, first, second in zip(*_columns(node, 4), strict=True):
        g = _decayed(node, x, gradient)
        first = first * alpha + g * (1 - alpha)
        second = second * beta + g * g * (1 - beta)
        time = stage.cast(step, x.dtype)
        corrected = rate * stage.block("Sqrt", 1.0 - x.like(beta) ** time)
        corrected = corrected / (1.0 - x.like(alpha) ** time)
        factor = stage.block("Where", step > 0, corrected, rate)
        moved = x - factor * first / (stage.block("Sqrt", second) + node.number("epsilon", 1e-6))
        parameters.append(moved * (1.0 - node.number("norm_coefficient_post")))
        firsts.append(first)
        seconds.append(second)
    return *parameters, *firsts, *seconds


def _gradient(node: OperatorNode) -> tuple[Staged, ...]:
    """Of a value for others, all named as the graph names them."""
    of = node.graphs.named(node.text("y"))
    names = node.texts("xs") or []
    return tuple(node.stage.block("Gradient", of, node.graphs.named(name)) for name in names)


TRAINING_RULES: dict[str, Rule] = {
    "Adagrad": _adagrad,
    "Adam": _adam,
    "Gradient": _gradient,
    "Momentum": _momentum,
}
"""The rules of the domain for training."""
