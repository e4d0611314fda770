"""Sine and cosine of float32 of any size as instructions: in float64, rounded once at the end.

They are written for one element or for the elements of a register. Source: the polynomials were
fitted for the least relative error.
"""

from __future__ import annotations

from math import pi
from typing import Protocol

from gradwire.runtime.engine.plan.native.writer import Writer, number

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


class Lines(Protocol):
    """What instructions are appended to."""

    def put(self, text: str) -> str:
        """Append an instruction that has a result."""


class Turning:
    """Appends instructions on so many elements at once."""

    def __init__(self, lines: Lines, count: int = 1) -> None:
        self.put = lines.put
        self._count = count

    def kind(self, name: str) -> str:
        """LLVM's type of all elements."""
        return name if self._count == 1 else f"<{self._count} x {name}>"

    def all(self, kind: str, x: str) -> str:
        """A constant for each element."""
        return x if self._count == 1 else f"splat ({kind} {x})"

    def _wide(self, x: float) -> str:
        return self.all("double", number(x, "float64"))

    def _call(self, name: str, *operands: str) -> str:
        suffix = ".f64" if self._count == 1 else f".v{self._count}f64"
        given = ", ".join(f"{self.kind('double')} {x}" for x in operands)
        return self.put(f"call {self.kind('double')} @llvm.{name}{suffix}({given})")

    def _do(self, instruction: str, a: str, b: str | float) -> str:
        b = b if isinstance(b, str) else self._wide(b)
        return self.put(f"{instruction} {self.kind('double')} {a}, {b}")

    def _on_bits(self, instruction: str, a: str, b: int | str) -> str:
        b = b if isinstance(b, str) else self.all("i64", str(b))
        return self.put(f"{instruction} {self.kind('i64')} {a}, {b}")

    def _bits(self, x: str) -> str:
        return self.put(f"bitcast {self.kind('double')} {x} to {self.kind('i64')}")

    def near(self, x: str) -> tuple[str, str]:
        """``r`` and n in the low bits, with ``n·π/2 + r = x`` and |r| ≤ π/4, for x up to ``NEAR``.

        NaN and infinities give NaN for r.
        """
        wide = self._widened(x)
        shifted = self._call("fma", wide, self._wide(2 / pi), self._wide(_SHIFT))
        n = self._do("fsub", shifted, _SHIFT)
        r = self._call("fma", n, self._wide(-pi / 2), wide)
        return self._call("fma", n, self._wide(-_REST), r), self._bits(shifted)

    def far(self, x: str) -> tuple[str, str]:
        """The same for x of any size, but for whole turns, which are dropped from each product
        with a part of 2/π, without rounding.
        """
        wide = self._widened(x)
        first, *others = [self._within_turn(self._do("fmul", wide, part)) for part in _QUARTERS]
        rest = others.pop()
        while others:
            rest = self._do("fadd", others.pop(), rest)
        nearest = self._call("rint", first)
        rest = self._do("fadd", self._do("fsub", first, nearest), rest)
        more = self._call("rint", rest)
        count = self._do("fadd", self._do("fadd", nearest, more), _SHIFT)
        return self._do("fmul", self._do("fsub", rest, more), pi / 2), self._bits(count)

    def _widened(self, x: str) -> str:
        return self.put(f"fpext {self.kind('float')} {x} to {self.kind('double')}")

    def _within_turn(self, quarters: str) -> str:
        turns = self._call("rint", self._do("fmul", quarters, 0.25))
        return self._do("fsub", quarters, self._do("fmul", turns, 4.0))

    def sine(self, r: str, n: str) -> str:
        """The sine of ``n·π/2 + r``, in float32."""
        lowest = self._on_bits("and", n, 1)
        is_odd = self.put(f"icmp ne {self.kind('i64')} {lowest}, {self.all('i64', '0')}")

        def chosen(odd: str, even: str) -> str:
            wide = self.kind("double")
            return self.put(f"select {self.kind('i1')} {is_odd}, {wide} {odd}, {wide} {even}")

        square = self._do("fmul", r, r)
        found = ""
        for even, odd in zip(_SIN, _COS, strict=True):
            term = chosen(self._wide(odd), self._wide(even)) if odd != even else self._wide(odd)
            found = self._call("fmuladd", found, square, term) if found else term
        found = self._do("fmul", found, chosen(self._wide(1), r))
        sign = self._on_bits("shl", self._on_bits("and", n, 2), 62)
        bits = self._on_bits("xor", self._bits(found), sign)
        signed = self.put(f"bitcast {self.kind('i64')} {bits} to {self.kind('double')}")
        return self.put(f"fptrunc {self.kind('double')} {signed} to {self.kind('float')}")

    def quarter_later(self, n: str) -> str:
        """``n + 1``: the sine becomes a cosine."""
        return self._on_bits("add", n, 1)

    def signed_zero(self, x: str, found: str) -> str:
        """What was found, or x where that is 0 or −0."""
        single, zero = self.kind("float"), self.all("float", number(0, "float32"))
        is_zero = self.put(f"fcmp oeq {single} {x}, {zero}")
        return self.put(f"select {self.kind('i1')} {is_zero}, {single} {x}, {single} {found}")


def sine(w: Writer, x: str) -> str:
    """``sin x``."""
    t = _of_one(w)
    return t.signed_zero(x, t.sine(*t.far(x)))


def cosine(w: Writer, x: str) -> str:
    """``cos x``."""
    t = _of_one(w)
    r, n = t.far(x)
    return t.sine(r, t.quarter_later(n))


def _of_one(w: Writer) -> Turning:
    w.declared.add("declare double @llvm.rint.f64(double)")
    w.declared.add("declare double @llvm.fmuladd.f64(double, double, double)")
    return Turning(w)
