"""Sine, cosine, tangent, their hyperbolic kin and the inverses of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.base import BaseOps
from gradwire.runtime.calculus.primitives.elementwise import function_of_floats

if TYPE_CHECKING:
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Primitive, Value


def _circle(xp: Namespace, x: Value) -> Value:
    """``√(1 − x²)``, exact near ±1."""
    return xp.sqrt((1 - x) * (1 + x))


def _hyperbola(xp: Namespace, x: Value, square: Callable[[Value], Value]) -> Value:
    """``√(x² ± 1)``, exact near the zeros of the square; |x| where 1 is lost, as x² overflows."""
    large = xp.abs(x) > 2 / float(np.finfo(x.dtype).eps) ** 0.5
    return xp.where(large, xp.abs(x), xp.sqrt(square(xp.where(large, 2.0, x))))


def _arcsinh_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    return g / _hyperbola(xp, x, lambda x: x * x + 1)


def _arccosh_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    return g / _hyperbola(xp, x, lambda x: (x - 1) * (x + 1))


# fmt: off
SIN = function_of_floats("sin", np.sin, lambda xp, g, out, x: g * xp.cos(x),
                         scalar="sin(a)", latex=r"\sin")
COS = function_of_floats("cos", np.cos, lambda xp, g, out, x: -g * xp.sin(x),
                         scalar="cos(a)", latex=r"\cos")
TAN = function_of_floats("tan", np.tan, lambda xp, g, out, x: g * (1 + out * out),
                         onnx=None, scalar="tan(a)", latex=r"\tan")
ARCSIN = function_of_floats("arcsin", np.arcsin, lambda xp, g, out, x: g / _circle(xp, x),
                            "asin", latex=r"\arcsin")
ARCCOS = function_of_floats("arccos", np.arccos, lambda xp, g, out, x: -g / _circle(xp, x),
                            "acos", latex=r"\arccos")
ARCTAN = function_of_floats("arctan", np.arctan, lambda xp, g, out, x: g / (1 + x * x),
                            "atan", latex=r"\arctan")
SINH = function_of_floats("sinh", np.sinh, lambda xp, g, out, x: g * xp.cosh(x), latex=r"\sinh")
COSH = function_of_floats("cosh", np.cosh, lambda xp, g, out, x: g * xp.sinh(x), latex=r"\cosh")
ARCSINH = function_of_floats("arcsinh", np.arcsinh, _arcsinh_rule,
                             "asinh", latex=r"\operatorname{arsinh}")
ARCCOSH = function_of_floats("arccosh", np.arccosh, _arccosh_rule,
                             "acosh", latex=r"\operatorname{arcosh}")
ARCTANH = function_of_floats("arctanh", np.arctanh,
                             lambda xp, g, out, x: g / ((1 - x) * (1 + x)),
                             "atanh", latex=r"\operatorname{artanh}")
# fmt: on


class TrigonometryOps(BaseOps):
    """Functions of floats; integers become float32."""

    __slots__ = ()

    def _of_float(self, primitive: Primitive, x: Any) -> Value:
        return self.trace.apply(primitive, self.as_float(x))

    def sin(self, x: Any) -> Value:
        """Sine of x in radians."""
        return self._of_float(SIN, x)

    def cos(self, x: Any) -> Value:
        """Cosine of x in radians."""
        return self._of_float(COS, x)

    def tan(self, x: Any) -> Value:
        """Tangent of x in radians."""
        return self._of_float(TAN, x)

    def arcsin(self, x: Any) -> Value:
        """Angle whose sine is x, −π/2 to π/2; NaN for |x| > 1, gradient ∞ at ±1."""
        return self._of_float(ARCSIN, x)

    def arccos(self, x: Any) -> Value:
        """Angle whose cosine is x, 0 to π; NaN for |x| > 1, gradient −∞ at ±1."""
        return self._of_float(ARCCOS, x)

    def arctan(self, x: Any) -> Value:
        """Angle whose tangent is x, −π/2 to π/2."""
        return self._of_float(ARCTAN, x)

    def sinh(self, x: Any) -> Value:
        """Hyperbolic sine, ``(eˣ − e⁻ˣ)/2``, exact near 0."""
        return self._of_float(SINH, x)

    def cosh(self, x: Any) -> Value:
        """Hyperbolic cosine, ``(eˣ + e⁻ˣ)/2``."""
        return self._of_float(COSH, x)

    def arcsinh(self, x: Any) -> Value:
        """Number whose hyperbolic sine is x, exact near 0."""
        return self._of_float(ARCSINH, x)

    def arccosh(self, x: Any) -> Value:
        """Number ≥ 0 whose hyperbolic cosine is x; NaN for x < 1, gradient ∞ at 1."""
        return self._of_float(ARCCOSH, x)

    def arctanh(self, x: Any) -> Value:
        """Number whose hyperbolic tangent is x; ±∞ at ±1, NaN beyond."""
        return self._of_float(ARCTANH, x)
