"""Elementwise arithmetic and functions: kernels, derivative rules, operations.

Rules may return a broadcast shape; the sweep sums them back to the input's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import DTypeError, TraceError
from gradwire.runtime.calculus.dtypes import FLOATS, array_of, common_dtype, scalar_dtype
from gradwire.runtime.calculus.kernels.erf import erf_kernel, erf_of_scalars
from gradwire.runtime.calculus.kernels.powers import power_kernel
from gradwire.runtime.calculus.primitives.base import BaseOps, broadcast_shapes
from gradwire.runtime.calculus.spelling import Spelling, function, operator, shared
from gradwire.runtime.calculus.value import Kernel, Primitive, Rule, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand


def _same(x: Value, **_: object) -> tuple[Shape, str]:
    return x.shape, x.dtype


def _broadcast(*inputs: Value) -> tuple[Shape, str]:
    first = inputs[0]
    for x in inputs:
        if x.shape != first.shape:
            return broadcast_shapes(*[x.shape for x in inputs]), first.dtype
    return first.shape, first.dtype


def _sigmoid_kernel(x: Array, *, out: Array) -> None:
    """1/(1+e⁻ˣ); where e⁻ˣ overflows to ∞ the quotient is 0, as it should be."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


def _growth(x: float) -> float:
    """eˣ of one number, ∞ where it overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _by_number(function: Callable[[float], float], x: Array) -> Array:
    """A function of Python's math, of one number after the other."""
    return np.fromiter(map(function, x.ravel().tolist()), float, x.size).reshape(x.shape)


def _tanh_of_scalars(x: Array, *, out: Array) -> None:
    out[...] = _by_number(math.tanh, x)


def _sigmoid_of_scalars(x: Array, *, out: Array) -> None:
    try:
        grown = _by_number(math.exp, np.negative(x))
    except OverflowError:
        grown = _by_number(_growth, np.negative(x))
    np.copyto(out, np.reciprocal(grown + 1), casting="same_kind")


def _softplus_kernel(x: Array, *, out: Array) -> None:
    """``log(1 + eˣ) = max(x, 0) + log(1 + e^−|x|)``: numpy computes logaddexp one by one."""
    near = np.empty(out.shape, np.float32) if out.dtype == np.float16 else out
    np.abs(x, out=near)
    np.negative(near, out=near)
    np.exp(near, out=near)
    np.log1p(near, out=near)
    np.add(near, np.maximum(x, out.dtype.type(0)), out=out, casting="same_kind")


def _softplus_of_scalars(x: Array, *, out: Array) -> None:
    np.logaddexp(x, out.dtype.type(0), out=out)


def _relu_kernel(x: Array, *, out: Array) -> None:
    np.maximum(x, out.dtype.type(0), out=out)


def _clip_kernel(x: Array, *, out: Array, lo: float | None, hi: float | None) -> None:
    np.clip(x, lo, hi, out=out)


def _division(ufunc: Kernel, result: str) -> Kernel:
    """A kernel that raises ZeroDivisionError for an integer by 0, where numpy gives 0."""

    def kernel(a: Array, b: Array, *, out: Array) -> None:
        if out.dtype.kind != "f" and out.size and not np.all(b):
            raise ZeroDivisionError(f"an integer has no {result} by 0")
        ufunc(a, b, out=out)

    return kernel


def _unary(name: str, kernel: Kernel, rule: Rule, short: str = "", **spelling: Any) -> Primitive:
    written = function(name, short, **spelling)
    return Primitive(name, _same, kernel, (rule,), elementwise=True, spelling=written)


def _binary(name: str, kernel: Kernel, rule_a: Rule, rule_b: Rule, spelling: Spelling) -> Primitive:
    rules = rule_a, rule_b
    return Primitive(name, _broadcast, kernel, rules, elementwise=True, spelling=spelling)


def _function(
    name: str, kernel: Kernel, rule: Rule, short: str = "", scalars: Any = None, **spelling: Any
) -> Primitive:
    """A transcendental function, with another kernel for scalars."""
    plain = _unary(name, kernel, rule, short, **spelling)
    return replace(plain, transcendental=True, scalar_kernel=scalars)


