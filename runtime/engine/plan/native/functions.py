"""Functions of elements as instructions: exponentials, logarithms, sines and powers.

Every result of float32 is the float32 nearest to the exact number or a neighbour of it, so it is
nearer than those of numpy's kernels, of which log and expm1 are up to three off, and exp and log1p
two. Zeros, infinities and NaN have the results that IEEE 754 requires; tanh, erf and sigmoid stay
within their range and reach its ends where float32 does. On a processor without a fused
multiply-add some results are a float32 farther off.

They vectorise: without branches and tables, sines and powers by float64 arithmetic, rounded once at
the end. Zeros, infinities, negative bases and NaN to a power have the results that IEEE 754
requires, except that −0 to the power of ½ is −0, as in numpy. For AVX-512 some functions have
instructions of their own.

Sources: the polynomials of exp and log are Moshier's (Cephes); the others were fitted for the least
relative error.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, pi
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.kernels.erf import FAR_ERF, NEAR_ERF
from gradwire.runtime.engine.plan.native import avx512, machine
from gradwire.runtime.engine.plan.native.writer import (
    Arithmetic,
    Operand,
    Writer,
    maximum,
    rounded,
    widened,
)

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.elements import ElementWriter


LARGEST = 4.0
"""The largest exponent that is written as products; so are halves and negative ones."""

_LOG2 = (0.3407280096263328, 0.41167282683307127, 0.5770835832694716, 0.9617966733500818,
         2.88539008179008)  # fmt: skip
"""Coefficients of log₂(m) / s by s², where s = (m − 1)/(m + 1), for √½ ≤ m ≤ √2; here and below
the highest power first, with a relative error of 4e-12."""

_EXP2 = (1.52019184011e-05, 1.546929112811978e-4, 1.333392257641781e-3, 9.61802725369817e-3,
         5.550410353434996e-2, 0.2402265119815753, 0.6931471807284503,
         0.9999999999616824)  # fmt: skip
"""Coefficients of 2ʳ for |r| ≤ ½, with a relative error of 4e-11."""

_HALF_ROOT = 0x3FE6A09E667F3BCD
"""The bits of √½."""

_WIDE_SHIFT = 1.5 * 2.0**52
"""Adding a number to it rounds the number to an integer, which is then in the low bits."""

_FAR = 300.0
"""Beyond ±this, 2ʸ is no float32."""


def is_simple(exponent: float) -> bool:
    """Whether a power is a few products and roots: half of a small integer."""
    return abs(exponent) <= LARGEST and float(2 * exponent).is_integer()


def power(w: Writer, a: str, b: str, *, exponent: float | None = None) -> str:
    """``aᵇ`` of float32; ``exponent`` is that of all elements, if it is known and simple."""
    return _general(w, a, b) if exponent is None else _products(w, a, exponent)


def _products(w: Writer, a: str, exponent: float) -> str:
    size, s, d = abs(exponent), Arithmetic(w), Arithmetic(w, "float64")
    if size in (0, 1, 2) and exponent >= 0:
        return s.constant(1) if size == 0 else a if size == 1 else s.multiply(a, a)
    if exponent == 0.5:
        return s.call("sqrt", a)
    x = widened(w, a)
    found = _whole_power(d, x, int(size)) if size == int(size) else _half_power(d, x, int(size))
    return rounded(w, d.divide(1, found) if exponent < 0 else found)


def _whole_power(d: Arithmetic, x: str, n: int) -> str:
    """``xⁿ`` for 1 ≤ n ≤ 4."""
    square = d.multiply(x, x) if n > 1 else x
    return d.multiply(square, x if n == 3 else square) if n > 2 else square


def _half_power(d: Arithmetic, x: str, n: int) -> str:
    """``xⁿ⁺½``, of −∞ as of ∞."""
    root = d.choose("oeq", x, -inf, inf, d.size(d.call("sqrt", x)))
    return root if n == 0 else d.multiply(root, _whole_power(d, d.size(x), n))


def _general(w: Writer, a: str, b: str) -> str:
    s, d = Arithmetic(w), Arithmetic(w, "float64")
    size, wide = s.size(a), widened(w, b)
    found = rounded(w, _exp2(d, d.multiply(wide, _log2(d, widened(w, size)))))
    found = _signed(s, a, b, s.choose("oeq", size, 1, 1, found))
    is_one = w.put(f"or i1 {s.compare('oeq', a, 1)}, {s.compare('oeq', b, 0)}")
    return s.select(is_one, 1, found)


def _log2(d: Arithmetic, x: str) -> str:
    """The logarithm of a number that is not negative."""
    w, bits = d.w, d.bits(x)
    away = d.integer("sub", bits, _HALF_ROOT)
    high = w.put(f"trunc i64 {d.integer('ashr', away, 32)} to i32")
    k = w.put(f"sitofp i32 {w.put(f'ashr i32 {high}, 20')} to double")
    m = d.of_bits(d.integer("sub", bits, d.integer("and", away, -(1 << 52))))
    s = d.divide(d.add(m, -1), d.add(m, 1))
    found = d.fused(d.polynomial(d.multiply(s, s), _LOG2), s, k)
    return d.choose("olt", x, inf, d.choose("oeq", x, 0, -inf, found), x)


def _exp2(d: Arithmetic, y: str) -> str:
    """``2ʸ`` as float64, beyond ±300 as there."""
    near = d.at_least(d.at_most(y, _FAR), -_FAR)
    shifted = d.add(near, _WIDE_SHIFT)
    r = d.subtract(near, d.subtract(shifted, _WIDE_SHIFT))
    n = d.integer("shl", d.bits(shifted), 52)
    found = d.of_bits(d.integer("add", d.bits(d.polynomial(r, _EXP2)), n))
    return d.choose("uno", y, y, y, found)


def _signed(s: Arithmetic, a: str, b: str, size: str) -> str:
    """The power of ``a`` from that of ``|a|``: negative for odd exponents of a negative base, NaN
    for fractions as exponents, unless the base is infinite.
    """
    w, half = s.w, s.multiply(b, 0.5)
    is_whole, is_even = (s.compare("oeq", s.call("floor", x), x) for x in (b, half))
    is_odd = w.put(f"and i1 {is_whole}, {w.put(f'xor i1 {is_even}, true')}")
    is_minus = s.integer("icmp slt", s.bits(a), 0)
    found = s.select(w.put(f"and i1 {is_odd}, {is_minus}"), s.negative(size), size)
    is_negative, is_finite = s.compare("olt", a, 0), s.compare("ogt", a, -inf)
    is_fraction = w.put(f"xor i1 {is_whole}, true")
    fails = w.put(f"and i1 {w.put(f'and i1 {is_negative}, {is_finite}')}, {is_fraction}")
    return s.select(fails, nan, found)


_SIN = (2.7181141111800643e-06, -0.00019839311484609487, 0.008333329302414313,
        -0.16666666640776212, 1.0)  # fmt: skip
"""Coefficients of sin r / r in r² for |r| ≤ π/4, the highest power first."""

_COS = (2.438348269296827e-05, -0.0013886680749546944, 0.04166662032871368,
        -0.49999999694224495, 1.0)  # fmt: skip
"""Coefficients of cos r in r² for |r| ≤ π/4."""

_QUARTERS = (
    0x145F306D * 2.0**-29, 0x19391054 * 2.0**-58, 0x14FE13AB * 2.0**-87, 0x1D1F534D * 2.0**-116,
    0x1B81B6C5 * 2.0**-145, 0x15993C43 * 2.0**-176,
)  # fmt: skip
"""2/π as a sum of 29 bits each, so that products with a float32 are exact in float64."""

_REST = 6.123233995736766e-17
"""What the float64 nearest to π/2 lacks of it."""

NEAR = 2.0**26
"""The size up to which a few multiples of π/2 are subtracted without loss."""


def sine(e: ElementWriter, x: str) -> str:
    """``sin x``."""
    found = _sine(e, *_turned(e, x))
    return Arithmetic(e).choose("oeq", x, 0, x, found)  # −0 stays −0


def cosine(e: ElementWriter, x: str) -> str:
    """``cos x``."""
    r, n = _turned(e, x)
    return _sine(e, r, e.put(f"add i64 {n}, 1"))


def _turned(e: ElementWriter, x: str) -> tuple[str, str]:
    """``r`` and n in the low bits, with ``n·π/2 + r = x`` and |r| ≤ π/4, but for whole turns.

    NaN and infinities give NaN for r.
    """
    s, d, wide = Arithmetic(e), Arithmetic(e, "float64"), widened(e, x)
    if not machine.fuses():
        return _far(d, wide)
    is_far = s.compare("ogt", s.size(x), NEAR)
    r, n = e.if_any(is_far, ("double", "i64"), lambda: _far(d, wide), lambda: _near(d, wide))
    return r, n


def _near(d: Arithmetic, x: str) -> tuple[str, str]:
    """For x up to ``NEAR``."""
    shifted = d.call("fma", x, 2 / pi, _WIDE_SHIFT)
    n = d.subtract(shifted, _WIDE_SHIFT)
    return d.call("fma", n, -_REST, d.call("fma", n, -pi / 2, x)), d.bits(shifted)


def _far(d: Arithmetic, x: str) -> tuple[str, str]:
    """For x of any size; whole turns are dropped from each product with a part of 2/π, without
    rounding.
    """
    first, *others = [_within_turn(d, d.multiply(x, part)) for part in _QUARTERS]
    rest = others.pop()
    while others:
        rest = d.add(others.pop(), rest)
    nearest = d.call("rint", first)
    rest = d.add(d.subtract(first, nearest), rest)
    more = d.call("rint", rest)
    count = d.add(d.add(nearest, more), _WIDE_SHIFT)
    return d.multiply(d.subtract(rest, more), pi / 2), d.bits(count)


def _within_turn(d: Arithmetic, quarters: str) -> str:
    turns = d.call("rint", d.multiply(quarters, 0.25))
    return d.subtract(quarters, d.multiply(turns, 4.0))


def _sine(e: ElementWriter, r: str, n: str) -> str:
    """The sine of ``n·π/2 + r``, in float32."""
    d = Arithmetic(e, "float64")
    is_odd = e.put(f"icmp ne i64 {d.integer('and', n, 1)}, 0")
    terms = [
        d.constant(odd) if odd == even else d.select(is_odd, odd, even)
        for even, odd in zip(_SIN, _COS, strict=True)
    ]
    found = d.multiply(d.polynomial(d.multiply(r, r), terms), d.select(is_odd, 1, r))
    sign = d.integer("shl", d.integer("and", n, 2), 62)
    return rounded(e, d.of_bits(d.integer("xor", d.bits(found), sign)))


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
