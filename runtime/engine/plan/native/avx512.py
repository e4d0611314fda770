"""Functions of sixteen float32 for AVX-512: with tables in registers, and without divisions.

These are beside the functions for any width, ``singles``, since they take less time: in loops for
Ice Lake, by llvm-mca, exp and tanh two thirds, sigmoid four fifths. Of whole works that matters
where little else is computed: a chain of operations on a large array, with a sigmoid for each tanh,
takes seven tenths. Others such as log and erf would gain as much, and no work more than a tenth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.engine.plan.native.writer import Arithmetic

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


LANES = 16
"""float32 in a register."""

_SINGLES, _BITS = "<16 x float>", "<16 x i32>"
_MASK = "i16", "-1"
"""All elements."""

_LOG2 = 0.693359375, -2.12194440e-4
"""log 2 as a sum; products of the first term with small multiples of 1/16 are exact."""

_ROUNDING = 786432.0
"""1.5·2¹⁹: a number added to it is rounded to sixteenths, which are then in the low bits."""


FAR = 9.5
"""The size from which on tanh is 1."""

NEAR_BITS, SHIFT = 0x3D800000, 21
"""Pieces of tanh begin at 1/16, whose bits these are, and go on at each quarter of a power of two:
the exponent and two bits of the mantissa, which are the lowest once the others are shifted out.
"""

_DEGREE = 5
"""Of the polynomials of tanh."""


class Registers(Arithmetic):
    """Instructions that only these registers have; and parts of functions."""

    def _whole(self, name: str, *operands: tuple[str, str]) -> str:
        """Call a function of registers, given the types of operands: what is said of an element
        otherwise is said of all here.
        """
        kinds = ", ".join(kind for kind, _ in operands)
        named = f"{_SINGLES} @llvm.x86.avx512.{name}"
        call = f"call {named}({', '.join(map(' '.join, operands))})"
        return self.w.put(f"declare {named}({kinds})\n{call}")

    def scaled(self, x: str, n: str) -> str:
        """``2ᵏ·x``, where k is n rounded down; subnormal and infinite where it must be."""
        zeros = _SINGLES, "zeroinitializer"
        operands = (_SINGLES, x), (_SINGLES, n), zeros, _MASK, ("i32", "4")
        return self._whole("mask.scalef.ps.512", *operands)

    def reciprocal(self, x: str) -> str:
        """``1 / x`` with a relative error below 2⁻¹⁴."""
        return self._whole("rcp14.ps.512", (_SINGLES, x), (_SINGLES, "zeroinitializer"), _MASK)

    def look_up(self, row: Any, at: str) -> str:
        """The elements of a table of 16 or 32 at the low bits of ``at``."""
        first, *second = (
            (
                _SINGLES,
                f"<{', '.join(f'float {self.constant(float(x))}' for x in row[i : i + LANES])}>",
            )
            for i in range(0, len(row), LANES)
        )
        if not second:
            return self._whole("permvar.sf.512", first, (_BITS, at))
        return self._whole("vpermi2var.ps.512", first, (_BITS, at), *second)

    def split_exp(self, x: str) -> tuple[str, str, str]:
        """``T``, L and n with ``eˣ = 2ᵏ·(T + L)``, where k is n rounded down and |L| < T/32."""
        powers, rest, (square, cube) = _exp_table()
        shifted = self.fused(x, 1 / log(2), _ROUNDING)
        n = self.subtract(shifted, _ROUNDING)
        at = self.bits(shifted)
        r = self.fused(n, -_LOG2[0], x)
        r = self.fused(n, -_LOG2[1], r)
        small = self.fused(self.fused(r, cube, square), self.multiply(r, r), r)
        high = self.look_up(powers, at)
        return high, self.fused(high, small, self.look_up(rest, at)), n


@cache
def _exp_table() -> tuple[Any, Any, tuple[float, float]]:
    """``2^(j/16)`` as sums of two float32, and c₂, c₃ of ``eʳ ≈ 1 + r + c₂r² + c₃r³`` between."""
    exact = 2.0 ** (np.arange(16) / 16)
    near = exact.astype(np.float32)
    r = np.cos(np.pi * (np.arange(16) + 0.5) / 16) * log(2) / 32
    wanted = (np.expm1(r) - r) / r**2
    cube, square = np.polyfit(r, wanted, 1, w=r**2)
    return near, exact - near, (float(square), float(cube))


def _exp(s: Registers, x: str) -> str:
    high, low, n = s.split_exp(s.at_least(s.at_most(x, 89), -104))
    return s.scaled(s.add(high, low), n)


def _sigmoid(s: Registers, x: str) -> str:
    """``d/(1+d)`` with d = e⁻ˣ for x ≥ 0, subtracted from 1; for others with −x in place of x.

    A product with a rough reciprocal of 1 + d is corrected by what it leaves of d.
    """
    high, low, n = s.split_exp(s.at_least(s.negative(s.size(x)), -104))
    near_one = s.add(high, low)
    decay = s.scaled(near_one, n)
    below = s.add(decay, 1)
    lost = s.subtract(decay, s.subtract(below, 1))
    near = s.reciprocal(below)
    share = s.multiply(near_one, near)
    minus = s.negative(share)
    rest = s.fused(minus, lost, s.add(s.fused(minus, below, high), low))
    found = s.scaled(s.fused(rest, near, share), n)
    is_negative = s.integer("icmp slt", s.bits(x), 0)
    return s.select(is_negative, found, s.subtract(1, found))


def _tanh(s: Registers, x: str) -> str:
    """``y + t·p(t)`` with the sign of x, where t is the way of |x| from the centre of a piece."""
    centres, values, coefficients = tanh_table()
    size = s.at_most(s.size(x), FAR)
    bits = s.w.put(f"call i32 @llvm.smax.i32(i32 {s.bits(size)}, i32 {NEAR_BITS})")
    at = s.integer("lshr", bits, SHIFT)
    away = s.subtract(size, s.look_up(centres, at))
    slope = s.look_up(coefficients[-1], at)
    for row in reversed(coefficients[:-1]):
        slope = s.fused(slope, away, s.look_up(row, at))
    return s.with_sign_of(s.fused(slope, away, s.look_up(values, at)), x)


@cache
def tanh_table() -> tuple[Array, Array, Array]:
    """The centres of 32 pieces, what tanh is there, and the coefficients of p, the constant one
    first; all float32, in the order of the low bits of ``max(bits of |x|, NEAR_BITS) >> SHIFT``.

    In the piece at 0 the centre is 0, so that the relative error stays small. Each other centre is
    a number near the middle at which tanh is nearly a float32.
    """
    steps = np.arange(1, 33)
    ends = 2.0 ** (steps // 4 - 4) * (1 + steps % 4 / 4)
    starts = np.concatenate([[0.0], ends[:-1]])
    share = np.linspace(0.45, 0.55, 128)
    near = (starts[:, None] + share * (ends - starts)[:, None]).astype(np.float32)
    exact = np.tanh(near.astype(np.float64))
    singles = exact.astype(np.float32)
    off = np.abs(exact - singles) / np.spacing(singles)
    centres = np.take_along_axis(near, off.argmin(1)[:, None], axis=1)[:, 0].astype(np.float64)
    centres[0] = 0
    values = np.tanh(centres)
    widths = np.maximum(ends - centres, centres - starts)[:, None]
    nodes = np.cos(np.pi * (np.arange(16) + 0.5) / 16)
    away = nodes * widths
    wanted = (np.tanh(centres[:, None] + away) - values[:, None]) / away
    weights = np.abs(nodes)
    powers = weights[:, None] * np.vander(nodes, _DEGREE, increasing=True)
    fitted = (weights * wanted) @ np.linalg.pinv(powers).T / widths ** np.arange(_DEGREE)
    first = (NEAR_BITS >> SHIFT) % 32
    rows = [np.roll(x, first).astype(np.float32) for x in (centres, values, *fitted.T)]
    return rows[0], rows[1], np.array(rows[2:])


FUNCTIONS: dict[str, Callable[[Registers, str], str]] = {
    "exp": _exp,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
}
"""The instructions for a function of sixteen elements, by primitive."""