def _extreme_rules(loses: str) -> tuple[Rule, Rule]:
    """Rules of maximum and minimum: the side that ``loses`` gets nothing, a tie is split evenly.

    NaN loses to nothing and ties with nothing, so both sides get the gradient.
    """

    def rule(xp: Namespace, g: Value, a: Value, b: Value) -> Value:
        share = xp.where(xp.equal(a, b), 0.5 * g, g)
        return xp.where(getattr(xp, loses)(a, b), xp.zeros_like(g), share)

    return (
        lambda xp, g, out, a, b: rule(xp, g, a, b),
        lambda xp, g, out, a, b: rule(xp, g, b, a),
    )


def _power_base(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    """``g·b·a^(b−1)``, and 0 where b = 0 even if a is 0 (or so small that 1/a is ∞) or NaN.

    Elsewhere b = 0 needs no exception: the derivative by b is ``a^(b−1)`` there. The exponent stays
    one number if b is one.
    """
    tiny = float(np.finfo(a.dtype).tiny)
    flat = xp.equal(b, 0) & xp.logical_not(xp.abs(a) >= tiny)
    return g * xp.where(flat, 0.0, b * xp.where(flat, 1.0, a) ** (b - 1))


def _power_exponent(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    """``g·aᵇ·log a``, and 0 where a = 0 and b ≥ 0."""
    flat = xp.equal(a, 0) & (b >= 0)
    return g * xp.where(flat, 0.0, out * xp.log(xp.where(flat, 1.0, a)))


def _arctan2_rule(sign: int) -> Rule:
    """``g·b/(a²+b²)`` and ``−g·a/(a²+b²)``; 0 at the origin."""

    def rule(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
        square = a * a + b * b
        origin = xp.equal(square, 0)
        other = b if sign > 0 else -a
        return g * xp.where(origin, 0.0, other / xp.where(origin, 1.0, square))

    return rule


def _clip_rule(
    xp: Namespace, g: Value, out: Value, x: Value, *, lo: float | None, hi: float | None
) -> Value:
    above, below = (None if lo is None else x >= lo), (None if hi is None else x <= hi)
    inside = below if above is None else above if below is None else above & below
    return g if inside is None else xp.where(inside, g, xp.zeros_like(g))


def _relu_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    """``g`` where the output is above 0; elsewhere 0, even of a gradient that is ∞ or NaN."""
    return xp.where(out > 0, g, xp.zeros_like(g))


def _flat(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    """Piecewise constant: connected, and 0 wherever a derivative exists."""
    return xp.zeros_like(x)


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
ADD = _binary("add", np.add, lambda xp, g, out, a, b: g, lambda xp, g, out, a, b: g,
              operator("+", onnx="Add(a, b)", latex=("a + b:product", "sum"),
                       plain=("a + b:product", "sum")))
SUBTRACT = _binary("subtract", np.subtract,
                   lambda xp, g, out, a, b: g, lambda xp, g, out, a, b: -g,
                   operator("-", onnx="Sub(a, b)", latex=("a - b:product", "sum"),
                            plain=("a − b:product", "sum")))
MULTIPLY = _binary("multiply", np.multiply,
                   lambda xp, g, out, a, b: g * b, lambda xp, g, out, a, b: g * a,
                   operator("*", onnx="Mul(a, b)",
                            latex=(r"a:product \cdot b:product", "product"),
                            plain=("a:product × b:product", "product")))
DIVIDE = _binary("divide", np.divide,
                 lambda xp, g, out, a, b: g / b, lambda xp, g, out, a, b: -g * out / b,
                 operator("/", onnx="Div(a, b)", latex=(r"\frac{a}{b}", "power"),
                          plain=("a:product / b:power", "product")))
FLOOR_DIVIDE = _binary("floor_divide", _division(np.floor_divide, "quotient"),
                       lambda xp, g, out, a, b: xp.zeros_like(a),
                       lambda xp, g, out, a, b: xp.zeros_like(b),
                       Spelling(torch='torch.div(a, b, rounding_mode="floor")',
                                jax="lax.stop_gradient(jnp.floor_divide(a, b))",
                                javascript="quotientOf(a,b,f)", scalar="a//b"))
REMAINDER = _binary("remainder", _division(np.remainder, "remainder"),
                    lambda xp, g, out, a, b: g,
                    lambda xp, g, out, a, b: -g * xp.floor_divide(a, b),
                    Spelling(torch="torch.remainder(a, b)", jax="_remainder(a, b)",
                             javascript="remainderOf(a,b)", scalar="a%b"))
POWER = replace(
    _binary("power", power_kernel, _power_base, _power_exponent,
            operator("**", javascript="powerOf(a,b)", scalar="sqrt(a) if b==0.5 else pow(a,b)",
                     latex=("a:atom^{b}", "power"), plain=("a:atom^b:atom", "power"))),
    transcendental=True,
)
MAXIMUM = _binary("maximum", np.maximum, *_extreme_rules("less"),
                  shared("maximum(a, b)", javascript="Math.max(a,b)",
                         scalar="a if a>b or a!=a else b", latex=r"\max", plain="max"))
MINIMUM = _binary("minimum", np.minimum, *_extreme_rules("greater"),
                  shared("minimum(a, b)", javascript="Math.min(a,b)",
                         scalar="a if a<b or a!=a else b", latex=r"\min", plain="min"))
ARCTAN2 = replace(
    _binary("arctan2", np.arctan2, _arctan2_rule(1), _arctan2_rule(-1),
            Spelling("np.arctan2(a, b)", "_arctan2(a, b)", "_arctan2(a, b)",
                     javascript="Math.atan2(a,b)", scalar="atan2(a,b)")),
    transcendental=True,
)

NEGATIVE = _unary("negative", np.negative, lambda xp, g, out, x: -g, numpy="-a", torch="-a",
                  jax="-a", onnx=None, javascript="-a", scalar="(-a)", latex=("-a:product", "sum"),
                  plain=("−a:product", "sum"))
ABS = _unary("abs", np.abs, lambda xp, g, out, x: g * xp.sign(x), scalar="abs(a)",
             latex=r"\left|a\right|", plain="|a|")
SQUARE = _unary("square", np.square, lambda xp, g, out, x: g * (2 * x), onnx="Mul(a, a)",
                javascript="a*a", scalar="a*a", latex=("a:atom^{2}", "power"),
                plain=("a:atom²", "power"))
SQRT = _unary("sqrt", np.sqrt, lambda xp, g, out, x: g / (2 * out), scalar="sqrt(a)",
              latex=r"\sqrt{a}", plain=("√a:atom", "power"))
EXP = _function("exp", np.exp, lambda xp, g, out, x: g * out, scalar="exp(a)",
                latex=("e^{a}", "power"))
EXPM1 = _function("expm1", np.expm1, lambda xp, g, out, x: g * (out + 1), onnx=None,
                  scalar="expm1(a)")
LOG = _function("log", np.log, lambda xp, g, out, x: g / x, scalar="log(a)", latex=r"\ln",
                plain="ln")
LOG1P = _function("log1p", np.log1p, lambda xp, g, out, x: g / (1 + x), onnx=None,
                  scalar="log1p(a)")
SIN = _function("sin", np.sin, lambda xp, g, out, x: g * xp.cos(x), scalar="sin(a)", latex=r"\sin")
COS = _function("cos", np.cos, lambda xp, g, out, x: -g * xp.sin(x), scalar="cos(a)", latex=r"\cos")
TAN = _function("tan", np.tan, lambda xp, g, out, x: g * (1 + out * out), onnx=None,
                scalar="tan(a)", latex=r"\tan")
ARCSIN = _function("arcsin", np.arcsin, lambda xp, g, out, x: g / _circle(xp, x), "asin",
                   latex=r"\arcsin")
ARCCOS = _function("arccos", np.arccos, lambda xp, g, out, x: -g / _circle(xp, x), "acos",
                   latex=r"\arccos")
ARCTAN = _function("arctan", np.arctan, lambda xp, g, out, x: g / (1 + x * x), "atan",
                   latex=r"\arctan")
TANH = _function("tanh", np.tanh, lambda xp, g, out, x: g * (1 - out * out),
                 scalars=_tanh_of_scalars, scalar="tanh(a)", latex=r"\tanh")
SINH = _function("sinh", np.sinh, lambda xp, g, out, x: g * xp.cosh(x), latex=r"\sinh")
COSH = _function("cosh", np.cosh, lambda xp, g, out, x: g * xp.sinh(x), latex=r"\cosh")
ARCSINH = _function("arcsinh", np.arcsinh, _arcsinh_rule, "asinh", latex=r"\operatorname{arsinh}")
ARCCOSH = _function("arccosh", np.arccosh, _arccosh_rule, "acosh", latex=r"\operatorname{arcosh}")
ARCTANH = _function("arctanh", np.arctanh, lambda xp, g, out, x: g / ((1 - x) * (1 + x)), "atanh",
                    latex=r"\operatorname{artanh}")
SIGMOID = _function("sigmoid", _sigmoid_kernel, lambda xp, g, out, x: g * (out * (1 - out)),
                    scalars=_sigmoid_of_scalars, numpy="_sigmoid(a)", jax="jax.nn.sigmoid(a)",
                    javascript="1/(1+f(Math.exp(-a)))", scalar="(1.0/(1.0+exp(-a)))",
                    latex=r"\sigma")
SOFTPLUS = _function("softplus", _softplus_kernel, lambda xp, g, out, x: g * xp.sigmoid(x),
                     scalars=_softplus_of_scalars, numpy="np.logaddexp(a, 0)",
                     torch="F.softplus(a, threshold=80)", jax="jax.nn.softplus(a)",
                     javascript="(a>0?a:a<=0?0:a)+Math.log1p(Math.exp(-Math.abs(a)))", onnx=None,
                     scalar="log1p(exp(-abs(a)))+(a if a>0.0 else 0.0)")
RELU = _unary("relu", _relu_kernel, _relu_rule, numpy="np.maximum(a, 0)", jax="jax.nn.relu(a)",
              onnx=None, javascript="Math.max(a,0)", scalar="a if a>0.0 or a!=a else 0.0")
ERF = _function("erf", erf_kernel, lambda xp, g, out, x: g * (1.1283791670955126 * xp.exp(-x * x)),
                scalars=erf_of_scalars, numpy="_erf(a)", jax="lax.erf(a)", javascript="erf(a)",
                scalar="erf(a)")
SIGN = _unary("sign", np.sign, _flat, scalar="a if a!=a else float((a>0.0)-(a<0.0))")
FLOOR = _unary("floor", np.floor, _flat, scalar="copysign(floor(a),a)")
CEIL = _unary("ceil", np.ceil, _flat, scalar="copysign(ceil(a),a)")
ROUND = _unary("round", np.rint, _flat, numpy="np.rint(a)", javascript="roundHalfEven(a)",
               scalar="copysign(round(a),a)")
CLIP = _unary("clip", _clip_kernel, _clip_rule, numpy="np.clip(a, lo, hi)", torch="a.clamp(lo, hi)",
              jax="_clip(a, lo, hi)", onnx=None, javascript=None)
# fmt: on


class ElementwiseOps(BaseOps):
    """Arithmetic and elementwise functions; operands broadcast and promote."""

    __slots__ = ()

    def _arithmetic(
        self, primitive: Primitive, a: Operand, b: Operand, floats: bool = False
    ) -> Value:
        if a.__class__ is b.__class__ is Value and a.dtype == b.dtype and a.dtype in FLOATS:
            if not (a.weak or b.weak):  # there is nothing to promote
                return self.trace.apply(primitive, a, b)
        a, b, weak = self._promoted(a, b, floats=floats, numbers=True)
        return self.trace.apply(primitive, a, b, weak=weak)

    def _function(self, primitive: Primitive, x: Operand) -> Value:
        """A function of floats; integers become float32."""
        return self.trace.apply(primitive, self.as_float(x))

    def _numeric(self, primitive: Primitive, x: Operand) -> Value:
        """A function of numbers of any dtype; booleans become int64."""
        x = self._number(x)
        return self.trace.apply(primitive, x, weak=x.weak)

    def _rounding(self, primitive: Primitive, x: Operand) -> Value:
        """A function that leaves integers and booleans unchanged."""
        x = self._lift(x)
        return self.trace.apply(primitive, x, weak=x.weak) if x.dtype in FLOATS else x

    def add(self, a: Operand, b: Operand) -> Value:
        """``a + b``."""
        return self._arithmetic(ADD, a, b)

    def subtract(self, a: Operand, b: Operand) -> Value:
        """``a − b``."""
        return self._arithmetic(SUBTRACT, a, b)

    def multiply(self, a: Operand, b: Operand) -> Value:
        """``a · b``."""
        return self._arithmetic(MULTIPLY, a, b)

    def divide(self, a: Operand, b: Operand) -> Value:
        """``a / b``; integers become float32."""
        return self._arithmetic(DIVIDE, a, b, floats=True)

    def floor_divide(self, a: Operand, b: Operand) -> Value:
        """``⌊a/b⌋``, the quotient that goes with ``remainder``; connected, gradient 0.

        ±∞ or NaN for a float by 0; an integer by 0 fails when the diagram runs.
        """
        return self._arithmetic(FLOOR_DIVIDE, a, b)

    def remainder(self, a: Operand, b: Operand) -> Value:
        """``a − b·⌊a/b⌋`` exactly, with the sign of b; NaN for a float by 0.

        ``b`` itself where b is ±∞ and a has the other sign. An integer by 0 fails when the
        diagram runs. The gradient is 1 for a and ``−⌊a/b⌋`` for b: the jumps have none.
        """
        return self._arithmetic(REMAINDER, a, b)

    def power(self, a: Operand, b: Operand) -> Value:
        """``aᵇ``. A negative base with a fractional exponent is NaN.

        An integer to an integer power needs an exponent ≥ 0; a negative one raises DTypeError
        where it is static, else it fails when the diagram runs.
        """
        if b is not True and isinstance(b, int) and b == 2:
            return self.square(a)
        if isinstance(a, Value) and a.dtype not in FLOATS and isinstance(b, int) and b < 0:
            raise DTypeError(
                f"An integer ({a.dtype}) to the negative power {b} is not an integer.",
                next_step="Cast the base to a float.",
            )
        return self._arithmetic(POWER, a, b)

    def maximum(self, a: Operand, b: Operand) -> Value:
        """The larger, or NaN where a side is; a tie splits the gradient, NaN sends it to both."""
        return self._arithmetic(MAXIMUM, a, b)

    def minimum(self, a: Operand, b: Operand) -> Value:
        """The smaller, or NaN where a side is; see ``maximum`` for the gradient."""
        return self._arithmetic(MINIMUM, a, b)

    def arctan2(self, a: Operand, b: Operand) -> Value:
        """The angle of the point (b, a) in radians, −π to π; gradient 0 at the origin."""
        return self._arithmetic(ARCTAN2, a, b, floats=True)

    def negative(self, x: Operand) -> Value:
        """``−x``; unsigned integers wrap round."""
        return self._numeric(NEGATIVE, x)

    def abs(self, x: Operand) -> Value:
        """``|x|``; gradient 0 at 0."""
        return self._numeric(ABS, x)

    def square(self, x: Operand) -> Value:
        """``x²``."""
        return self._numeric(SQUARE, x)

    def sqrt(self, x: Operand) -> Value:
        """``√x``; NaN below 0, gradient ∞ at 0."""
        return self._function(SQRT, x)

    def exp(self, x: Operand) -> Value:
        """``eˣ``."""
        return self._function(EXP, x)

    def expm1(self, x: Operand) -> Value:
        """``eˣ − 1``, exact near 0."""
        return self._function(EXPM1, x)

    def log(self, x: Operand) -> Value:
        """Natural logarithm; −∞ at 0, NaN below."""
        return self._function(LOG, x)

    def log1p(self, x: Operand) -> Value:
        """``log(1 + x)``, exact near 0."""
        return self._function(LOG1P, x)

    def sin(self, x: Operand) -> Value:
        """Sine of x in radians."""
        return self._function(SIN, x)

    def cos(self, x: Operand) -> Value:
        """Cosine of x in radians."""
        return self._function(COS, x)

    def tan(self, x: Operand) -> Value:
        """Tangent of x in radians."""
        return self._function(TAN, x)

    def arcsin(self, x: Operand) -> Value:
        """Angle whose sine is x, −π/2 to π/2; NaN for ``|x| > 1``, gradient ∞ at ±1."""
        return self._function(ARCSIN, x)

    def arccos(self, x: Operand) -> Value:
        """Angle whose cosine is x, 0 to π; NaN for ``|x| > 1``, gradient −∞ at ±1."""
        return self._function(ARCCOS, x)

    def arctan(self, x: Operand) -> Value:
        """Angle whose tangent is x, −π/2 to π/2."""
        return self._function(ARCTAN, x)

    def sinh(self, x: Operand) -> Value:
        """Hyperbolic sine, ``(eˣ − e⁻ˣ)/2``, exact near 0."""
        return self._function(SINH, x)

    def cosh(self, x: Operand) -> Value:
        """Hyperbolic cosine, ``(eˣ + e⁻ˣ)/2``."""
        return self._function(COSH, x)

    def arcsinh(self, x: Operand) -> Value:
        """Number whose hyperbolic sine is x, exact near 0."""
        return self._function(ARCSINH, x)

    def arccosh(self, x: Operand) -> Value:
        """Number ≥ 0 whose hyperbolic cosine is x; NaN for x < 1, gradient ∞ at 1."""
        return self._function(ARCCOSH, x)

    def arctanh(self, x: Operand) -> Value:
        """Number whose hyperbolic tangent is x; ±∞ at ±1, NaN beyond."""
        return self._function(ARCTANH, x)

    def tanh(self, x: Operand) -> Value:
        """Hyperbolic tangent."""
        return self._function(TANH, x)

    def sigmoid(self, x: Operand) -> Value:
        """``1 / (1 + e⁻ˣ)``, stable for large ``|x|``."""
        return self._function(SIGMOID, x)

    def softplus(self, x: Operand) -> Value:
        """``log(1 + eˣ)``, stable for large ``|x|``."""
        return self._function(SOFTPLUS, x)

    def relu(self, x: Operand) -> Value:
        """``max(x, 0)``; gradient 0 at 0."""
        return self._numeric(RELU, x)

    def erf(self, x: Operand) -> Value:
        """The error function, to about one unit in the last place of float64."""
        return self._function(ERF, x)

    def sign(self, x: Operand) -> Value:
        """−1, 0 or 1; connected, gradient 0."""
        return self._numeric(SIGN, x)

    def floor(self, x: Operand) -> Value:
        """The integer at or below; connected, gradient 0."""
        return self._rounding(FLOOR, x)

    def ceil(self, x: Operand) -> Value:
        """The integer at or above; connected, gradient 0."""
        return self._rounding(CEIL, x)

    def round(self, x: Operand) -> Value:
        """To the nearest integer, half to even; connected, gradient 0."""
        return self._rounding(ROUND, x)

    def clip(self, x: Operand, lo: float | None = None, hi: float | None = None) -> Value:
        """``min(max(x, lo), hi)`` with static bounds; gradient 1 on the closed interval.

        A float bound turns integers into floats. Raises TraceError unless lo ≤ hi, and DTypeError
        for an integer bound that the dtype of x can't hold.
        """
        given = [bound for bound in (lo, hi) if bound is not None]
        if len(given) == 2 and not given[0] <= given[1]:
            raise TraceError("clip needs lo ≤ hi.", got=f"lo = {lo} and hi = {hi}")
        x = self._number(self.asarray(x))
        dtype, _ = common_dtype((x.dtype, False), *((scalar_dtype(b), True) for b in given))
        for bound in given:
            array_of(bound, dtype)
        return self.trace.apply(CLIP, self.astype(x, dtype), lo=lo, hi=hi) if given else x
