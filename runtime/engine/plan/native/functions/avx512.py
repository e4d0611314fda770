"""Functions of sixteen float32 for AVX-512: with tables in registers, and without divisions.

These are beside the functions for any width, ``singles``, since they take less time: in loops for
Ice Lake, by llvm-mca, exp, log, log1p and tanh two thirds, erf three quarters, sigmoid four fifths,
softplus nine tenths; a chain of operations on a large array, with a sigmoid for each tanh, takes
seven tenths.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log
from typing import Any

import numpy as np

from gradwire.runtime.calculus.kernels.erf import erf_kernel
from gradwire.runtime.engine.plan.native.functions.arithmetic import Single, constant
from gradwire.runtime.engine.plan.native.functions.piecewise import SHIFT, Pieces, pieces

LANES = 16
"""float32 in a register."""

_SINGLES, _BITS = "<16 x float>", "<16 x i32>"
_MASK, _ROUND = ("i16", "-1"), ("i32", "4")
"""All elements; and the rounding that there is."""

_LOG2 = 0.693359375, -2.12194440e-4
"""log 2 as a sum; products of the first term with small multiples of 1/16 are exact."""

_LOG_EDGES = 0x03530422
"""Of log, by kinds of numbers, four bits each: NaN as it is, −∞ of 0, ∞ of ∞, NaN below 0."""

_ROUNDING = 786432.0
"""1.5·2¹⁹: a number added to it is rounded to sixteenths, which are then in the low bits."""


class Registers(Single):
    """Instructions that only these registers have; and parts of functions."""

    def _whole(self, name: str, *operands: tuple[str, str]) -> str:
        """Call a function of registers, given the types of operands: what is said of an element
        otherwise is said of all here.
        """
        kinds = ", ".join(kind for kind, _ in operands)
        named = f"{_SINGLES} @llvm.x86.avx512.{name}"
        call = f"call {named}({', '.join(map(' '.join, operands))})"
        return self.w.put(f"declare {named}({kinds})\n{call}")

    def _masked(self, name: str, *operands: tuple[str, str]) -> str:
        zeros = _SINGLES, "zeroinitializer"
        return self._whole(f"mask.{name}.ps.512", *operands, zeros, _MASK, _ROUND)

    def scaled(self, x: str, n: str) -> str:
        """``2ᵏ·x``, where k is n rounded down; subnormal and infinite where it must be."""
        return self._masked("scalef", (_SINGLES, x), (_SINGLES, n))

    def reciprocal(self, x: str) -> str:
        """``1 / x`` with a relative error below 2⁻¹⁴."""
        return self._whole("rcp14.ps.512", (_SINGLES, x), (_SINGLES, "zeroinitializer"), _MASK)

    def exponent(self, x: str) -> str:
        """K with ``|x| = 2ᵏ·m`` and 1 ≤ m < 2."""
        return self._masked("getexp", (_SINGLES, x))

    def mantissa(self, x: str) -> str:
        """M of ``exponent``."""
        return self._masked("getmant", (_SINGLES, x), ("i32", "0"))

    def with_edges(self, found: str, x: str, edges: int) -> str:
        """What was found, except where x is of a kind that has a result of its own."""
        table = _BITS, f"splat (i32 {edges})"
        operands = (_SINGLES, found), (_SINGLES, x), table, ("i32", "0"), _MASK, _ROUND
        return self._whole("mask.fixupimm.ps.512", *operands)

    def look_up(self, row: Any, at: str) -> str:
        """The elements of a table of 16 or 32 at the low bits of ``at``."""
        first, *second = (
            (_SINGLES, f"<{', '.join(f'float {constant(x)}' for x in row[i : i + LANES])}>")
            for i in range(0, len(row), LANES)
        )
        if not second:
            return self._whole("permvar.sf.512", first, (_BITS, at))
        return self._whole("vpermi2var.ps.512", first, (_BITS, at), *second)

    def log(self, x: str, lost: str = "") -> str:
        """``log(x + lost)``, where ``lost`` is far smaller than x.

        With x = 2ᵏ·m and c near 1/m it is ``k·log 2 − log c + log(1 + r)``, r = c·m − 1.
        """
        reciprocals, high, low, coefficients = _log_table()
        k, m = self.exponent(x), self.mantissa(x)
        at = self.integer("lshr", self.bits(m), 18)
        c = self.look_up(reciprocals, at)
        r = self.fused(m, c, constant(-1))
        if lost:
            r = self.fused(self.scaled(lost, self.negative(k)), c, r)
        rest = constant(coefficients[0])
        for coefficient in coefficients[1:]:
            rest = self.fused(rest, r, constant(coefficient))
        small = self.fused(k, constant(_LOG2[1]), self.look_up(low, at))
        small = self.fused(self.multiply(r, r), rest, small)
        large = self.fused(k, constant(_LOG2[0]), self.look_up(high, at))
        return self.with_edges(self.add(large, self.add(r, small)), x, _LOG_EDGES)

    def split_exp(self, x: str) -> tuple[str, str, str]:
        """``T``, L and n with ``eˣ = 2ᵏ·(T + L)``, where k is n rounded down and |L| < T/32."""
        powers, rest, (square, cube) = _exp_table()
        shifted = self.fused(x, constant(1 / log(2)), constant(_ROUNDING))
        n = self.subtract(shifted, constant(_ROUNDING))
        at = self.bits(shifted)
        r = self.fused(n, constant(-_LOG2[0]), x)
        r = self.fused(n, constant(-_LOG2[1]), r)
        small = self.fused(self.fused(r, constant(cube), constant(square)), self.multiply(r, r), r)
        high = self.look_up(powers, at)
        return high, self.fused(high, small, self.look_up(rest, at)), n

    def odd(self, x: str, table: Pieces) -> str:
        """An odd function of x that is given by polynomials between 0 and a limit."""
        size = self.at_most(self.size(x), table.limit)
        bits = self.w.put(f"call i32 @llvm.smax.i32(i32 {self.bits(size)}, i32 {table.first_bits})")
        at = self.integer("lshr", bits, SHIFT)
        away = self.subtract(size, self.look_up(table.centres, at))
        slope = self.look_up(table.coefficients[-1], at)
        for row in reversed(table.coefficients[:-1]):
            slope = self.fused(slope, away, self.look_up(row, at))
        value = self.look_up(table.values, at)
        if table.own:
            value = self.choose("olt", size, constant(table.own), size, value)
        return self.with_sign_of(self.fused(slope, away, value), x)


@cache
def _exp_table() -> tuple[Any, Any, tuple[float, float]]:
    """``2^(j/16)`` as sums of two float32, and c₂, c₃ of ``eʳ ≈ 1 + r + c₂r² + c₃r³`` between."""
    exact = 2.0 ** (np.arange(16) / 16)
    near = exact.astype(np.float32)
    r = np.cos(np.pi * (np.arange(16) + 0.5) / 16) * log(2) / 32
    wanted = (np.expm1(r) - r) / r**2
    cube, square = np.polyfit(r, wanted, 1, w=r**2)
    return near, exact - near, (float(square), float(cube))


@cache
def _log_table() -> tuple[Any, Any, Any, list[float]]:
    """Numbers c near 1/m on 32 intervals from 1 to 2, −log c as sums of two float32, of which the
    first are short, and coefficients of ``(log(1 + r) − r) / r²``, the highest power first.

    Next to 1 and 2 they are 1 and 1/2, so that all terms but r's vanish where x is near 1.
    """
    c = (1 / (1 + (np.arange(32) + 0.5) / 32)).astype(np.float32).astype(np.float64)
    c[0], c[-1] = 1, 0.5
    exact = -np.log(c)
    high = np.round(exact * 2**12) / 2**12
    high[-1] = _LOG2[0]
    low = exact - high
    low[-1] = _LOG2[1]
    r = (np.cos(np.pi * (np.arange(32) + 0.5) / 32) * 1.5 + 0.5) / 64
    return c, high, low, np.polyfit(r, (np.log1p(r) - r) / r**2, 3, w=np.abs(r)).tolist()


def _exp(s: Registers, x: str) -> str:
    high, low, n = s.split_exp(s.at_least(s.at_most(x, 89), -104))
    return s.scaled(s.add(high, low), n)


def _log1p(s: Registers, x: str) -> str:
    """``log(1 + x)``, corrected for the rounding of 1 + x."""
    u = s.add(x, constant(1))
    found = s.log(u, s.subtract(x, s.subtract(u, constant(1))))
    return s.choose("oeq", x, constant(0), x, found)  # −0 stays −0


def _softplus(s: Registers, x: str) -> str:
    """``max(x, 0) + log(1 + e^−|x|)``, corrected for the roundings of the power and the sum."""
    high, low, n = s.split_exp(s.at_least(s.negative(s.size(x)), -104))
    near_one, unit = s.add(high, low), s.scaled(f"splat (float {constant(1)})", n)
    u = s.fused(near_one, unit, constant(1))
    lost = s.fused(near_one, unit, s.subtract(constant(1), u))
    near = s.log(u, s.fused(s.add(s.subtract(high, near_one), low), unit, lost))
    return s.add(s.choose("ogt", x, constant(0), x, constant(0)), near)


def _sigmoid(s: Registers, x: str) -> str:
    """``d/(1+d)`` with d = e⁻ˣ for x ≥ 0, subtracted from 1; for others with −x in place of x.

    A product with a rough reciprocal of 1 + d is corrected by what it leaves of d.
    """
    high, low, n = s.split_exp(s.at_least(s.negative(s.size(x)), -104))
    near_one = s.add(high, low)
    decay = s.scaled(near_one, n)
    below = s.add(decay, constant(1))
    lost = s.subtract(decay, s.subtract(below, constant(1)))
    near = s.reciprocal(below)
    share = s.multiply(near_one, near)
    minus = s.negative(share)
    rest = s.fused(minus, lost, s.add(s.fused(minus, below, high), low))
    found = s.scaled(s.fused(rest, near, share), n)
    is_negative = s.integer("icmp slt", s.bits(x), 0)
    return s.w.choose(is_negative, "float32", found, s.subtract(constant(1), found))


@cache
def _tanh_pieces() -> Pieces:
    return pieces(np.tanh, octave=-4, limit=9.5)


@cache
def _erf_pieces() -> Pieces:
    def erf(x: Any) -> Any:
        found = np.empty_like(x)
        erf_kernel(x, out=found)
        return found

    return pieces(erf, octave=-5, limit=4, adds_own=True)


FUNCTIONS: dict[str, Callable[[Registers, str], str]] = {
    "exp": _exp,
    "log": lambda s, x: s.log(x),
    "log1p": _log1p,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "tanh": lambda s, x: s.odd(x, _tanh_pieces()),
    "erf": lambda s, x: s.odd(x, _erf_pieces()),
}
"""The instructions for a function of sixteen elements, by primitive."""
