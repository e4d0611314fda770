"""Sine and cosine of float32 of any size as instructions: in float64, rounded once at the end.

Source: the polynomials were fitted for the least relative error.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.writer import Arithmetic, rounded, widened

if TYPE_CHECKING:
    from gradwire.runtime.engine.compiler.elements import ElementWriter

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
    shifted = d.call("fma", x, 2 / pi, _SHIFT)
    n = d.subtract(shifted, _SHIFT)
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
    count = d.add(d.add(nearest, more), _SHIFT)
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
