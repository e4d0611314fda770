"""Functions of float32 as instructions that vectorise: without branches and tables.

For AVX-512 some of them have instructions of their own.

Sources: the polynomials of exp and log are Moshier's (Cephes); those of tanh and erf were fitted
for the least relative error.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

from gradwire.runtime.calculus.kernels.erf import FAR_ERF, NEAR_ERF
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.functions import avx512
from gradwire.runtime.engine.plan.native.functions.powers import power
from gradwire.runtime.engine.plan.native.functions.sines import cosine, sine
from gradwire.runtime.engine.plan.native.writer import Arithmetic, Operand, Writer, maximum

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

_SMALL_TANH = 0.85, (1.4401738299056888e-3, -7.14281527325511e-3, 2.1121082827448845e-2,
                     -5.379645898938179e-2, 0.13331478834152222,
                     -0.3333326578140259)  # fmt: skip
"""The number up to which tanh is ``x + x³·p(x²)``, and the coefficients of p."""


class _Single(Arithmetic):
    """Parts of functions."""

    def reduced(self, x: str) -> tuple[str, str]:
        """``r`` and n, in the low bits of a float, with ``n·log 2 + r = x`` and |r| ≤ log(2)/2."""
        shifted = self.fused(x, 1.44269504088896341, _SHIFT)
        n = self.subtract(shifted, _SHIFT)
        r = self.fused(n, -_LN2[0], x)
        return self.fused(n, -_LN2[1], r), shifted

    def small_exp(self, r: str) -> str:
        """``eʳ − 1``."""
        return self.fused(self.polynomial(r, _EXP), self.multiply(r, r), r)

    def split_exp(self, x: str) -> tuple[str, str, str]:
        """``eʳ``, what its rounding lost, and n as in ``reduced``: ``eˣ = 2ⁿ·eʳ``."""
        r, n = self.reduced(x)
        small = self.small_exp(r)
        near_one = self.add(small, 1)
        return near_one, self.subtract(small, self.subtract(near_one, 1)), n

    def raised(self, x: str, n: str) -> str:
        """``2ⁿ·x`` for normal numbers, by adding n to the exponent; n is in the low bits."""
        return self.of_bits(self.integer("add", self.bits(x), self.integer("shl", n, 23)))

    def normal_exp(self, x: str) -> str:
        """``eˣ`` where that is a normal number."""
        near_one, _, n = self.split_exp(x)
        return self.raised(near_one, self.bits(n))

    def exp(self, x: str) -> str:
        """``eˣ`` for x ≤ 88.72283.

        Where the result may be subnormal, n + 32 is added, and the result divided by 2³². NaN stays
        NaN: the sum of its bits may be those of a number.
        """
        x = self.at_least(x, -104)
        near_one, _, n = self.split_exp(x)
        tiny = self.compare("olt", x, -87)
        more = self.w.put(f"select i1 {tiny}, i32 32, i32 0")
        found = self.raised(near_one, self.integer("add", self.bits(n), more))
        found = self.multiply(found, self.select(tiny, 2.0**-32, 1))
        return self.choose("uno", x, x, x, found)

    def decaying(self, x: str) -> tuple[str, str, str]:
        """``e⁻ˣ`` for x ≥ 0 as a product: of a float32 and what its rounding lost, and of a unit.

        The unit is 1, or 2⁻³² where the product may be subnormal.
        """
        near_one, lost, n = self.split_exp(self.negative(self.at_most(x, 104)))
        tiny = self.compare("ogt", x, 87)
        bias = self.w.put(f"select i1 {tiny}, i32 {127 + 32}, i32 127")
        power = self.of_bits(self.integer("shl", self.integer("add", self.bits(n), bias), 23))
        unit = self.select(tiny, 2.0**-32, 1)
        return self.multiply(near_one, power), self.multiply(lost, power), unit

    def logistic(self, x: str) -> str:
        """``1/(1+eˣ)`` for x ≥ 0: the quotient d/(1+d), where d = e⁻ˣ, corrected for roundings.

        The correction is what the quotient times 1+d leaves of d, divided by 1+d; and 1/(1+d) is
        1 − d/(1+d).
        """
        decay, more, unit = self.decaying(x)
        below = self.add(decay, 1)
        lost = self.subtract(decay, self.subtract(below, 1))
        found = self.divide(decay, below)
        minus = self.negative(found)
        share = self.subtract(1, found)
        rest = self.fused(minus, lost, self.fused(minus, below, decay))
        found = self.fused(self.fused(more, share, rest), share, found)
        return self.multiply(found, unit)

    def log(self, x: str, more: Operand = -0.0) -> str:
        """``log x + more`` for positive finite x, which is written as 2ᵏ·(1 + f) with f near 0."""
        tiny = self.compare("olt", x, 2.0**-126)
        normal = self.select(tiny, self.multiply(x, 2.0**23), x)
        bits = self.integer("sub", self.bits(normal), 0x3F3504F3)  # √½
        k = self.w.put(f"sitofp i32 {self.integer('ashr', bits, 23)} to float")
        k = self.add(k, self.select(tiny, -23, 0))
        mantissa = self.integer("add", self.integer("and", bits, 0x007FFFFF), 0x3F3504F3)
        f = self.subtract(self.of_bits(mantissa), 1)
        square = self.multiply(f, f)
        y = self.multiply(self.multiply(self.polynomial(f, _LOG), f), square)
        y = self.fused(k, _LN2[1], self.add(y, more))
        y = self.fused(square, -0.5, y)
        return self.fused(k, _LN2[0], self.add(f, y))

    def log1p_of(self, x: str, more: Operand = -0.0) -> str:
        """``log(1 + x + more)`` for finite x > −1, corrected for the rounding of 1 + x.

        ``more`` must be far smaller than x.
        """
        u = self.add(x, 1)
        lost = self.subtract(x, self.subtract(u, 1))
        return self.log(u, self.divide(self.add(lost, more), u))

    def odd(self, x: str, border: float, near: str, far: str) -> str:
        """``near`` up to the border, else ``far``, with the sign of x, also where x is 0."""
        found = self.choose("ogt", self.size(x), border, far, near)
        return self.with_sign_of(found, x)


def _exp(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.exp(s.at_most(x, 88.72283))
    return s.choose("ogt", x, 88.72283, inf, found)


def _decay(w: Writer, x: str) -> str:
    s = _Single(w)
    far = s.compare("olt", x, -87)
    near_one, _, n = s.split_exp(s.select(far, -87, x))
    power = s.of_bits(s.integer("shl", s.integer("add", s.bits(n), 127), 23))
    return s.select(far, 0, s.multiply(near_one, power))


def _expm1(w: Writer, x: str) -> str:
    """``2ⁿ·(eʳ − 1) + (2ⁿ − 1)``, computed as twice its half so that 2ⁿ does not overflow."""
    s = _Single(w)
    r, shifted = s.reduced(s.at_least(s.at_most(x, 88.72283), -18))
    half = s.of_bits(s.integer("add", s.integer("shl", s.bits(shifted), 23), (127 - 1) << 23))
    found = s.fused(half, s.small_exp(r), s.subtract(half, 0.5))
    found = s.choose("ogt", x, 88.72283, inf, s.add(found, found))
    return s.choose("oeq", x, 0, x, found)  # −0 stays −0


def _log(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.choose("oeq", x, inf, x, s.log(x))
    found = s.choose("oeq", x, 0, -inf, found)
    return s.choose("ult", x, 0, nan, found)


def _log1p(w: Writer, x: str) -> str:
    s = _Single(w)
    found = s.choose("oeq", x, inf, x, s.log1p_of(x))
    found = s.choose("oeq", x, -1, -inf, found)
    found = s.choose("oeq", x, 0, x, found)
    return s.choose("ult", x, -1, nan, found)


def _sigmoid(w: Writer, x: str) -> str:
    """``1/(1+e⁻ˣ)``; for positive x 1 − sigmoid(−x)."""
    s = _Single(w)
    below = s.logistic(s.size(x))
    return s.choose("olt", x, 0, below, s.subtract(1, below))


def _softplus(w: Writer, x: str) -> str:
    s = _Single(w)
    decay, more, unit = s.decaying(s.size(x))
    near = s.log1p_of(*(s.multiply(part, unit) for part in (decay, more)))
    return s.add(maximum(w, "float32", x, s.constant(0)), near)


def _tanh(w: Writer, x: str) -> str:
    """``1 − 2/(1+e²ˣ)``; a polynomial near 0."""
    s = _Single(w)
    border, coefficients = _SMALL_TANH
    square = s.multiply(x, x)
    near = s.fused(s.multiply(s.polynomial(square, coefficients), square), x, x)
    size = s.at_most(s.size(x), 9.1)
    grown = s.normal_exp(s.add(size, size))
    far = s.add(s.divide(-2, s.add(grown, 1)), 1)
    return s.odd(x, border, near, far)


def _erf(w: Writer, x: str) -> str:
    """``1 − exp(x·p(x) − x)``; a polynomial near 0."""
    s = _Single(w)
    border, coefficients = NEAR_ERF
    near = s.fused(s.polynomial(s.multiply(x, x), coefficients), x, x)
    size = s.at_most(s.size(x), 4)
    minus = s.negative(size)
    log = s.fused(s.polynomial(size, FAR_ERF), size, minus)
    far = s.subtract(1, s.normal_exp(log))
    return s.odd(x, border, near, far)


def _by_register(name: str, otherwise: Callable[[Writer, str], str]) -> Callable[..., str]:
    """The function for AVX-512 on a machine that has it."""
    own = avx512.FUNCTIONS[name]

    def emit(w: Writer, x: str) -> str:
        if machine.lanes() == avx512.LANES:
            return own(avx512.Registers(w), x)
        return otherwise(w, x)

    return emit


decay = _by_register("exp", _decay)
"""``eˣ`` for x ≤ 0, where results that are no normal numbers may be 0; NaN stays NaN."""

FUNCTIONS: dict[str, Callable[..., str]] = {
    "exp": _by_register("exp", _exp),
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "sigmoid": _by_register("sigmoid", _sigmoid),
    "softplus": _softplus,
    "tanh": _by_register("tanh", _tanh),
    "erf": _erf,
    "sin": sine,
    "cos": cosine,
    "power": power,
}
"""Functions of float32 that return float32, by primitive."""
