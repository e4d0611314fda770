"""Powers of float32 as instructions that vectorise, by float64 arithmetic.

Results are the float32 nearest to the exact power or a neighbour of it; zeros, infinities, negative
bases and NaN have the results that IEEE 754 requires, except that −0 to the power of ½ is −0, as in
numpy.

Source: the polynomials were fitted for the least relative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan

from gradwire.runtime.engine.plan.native.writer import Writer, number

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


def _c(x: float) -> str:
    return number(x, "float64")


def _single(x: float) -> str:
    return number(x, "float32")


def _fused(w: Writer, a: str, b: str, c: str) -> str:
    return w.call("fmuladd", "float64", a, b, c)


def _polynomial(w: Writer, x: str, coefficients: Sequence[float]) -> str:
    result = _c(coefficients[0])
    for coefficient in coefficients[1:]:
        result = _fused(w, result, x, _c(coefficient))
    return result


def _products(w: Writer, a: str, exponent: float) -> str:
    size = abs(exponent)
    if size in (0, 1, 2) and exponent >= 0:
        return _single(1) if size == 0 else a if size == 1 else w.put(f"fmul float {a}, {a}")
    if exponent == 0.5:
        return w.call("sqrt", "float32", a)
    x = w.put(f"fpext float {a} to double")
    found = _whole_power(w, x, int(size)) if size == int(size) else _half_power(w, x, int(size))
    if exponent < 0:
        found = w.put(f"fdiv double {_c(1)}, {found}")
    return w.put(f"fptrunc double {found} to float")


def _whole_power(w: Writer, x: str, n: int) -> str:
    """``xⁿ`` for 1 ≤ n ≤ 4."""
    square = w.put(f"fmul double {x}, {x}") if n > 1 else x
    return w.put(f"fmul double {square}, {x if n == 3 else square}") if n > 2 else square


def _half_power(w: Writer, x: str, n: int) -> str:
    """``xⁿ⁺½``, of −∞ as of ∞."""
    root = w.call("fabs", "float64", w.call("sqrt", "float64", x))
    root = w.choose(w.compare("oeq", "float64", x, _c(-inf)), "float64", _c(inf), root)
    if n == 0:
        return root
    return w.put(f"fmul double {root}, {_whole_power(w, w.call('fabs', 'float64', x), n)}")


def _general(w: Writer, a: str, b: str) -> str:
    size = w.call("fabs", "float32", a)
    wide = w.put(f"fpext float {b} to double")
    power = _exp2(w, w.put(f"fmul double {wide}, {_log2(w, size)}"))
    found = w.put(f"fptrunc double {power} to float")
    is_one = w.compare("oeq", "float32", size, _single(1))
    found = _signed(w, a, b, w.choose(is_one, "float32", _single(1), found))
    base, zeroth = (w.compare("oeq", "float32", x, _single(n)) for x, n in ((a, 1.0), (b, 0.0)))
    return w.choose(w.put(f"or i1 {base}, {zeroth}"), "float32", _single(1), found)


def _log2(w: Writer, size: str) -> str:
    """The logarithm of a float32 that is not negative, as float64."""
    x = w.put(f"fpext float {size} to double")
    bits = w.put(f"bitcast double {x} to i64")
    away = w.put(f"sub i64 {bits}, {_HALF_ROOT}")
    high = w.put(f"trunc i64 {w.put(f'ashr i64 {away}, 32')} to i32")
    k = w.put(f"sitofp i32 {w.put(f'ashr i32 {high}, 20')} to double")
    grown = w.put(f"and i64 {away}, {-(1 << 52)}")
    m = w.put(f"bitcast i64 {w.put(f'sub i64 {bits}, {grown}')} to double")
    above, below = (w.put(f"fadd double {m}, {_c(n)}") for n in (-1, 1))
    s = w.put(f"fdiv double {above}, {below}")
    found = _fused(w, _polynomial(w, w.put(f"fmul double {s}, {s}"), _LOG2), s, k)
    found = w.choose(w.compare("oeq", "float64", x, _c(0)), "float64", _c(-inf), found)
    return w.choose(w.compare("olt", "float64", x, _c(inf)), "float64", found, x)


def _exp2(w: Writer, y: str) -> str:
    """``2ʸ`` as float64, beyond ±300 as there."""
    near = w.choose(w.compare("ogt", "float64", y, _c(_FAR)), "float64", _c(_FAR), y)
    near = w.choose(w.compare("olt", "float64", near, _c(-_FAR)), "float64", _c(-_FAR), near)
    shifted = w.put(f"fadd double {near}, {_c(_SHIFT)}")
    r = w.put(f"fsub double {near}, {w.put(f'fsub double {shifted}, {_c(_SHIFT)}')}")
    bits = w.put(f"bitcast double {_polynomial(w, r, _EXP2)} to i64")
    n = w.put(f"shl i64 {w.put(f'bitcast double {shifted} to i64')}, 52")
    found = w.put(f"bitcast i64 {w.put(f'add i64 {bits}, {n}')} to double")
    return w.choose(w.compare("uno", "float64", y, y), "float64", y, found)


def _signed(w: Writer, a: str, b: str, size: str) -> str:
    """The power of ``a`` from that of ``|a|``: negative for odd exponents of a negative base, NaN
    for fractions as exponents, unless the base is infinite.
    """
    half = w.put(f"fmul float {b}, {_single(0.5)}")
    is_whole, is_even = (
        w.compare("oeq", "float32", w.call("floor", "float32", x), x) for x in (b, half)
    )
    is_odd = w.put(f"and i1 {is_whole}, {w.put(f'xor i1 {is_even}, true')}")
    is_minus = w.put(f"icmp slt i32 {w.put(f'bitcast float {a} to i32')}, 0")
    minus = w.put(f"fneg float {size}")
    found = w.choose(w.put(f"and i1 {is_odd}, {is_minus}"), "float32", minus, size)
    is_negative, is_finite = (
        w.compare(how, "float32", a, _single(x)) for how, x in (("olt", 0), ("ogt", -inf))
    )
    is_fraction = w.put(f"xor i1 {is_whole}, true")
    fails = w.put(f"and i1 {w.put(f'and i1 {is_negative}, {is_finite}')}, {is_fraction}")
    return w.choose(fails, "float32", _single(nan), found)
