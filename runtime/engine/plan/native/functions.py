"""Functions of float32 as instructions that vectorise: without branches and tables.

Error bounds in units in the last place of float32, where the result is a normal number: 2 for exp
and log, 3 for expm1, log1p, sigmoid and softplus, 6 for tanh and erf; 2 units of the smallest
subnormal number below it. Zeros, infinities and NaN have the results that IEEE 754 requires; tanh,
erf and sigmoid stay within their range and reach its ends where float32 does.

Sources: the polynomials of exp and log are Moshier's (Cephes); the quotients of tanh and erf were
fitted for the least relative error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

from runtime.engine.plan.native.writer import Writer, maximum, number

_SHIFT = 12582912.0
"""1.5·2²³: adding a number to it rounds the number to an integer, which is then in the low bits."""

_LN2 = 0.693359375, -2.12194440e-4
"""log 2 as a sum; products of the first term with small integers are exact."""

_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
        5.0000001201e-1)  # fmt: skip
"""Coefficients of (eˣ − 1 − x) / x² for |x| ≤ log(2)/2; here and below the highest power first."""

_LOG = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip
"""Coefficients of (log(1 + x) − x + x²/2) / x³ for √½ − 1 ≤ x ≤ √2 − 1."""

_TANH = 9.01, (
    (-8.46301923939502e-14, 5.268141825554018e-11, -2.020522771317701e-8, 1.1149448255309835e-5,
     3.10349534265697e-3, 0.13083598017692566, 1.0),
    (2.545471943449229e-4, 2.4493345990777016e-2, 0.4641692638397217, 1.0),
)  # fmt: skip
"""The number from which tanh is 1 in float32, and coefficients of tanh(x)/x: a quotient in x²."""

_ERF = 3.92, (
    (2.050124521701946e-6, 2.8487894451245666e-4, 3.7654340267181396e-3, 5.274816229939461e-2,
     0.19040215015411377, 1.1283791065216064),
    (3.809190457104705e-5, 1.162491855211556e-3, 1.4968850649893284e-2, 0.11410733312368393,
     0.502072274684906, 1.0),
)  # fmt: skip
"""The same for erf."""


def _c(x: float) -> str:
    return number(x, "float32")


class _Single:
    """Short names for instructions on float32."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer

    def add(self, a: str, b: str) -> str:
        return self.w.put(f"fadd float {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        return self.w.put(f"fsub float {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        return self.w.put(f"fmul float {a}, {b}")

    def divide(self, a: str, b: str) -> str:
        return self.w.put(f"fdiv float {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """``a·b + c``, rounded once if the machine has a fused multiply-add."""
        return self.w.call("fmuladd", "float32", a, b, c)

    def choose(self, predicate: str, a: str, b: str, then: str, other: str) -> str:
        return self.w.choose(self.w.compare(predicate, "float32", a, b), "float32", then, other)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        result = _c(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fused(result, x, _c(coefficient))
        return result

    def bits(self, x: str) -> str:
        return self.w.put(f"bitcast float {x} to i32")

    def single(self, bits: str) -> str:
        return self.w.put(f"bitcast i32 {bits} to float")

    def integer(self, instruction: str, a: str, b: int | str) -> str:
        return self.w.put(f"{instruction} i32 {a}, {b}")

    def between(self, x: str, low: float, high: float) -> str:
        """``x`` clipped to a range; NaN stays NaN."""
        x = self.choose("ogt", x, _c(high), _c(high), x)
        return self.choose("olt", x, _c(low), _c(low), x)

    def reduced(self, x: str) -> tuple[str, str]:
        """``r`` and n, in the low bits of a float, with ``n·log 2 + r = x`` and |r| ≤ log(2)/2."""
        shifted = self.fused(x, _c(1.44269504088896341), _c(_SHIFT))
        n = self.subtract(shifted, _c(_SHIFT))
        r = self.fused(n, _c(-_LN2[0]), x)
        return self.fused(n, _c(-_LN2[1]), r), shifted

    def small_exp(self, r: str) -> str:
        """``eʳ − 1``."""
        return self.fused(self.polynomial(r, _EXP), self.multiply(r, r), r)

    def exp(self, x: str) -> str:
        """``eˣ`` for x ≤ 88.72283, by adding n to the exponent of eʳ.

        Where the result may be subnormal, n + 32 is added, and the result divided by 2³². NaN stays
        NaN: the sum of its bits may be those of a number.
        """
        x = self.choose("olt", x, _c(-104), _c(-104), x)
        r, shifted = self.reduced(x)
        near_one = self.bits(self.add(self.small_exp(r), _c(1)))
        tiny = self.w.compare("olt", "float32", x, _c(-87))
        raised = self.integer(
            "add", self.bits(shifted), self.w.put(f"select i1 {tiny}, i32 32, i32 0")
        )
        found = self.single(self.integer("add", near_one, self.integer("shl", raised, 23)))
        found = self.multiply(found, self.w.choose(tiny, "float32", _c(2.0**-32), _c(1)))
        return self.choose("uno", x, x, x, found)

    def decaying(self, x: str) -> str:
        """``e⁻|ˣ|``."""
        size = self.w.call("fabs", "float32", x)
        return self.exp(self.w.put(f"fneg float {size}"))

    def log(self, x: str) -> str:
        """``log x`` for positive finite x, which is written as 2ᵏ·(1 + f) with f near 0."""
        tiny = self.w.compare("olt", "float32", x, _c(2.0**-126))
        normal = self.w.choose(tiny, "float32", self.multiply(x, _c(2.0**23)), x)
        bits = self.integer("sub", self.bits(normal), 0x3F3504F3)  # √½
        k = self.w.put(f"sitofp i32 {self.integer('ashr', bits, 23)} to float")
        k = self.add(k, self.w.choose(tiny, "float32", _c(-23), _c(0)))
        mantissa = self.integer("add", self.integer("and", bits, 0x007FFFFF), 0x3F3504F3)
        f = self.subtract(self.single(mantissa), _c(1))
        square = self.multiply(f, f)
        y = self.multiply(self.multiply(self.polynomial(f, _LOG), f), square)
        y = self.fused(k, _c(_LN2[1]), y)
        y = self.fused(square, _c(-0.5), y)
        return self.fused(k, _c(_LN2[0]), self.add(f, y))

    def log1p_of(self, x: str) -> str:
        """``log(1 + x)`` for finite x > −1, corrected for the rounding of 1 + x."""
        u = self.add(x, _c(1))
        lost = self.subtract(x, self.subtract(u, _c(1)))
        return self.add(self.log(u), self.divide(lost, u))

    def odd(self, x: str, fitted: tuple[float, tuple[Sequence[float], Sequence[float]]]) -> str:
        """An odd function with the limits ±1, as ``x·p(x²)/q(x²)``."""
        end, (top, bottom) = fitted
        held = self.between(x, -end, end)
        square = self.multiply(held, held)
        above = self.multiply(held, self.polynomial(square, top))
        found = self.between(self.divide(above, self.polynomial(square, bottom)), -1, 1)
        one = self.w.call("copysign", "float32", _c(1), x)
        return self.choose("oge", self.w.call("fabs", "float32", x), _c(end), one, found)


def _exp(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.exp(s.choose("ogt", x, _c(88.72283), _c(88.72283), x))
    return s.choose("ogt", x, _c(88.72283), _c(inf), found)


def _expm1(w: Writer, x: str) -> str:
    """``2ⁿ·(eʳ − 1) + (2ⁿ − 1)``, computed as twice its half so that 2ⁿ does not overflow."""
    s = _Single(w)
    r, shifted = s.reduced(s.between(x, -18, 88.72283))
    half = s.single(s.integer("add", s.integer("shl", s.bits(shifted), 23), (127 - 1) << 23))
    found = s.fused(half, s.small_exp(r), s.subtract(half, _c(0.5)))
    found = s.choose("ogt", x, _c(88.72283), _c(inf), s.add(found, found))
    return s.choose("oeq", x, _c(0), x, found)  # −0 stays −0


def _log(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.choose("oeq", x, _c(inf), x, s.log(x))
    found = s.choose("oeq", x, _c(0), _c(-inf), found)
    return s.choose("ult", x, _c(0), _c(nan), found)


def _log1p(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.choose("oeq", x, _c(inf), x, s.log1p_of(x))
    found = s.choose("oeq", x, _c(-1), _c(-inf), found)
    found = s.choose("oeq", x, _c(0), x, found)
    return s.choose("ult", x, _c(-1), _c(nan), found)


def _sigmoid(w: Writer, x: str) -> str:
    """``1/(1+e⁻ˣ)``, or ``eˣ/(1+eˣ)`` for negative x."""
    s = _Single(w)
    decay = s.decaying(x)
    top = s.choose("olt", x, _c(0), decay, _c(1))
    return s.divide(top, s.add(decay, _c(1)))


def _softplus(w: Writer, x: str) -> str:
    s = _Single(w)
    return s.add(maximum(w, "float32", x, _c(0)), s.log1p_of(s.decaying(x)))


FUNCTIONS: dict[str, Callable[[Writer, str], str]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "tanh": lambda w, x: _Single(w).odd(x, _TANH),
    "erf": lambda w, x: _Single(w).odd(x, _ERF),
}
"""Functions from float32 to float32, by primitive."""
