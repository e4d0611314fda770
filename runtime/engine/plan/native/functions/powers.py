"""Powers of float32 as instructions that vectorise, by float64 arithmetic.

Results are the float32 nearest to the exact power or a neighbour of it; zeros, infinities, negative
bases and NaN have the results that IEEE 754 requires, except that −0 to the power of ½ is −0, as in
numpy.

Source: the polynomials were fitted for the least relative error.
"""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native.writer import Arithmetic, rounded, widened

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.writer import Writer

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

_SHIFT = 1.5 * 2.0**52
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
    shifted = d.add(near, _SHIFT)
    r = d.subtract(near, d.subtract(shifted, _SHIFT))
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
