"""What PyTorch computes where it differs. Run against PyTorch in the tests, on the CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gradwire.runtime.calculus.choices.definitions.operations import (
    PLAIN_ARCCOSH,
    PLAIN_ARCSINH,
    Definition,
    Operations,
    as_written,
    custom,
    with_rules,
)
from gradwire.runtime.calculus.primitives.elementwise import (
    ABS,
    ARCCOSH,
    ARCSINH,
    ARCTAN2,
    DIVIDE,
    POWER,
    RELU,
)
from gradwire.runtime.calculus.primitives.reduce import LOGSUMEXP
from gradwire.runtime.calculus.primitives.scatter import SET_ALONG

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.library.activations import Gelu
    from gradwire.blocks.library.reduce import Prod, Variance
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.primitives.base import Axis
    from gradwire.runtime.calculus.value import Operand, Value


def _sign(xp: Namespace, x: Value) -> Value:
    """The sign, 0 for NaN."""
    return xp.where(xp.isnan(x), 0.0, xp.sign(x))


def _reciprocal_square(xp: Namespace, a: Value, b: Value) -> Value:
    """``1 / (a² + b²)``, 0 where the sum is 0."""
    square = a * a + b * b
    origin = xp.equal(square, 0)
    return xp.where(origin, 0.0, 1 / xp.where(origin, 1.0, square))


_LOGSUMEXP = with_rules(LOGSUMEXP, lambda xp, g, out, x, *, axes: g * xp.exp(x - out))

_SET_ALONG = with_rules(
    SET_ALONG, SET_ALONG.rules[0], None,
    lambda xp, g, out, x, i, u, *, axis: xp.take_along_axis(g, i, axis),
)  # fmt: skip


class TorchOperations(Operations):
    """The operations of PyTorch that differ."""

    __slots__ = ()
    OTHERS: ClassVar = {
        ABS: with_rules(ABS, lambda xp, g, out, x: g * _sign(xp, x)),
        RELU: with_rules(RELU, lambda xp, g, out, x: xp.where(x <= 0, xp.zeros_like(g), g)),
        DIVIDE: with_rules(DIVIDE, DIVIDE.rules[0], lambda xp, g, out, a, b: -g * (out / b)),
        POWER: with_rules(  # 0 for a at b = 0, whatever arrives
            POWER,
            lambda xp, g, out, a, b: xp.where(xp.equal(b, 0), 0.0, g * (b * a ** (b - 1))),
            POWER.rules[1],
        ),
        ARCTAN2: with_rules(  # g is multiplied before it is divided
            ARCTAN2,
            lambda xp, g, out, a, b: g * b * _reciprocal_square(xp, a, b),
            lambda xp, g, out, a, b: g * -a * _reciprocal_square(xp, a, b),
        ),
        ARCSINH: PLAIN_ARCSINH,
        ARCCOSH: PLAIN_ARCCOSH,
    }
    # The first of the largest; the last of several NaN.
    WINS = staticmethod(lambda new, best: (new > best) | new.trace.xp.isnan(new))

    def sign(self, x: Operand) -> Value:
        """−1, 0 or 1; 0 for NaN."""
        return _sign(self.xp, self.asarray(x))

    def logsumexp(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``log Σ eˣ``; gradient ``g·e^(x − out)``."""
        return self._reduce(_LOGSUMEXP, self.as_float(x), axis, keepdims)

    def set_along_axis(self, x: Operand, indices: Operand, updates: Operand, axis: int) -> Value:
        """``x`` with updates in its place; gradient to all updates of a place."""
        return self._scattered(_SET_ALONG, x, indices, updates, axis)

    def norm(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``√Σ x²``; gradient ``g·(x / out)``, with 0 in place of x / 0."""
        xp, x = self.xp, self.as_float(x)
        out = xp.norm(x, axis, keepdims=True)

        def rule(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
            length = xp.norm(x, axis, keepdims=True)
            zero = xp.equal(length, 0)
            return (g * xp.where(zero, 0.0, x / xp.where(zero, 1.0, length)),)

        found = custom(out, rule, x)
        return found if keepdims else xp.sum(found, axis)


def _gelu(xp: Namespace, block: Gelu, x: Value) -> Value:
    """``g·(Φ + x·φ)``, or the same of the tanh."""

    def exact(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
        below = 0.5 * (1 + xp.erf(x * math.sqrt(0.5)))
        density = xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))
        return (g * (below + x * density),)

    def tanh(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
        scale, cubic = math.sqrt(2 / math.pi), 0.044715
        bent = xp.tanh(scale * (x + cubic * x * x * x))
        slope = scale * (1 + 3 * cubic * x * x)
        return (g * (0.5 * (1 + bent) + 0.5 * x * (1 - bent * bent) * slope),)

    return custom(block.forward(xp, x), exact if block.approximate == "none" else tanh, x)


def _silu(xp: Namespace, block: Block, x: Value) -> Value:
    """``g·σ·(1 + x·(1 − σ))``."""

    def rule(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
        share = xp.sigmoid(x)
        return (g * share * (1 + x * (1 - share)),)

    return custom(block.forward(xp, x), rule, x)


def _variance(xp: Namespace, block: Variance, x: Value) -> Value:
    """``g·2/n·(x − mean)``."""
    whole = block.model_copy(update={"keepdims": True}).forward(xp, x)
    count = max(x.size / max(whole.size, 1), 1)

    def rule(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
        return ((2 / count) * g * (x - xp.mean(x, block.axis, keepdims=True)),)

    found = custom(whole, rule, x)
    return found if block.keepdims else xp.sum(found, block.axis)


def _product(xp: Namespace, block: Prod, x: Value) -> Value:
    """``g·(out / x)`` where no element of x is 0, else ``g`` times the product of the others."""
    whole = block.model_copy(update={"keepdims": True}).forward(xp, x)

    def rule(xp: Namespace, g: Value, x: Value) -> tuple[Value]:
        out = xp.prod(x, block.axis, keepdims=True)
        others = xp.gradient(out, x)
        return (g * xp.where(xp.any(xp.equal(x, 0)), others, out / x),)

    found = custom(whole, rule, x)
    return found if block.keepdims else xp.sum(found, block.axis)


def _binary_cross_entropy(xp: Namespace, block: Any, prediction: Value, target: Value) -> Value:
    """From logits ``g·(σ − t)``; of probabilities ``g·(p − t) / max(p(1 − p), 10⁻¹²)``."""
    target = xp.astype(target, prediction.dtype) if target.dtype == "bool" else target

    def of_logits(xp: Namespace, g: Value, z: Value, t: Value) -> tuple[Value, Value]:
        return g * (xp.sigmoid(z) - t), -g * z

    def of_probabilities(xp: Namespace, g: Value, p: Value, t: Value) -> tuple[Value, Value]:
        spread = xp.maximum((1 - p) * p, float(np.float32(1e-12)))
        return g * (p - t) / spread, g * (xp.log1p(-p) - xp.log(p))

    if block.given == "logits":
        small = xp.minimum(prediction, 0.0) - xp.log1p(xp.exp(-xp.abs(prediction)))
        terms = custom((1 - target) * prediction - small, of_logits, prediction, target)
    else:
        yes = xp.maximum(xp.log(prediction), -100.0)
        no = xp.maximum(xp.log1p(-prediction), -100.0)
        terms = custom((target - 1) * no - target * yes, of_probabilities, prediction, target)
    if block.reduction == "none":
        return terms
    return xp.mean(terms) if block.reduction == "mean" else xp.sum(terms)


def _cosine_similarity(xp: Namespace, block: object, a: Value, b: Value) -> Value:
    """``Σ (a / max(|a|, 10⁻⁸))·(b / max(|b|, 10⁻⁸))``; the limits pass all gradient."""
    units = []
    for x in (a, b):
        length = xp.norm(x, axis=-1, keepdims=True)
        units.append(x / xp.surrogate(xp.maximum(length, 1e-8), length))
    return xp.sum(units[0] * units[1], axis=-1)


DEFINITIONS: dict[str, Definition] = {
    **dict.fromkeys(
        ("Abs", "MeanAbsoluteError", "Sign", "Relu", "Arctan2", "Arcsinh", "ScatterRows",
         "ScatterAlong", "Arccosh", "LogSumExp", "Norm", "MaxPool1D", "MaxPool2D", "MaxPool3D"),
        as_written,
    ),
    "Div": lambda xp, block, a, b: xp.divide(a, b),
    "Pow": lambda xp, block, a, b: xp.power(a, b),
    "Gelu": _gelu,
    "Silu": _silu,
    "Prod": _product,
    "Variance": _variance,
    "BinaryCrossEntropy": _binary_cross_entropy,
    "CosineSimilarity": _cosine_similarity,
}  # fmt: skip
