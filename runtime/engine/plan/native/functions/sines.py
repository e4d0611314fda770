"""Sine and cosine of float32 of any size as instructions: in float64, rounded once at the end.

Source: the polynomials were fitted for the least relative error.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.writer import number

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.elements import Elements

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

_SHIFT = 1.5 * 2.0**52
"""Adding a number to it rounds the number to an integer, which is then in the low bits."""

NEAR = 2.0**26
"""The size up to which a few multiples of π/2 are subtracted without loss."""


def sine(e: Elements, x: str) -> str:
    """``sin x``."""
    found = _sine(e, *_turned(e, x))
    is_zero = e.compare("oeq", "float32", x, number(0, "float32"))
    return e.choose(is_zero, "float32", x, found)  # −0 stays −0


def cosine(e: Elements, x: str) -> str:
    """``cos x``."""
    r, n = _turned(e, x)
    return _sine(e, r, e.put(f"add i64 {n}, 1"))


def _turned(e: Elements, x: str) -> tuple[str, str]:
    """``r`` and n in the low bits, with ``n·π/2 + r = x`` and |r| ≤ π/4, but for whole turns.

    NaN and infinities give NaN for r.
    """
    wide = e.put(f"fpext float {x} to double")
    if not machine.fuses():
        return _far(e, wide)
    is_far = e.compare("ogt", "float32", e.call("fabs", "float32", x), number(NEAR, "float32"))
    r, n = e.if_any(is_far, ("double", "i64"), lambda: _far(e, wide), lambda: _near(e, wide))
    return r, n


def _do(e: Elements, instruction: str, a: str, b: str | float) -> str:
    return e.put(f"{instruction} double {a}, {b if isinstance(b, str) else _c(b)}")


def _c(x: float) -> str:
    return number(x, "float64")


def _bits(e: Elements, x: str) -> str:
    return e.put(f"bitcast double {x} to i64")


def _near(e: Elements, x: str) -> tuple[str, str]:
    """For x up to ``NEAR``."""
    shifted = e.call("fma", "float64", x, _c(2 / pi), _c(_SHIFT))
    n = _do(e, "fsub", shifted, _SHIFT)
    r = e.call("fma", "float64", n, _c(-pi / 2), x)
    return e.call("fma", "float64", n, _c(-_REST), r), _bits(e, shifted)


def _far(e: Elements, x: str) -> tuple[str, str]:
    """For x of any size; whole turns are dropped from each product with a part of 2/π, without
    rounding.
    """
    first, *others = [_within_turn(e, _do(e, "fmul", x, part)) for part in _QUARTERS]
    rest = others.pop()
    while others:
        rest = _do(e, "fadd", others.pop(), rest)
    nearest = e.call("rint", "float64", first)
    rest = _do(e, "fadd", _do(e, "fsub", first, nearest), rest)
    more = e.call("rint", "float64", rest)
    count = _do(e, "fadd", _do(e, "fadd", nearest, more), _SHIFT)
    return _do(e, "fmul", _do(e, "fsub", rest, more), pi / 2), _bits(e, count)


def _within_turn(e: Elements, quarters: str) -> str:
    turns = e.call("rint", "float64", _do(e, "fmul", quarters, 0.25))
    return _do(e, "fsub", quarters, _do(e, "fmul", turns, 4.0))


def _sine(e: Elements, r: str, n: str) -> str:
    """The sine of ``n·π/2 + r``, in float32."""
    is_odd = e.put(f"icmp ne i64 {e.put(f'and i64 {n}, 1')}, 0")
    square = _do(e, "fmul", r, r)
    found = ""
    for even, odd in zip(_SIN, _COS, strict=True):
        term = _c(odd) if odd == even else e.choose(is_odd, "float64", _c(odd), _c(even))
        found = e.call("fmuladd", "float64", found, square, term) if found else term
    found = _do(e, "fmul", found, e.choose(is_odd, "float64", _c(1), r))
    sign = e.put(f"shl i64 {e.put(f'and i64 {n}, 2')}, 62")
    bits = e.put(f"xor i64 {_bits(e, found)}, {sign}")
    return e.put(f"fptrunc double {e.put(f'bitcast i64 {bits} to double')} to float")
