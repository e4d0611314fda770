"""Operators of ``ai.onnx.ml``, which models of scikit-learn are exported as, and of training."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.runtime.interchange.importing.meanings.normalisation import by_length
from gradwire.runtime.interchange.importing.onnx.operators.node import RULES, OperatorNode, rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.onnx.operators.node import Rule
    from gradwire.runtime.interchange.importing.staged import Staged

_NORMS = {"L1": 1, "L2": 2, "MAX": math.inf}
"""The orders of norms."""
_TRANSFORMS = {"LOGISTIC": "Sigmoid", "SOFTMAX": "Softmax"}
"""Blocks of what comes after scores."""


def _float(x: Staged) -> Staged:
    return x if x.is_float else x.stage.cast(x, "float32")


def _row(node: OperatorNode, x: Staged, name: str, default: float) -> Staged:
    """Numbers among the attributes, one or one for each feature."""
    given = node.numbers(name) or (default,)
    return node.stage.constant(np.asarray(given if len(given) > 1 else given[0], x.dtype))


@rule("Scaler")
def _scaler(node: OperatorNode) -> Staged:
    """StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler: ``(x - offset) * scale``."""
    x = _float(node.x())
    offset, scale = _row(node, x, "offset", 0.0), _row(node, x, "scale", 1.0)
    return node.stage.block("Mul", x - offset, scale)


@rule("Normalizer")
def _normalizer(node: OperatorNode) -> Staged:
    """Each row divided by its norm; rows of zeros stay."""
    x, kind = _float(node.x()), node.text("norm", "MAX")
    if kind not in _NORMS:
        raise node.unsupported(f"its norm is {kind[:20]!r}")
    return by_length(x, (x.ndim - 1,), _NORMS[kind])


@rule("Imputer")
def _imputer(node: OperatorNode) -> Staged:
    """Missing features, NaN or a number, replaced by others."""
    x, stage = node.x(), node.stage
    if x.is_float:
        value = node.number("replaced_value_float")
        imputed = node.numbers("imputed_value_floats") or ()
    else:
        value = node.integer("replaced_value_int64")
        imputed = node.integers("imputed_value_int64s") or ()
    if len(imputed) not in (1, x.shape[-1]):
        raise node.unsupported(f"it has {len(imputed)} numbers for {x.shape[-1]} features")
    is_nan = isinstance(value, float) and math.isnan(value)
    missing = stage.block("IsNaN", x) if is_nan else stage.block("Equal", x, x.like(value))
    return stage.block("Where", missing, stage.constant(np.asarray(imputed, x.dtype)), x)


@rule("OneHotEncoder")
def _one_hot_encoder(node: OperatorNode) -> Staged:
    """A new last axis with 1 at the category; categories that are not known have none."""
    x, categories = node.x(), node.integers("cats_int64s")
    if categories is None:
        raise node.unsupported("its categories are texts")
    wanted = node.stage.constant(np.asarray(categories, x.dtype))
    found = node.stage.block("Equal", node.stage.reshape(x, (*x.shape, 1)), wanted)
    return node.stage.cast(found, "float32")


def _linear(node: OperatorNode, outputs: int) -> Staged:
    """Scores of a linear model, whose numbers among the attributes become variables."""
    x, stage = _float(node.x()), node.stage
    given = node.numbers("coefficients") or ()
    if x.ndim != 2 or len(given) != outputs * x.shape[1]:
        raise node.unsupported(f"it has {len(given)} coefficients for {list(x.shape)}")
    name = node.name or node.operator
    weight = np.asarray(given, x.dtype).reshape(outputs, -1)
    parameters = [stage.variable(f"{name}.weight", weight, own=f"{name}_weight")]
    intercepts = node.numbers("intercepts")
    if intercepts is not None:
        bias = np.asarray(intercepts, x.dtype)
        parameters.append(stage.variable(f"{name}.bias", bias, own=f"{name}_bias"))
    return stage.block("Linear", x, *parameters)


def _transformed(node: OperatorNode, scores: Staged) -> Staged:
    kind = node.text("post_transform", "NONE")
    if kind == "NONE":
        return scores
    if kind not in _TRANSFORMS:
        raise node.unsupported(f"its transform is {kind[:20]!r}")
    return node.stage.block(_TRANSFORMS[kind], scores)


@rule("LinearClassifier")
def _linear_classifier(node: OperatorNode) -> tuple[Staged, Staged]:
    """The labels and the scores. Labels that are texts are given by their numbers."""
    stage, labels = node.stage, node.integers("classlabels_ints")
    names = node.texts("classlabels_strings")
    count = len(labels or names or ())
    scores = _linear(node, count)
    best = stage.block("ArgMax", scores, axis=1)
    if labels:
        best = stage.block("Gather", stage.constant(np.asarray(labels)), best, axis=0)
    elif node.wants(0):
        stage.remark("lost", f"Labels are numbers, which stand for {', '.join(names or ())}.", best)
    return best, _transformed(node, scores)


RULES |= {
    "Binarizer": lambda n: n.stage.cast(n.x() > n.number("threshold"), n.x().dtype),
    "FeatureVectorizer": lambda n: n.stage.block(
        "Concat", *map(_float, n.values()), axis=n.x().ndim - 1
    ),
    "LinearRegressor": lambda n: _transformed(n, _linear(n, n.integer("targets", 1))),
    "ZipMap": lambda n: n.x(),  # scores by the names of classes, as columns
}


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
