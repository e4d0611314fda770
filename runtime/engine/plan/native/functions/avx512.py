"""Functions of sixteen float32 for AVX-512: with tables in registers, and without divisions.

The loops of this engine are written for one element and vectorised by LLVM. In them a function is
called by name: LLVM calls the one of a register instead, and the code of ``libraries`` takes its
place.

These are beside the functions for any width, ``singles``, since they take less time: in loops for
Ice Lake, by llvm-mca, exp, log, log1p and tanh two thirds, erf three quarters, sigmoid four fifths,
softplus nine tenths.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import log
from typing import Any

import numpy as np

from gradwire.runtime.calculus.kernels.erf import erf_kernel
from gradwire.runtime.engine.plan.native.functions.piecewise import SHIFT, Pieces, pieces
from gradwire.runtime.engine.plan.native.writer import Writer, number

LANES = 16
"""float32 in a register."""

_SINGLES, _BITS = "<16 x float>", "<16 x i32>"
_PURE = "nounwind willreturn memory(none)"

_INTRINSICS = {
    "scalef": "llvm.x86.avx512.mask.scalef.ps.512",
    "reciprocal": "llvm.x86.avx512.rcp14.ps.512",
    "one_of_16": "llvm.x86.avx512.permvar.sf.512",
    "one_of_32": "llvm.x86.avx512.vpermi2var.ps.512",
    "exponent": "llvm.x86.avx512.mask.getexp.ps.512",
    "mantissa": "llvm.x86.avx512.mask.getmant.ps.512",
    "edges": "llvm.x86.avx512.mask.fixupimm.ps.512",
}
_DECLARATIONS = f"""
declare {_SINGLES} @{_INTRINSICS["scalef"]}({_SINGLES}, {_SINGLES}, {_SINGLES}, i16, i32)
declare {_SINGLES} @{_INTRINSICS["reciprocal"]}({_SINGLES}, {_SINGLES}, i16)
declare {_SINGLES} @{_INTRINSICS["one_of_16"]}({_SINGLES}, {_BITS})
declare {_SINGLES} @{_INTRINSICS["one_of_32"]}({_SINGLES}, {_BITS}, {_SINGLES})
declare {_SINGLES} @{_INTRINSICS["exponent"]}({_SINGLES}, {_SINGLES}, i16, i32)
declare {_SINGLES} @{_INTRINSICS["mantissa"]}({_SINGLES}, i32, {_SINGLES}, i16, i32)
declare {_SINGLES} @{_INTRINSICS["edges"]}({_SINGLES}, {_SINGLES}, {_BITS}, i32, i16, i32)
declare {_SINGLES} @llvm.fma.v16f32({_SINGLES}, {_SINGLES}, {_SINGLES})
declare {_SINGLES} @llvm.fabs.v16f32({_SINGLES})
declare {_SINGLES} @llvm.copysign.v16f32({_SINGLES}, {_SINGLES})
declare {_BITS} @llvm.smax.v16i32({_BITS}, {_BITS})
"""

_LOG2 = 0.693359375, -2.12194440e-4
"""log 2 as a sum; products of the first term with small multiples of 1/16 are exact."""

_LOG_EDGES = 0x03530422
"""Of log, by kinds of numbers, four bits each: NaN as it is, −∞ of 0, ∞ of ∞, NaN below 0."""

_ROUNDING = 786432.0
"""1.5·2¹⁹: a number added to it is rounded to sixteenths, which are then in the low bits."""


def call(w: Writer, name: str, x: str) -> str:
    """The instruction that calls one of ``FUNCTIONS`` on one float32."""
    w.declared.add(f"declare float @avx512.{name}(float) speculatable {_PURE}")
    variant = f"_ZGV_LLVM_N16v_avx512.{name}(avx512.{name}.16)"
    return w.put(
        f'call float @avx512.{name}(float {x}) {_PURE} "vector-function-abi-variant"="{variant}"'
    )


def announced(text: str) -> str:
    """A module with the declarations by which LLVM finds the functions of registers."""
    found = _called(text)
    if not found:
        return text
    wide = [f"@avx512.{name}.16" for name in found]
    used = ", ".join(f"ptr {name}" for name in wide)
    return "\n".join([
        *(f"declare {_SINGLES} {name}({_SINGLES}) {_PURE}" for name in wide),
        f"@llvm.compiler.used = appending global [{len(wide)} x ptr] [{used}],"
        ' section "llvm.metadata"',
        text,
    ])  # fmt: skip


def libraries(text: str) -> list[str]:
    """The modules that define what a module calls."""
    return [_library(name) for name in _called(text)]


def _called(text: str) -> list[str]:
    return [name for name in FUNCTIONS if f"@avx512.{name}(" in text]


@cache
def _library(name: str) -> str:
    """The module that defines a function of sixteen elements, and that of one by it."""
    return f"""{_DECLARATIONS}
define {_SINGLES} @avx512.{name}.16({_SINGLES} %x) #0 {{
{_body(name)}
}}
define float @avx512.{name}(float %x) #0 {{
  %wide = insertelement {_SINGLES} zeroinitializer, float %x, i64 0
  %all = call {_SINGLES} @avx512.{name}.16({_SINGLES} %wide)
  %one = extractelement {_SINGLES} %all, i64 0
  ret float %one
}}
attributes #0 = {{ alwaysinline nounwind "prefer-vector-width"="512"
                "min-legal-vector-width"="512" }}
"""


def _body(name: str) -> str:
    w = _Sixteen()
    result = FUNCTIONS[name](w, "%x")
    return "\n".join([*w.lines, f"ret {_SINGLES} {result}"])


def _all(x: float) -> str:
    return f"splat (float {number(x, 'float32')})"


def _table(row: Any) -> str:
    elements = [f"float {number(x, 'float32')}" for x in row]
    return f"<{', '.join(elements)}>"


class _Sixteen:
    """Appends instructions on registers; each method returns the name of its result."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _call(self, name: str, *operands: str) -> str:
        return self.put(f"call {_SINGLES} @{name}({', '.join(operands)})")

    def _floats(self, name: str, *operands: str) -> str:
        return self._call(name, *(f"{_SINGLES} {x}" for x in operands))

    def add(self, a: str, b: str) -> str:
        return self.put(f"fadd {_SINGLES} {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        return self.put(f"fsub {_SINGLES} {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        return self.put(f"fmul {_SINGLES} {a}, {b}")

    def negative(self, x: str) -> str:
        return self.put(f"fneg {_SINGLES} {x}")

    def fused(self, a: str, b: str, c: str) -> str:
        """``a·b + c``, rounded once."""
        return self._floats("llvm.fma.v16f32", a, b, c)

    def size(self, x: str) -> str:
        return self._floats("llvm.fabs.v16f32", x)

    def with_sign_of(self, size: str, x: str) -> str:
        return self._floats("llvm.copysign.v16f32", size, x)

    def choose(self, predicate: str, a: str, b: str, then: str, other: str) -> str:
        holds = self.put(f"fcmp {predicate} {_SINGLES} {a}, {b}")
        return self.put(f"select <16 x i1> {holds}, {_SINGLES} {then}, {_SINGLES} {other}")

    def at_most(self, x: str, high: float) -> str:
        """``x`` or the limit, if that is less; NaN stays NaN."""
        return self.choose("ogt", x, _all(high), _all(high), x)

    def at_least(self, x: str, low: float) -> str:
        return self.choose("olt", x, _all(low), _all(low), x)

    def bits(self, x: str) -> str:
        return self.put(f"bitcast {_SINGLES} {x} to {_BITS}")

    def scaled(self, x: str, n: str) -> str:
        """``2ᵏ·x``, where k is n rounded down; subnormal and infinite where it must be."""
        operands = [f"{_SINGLES} {a}" for a in (x, n, "zeroinitializer")]
        return self._call(_INTRINSICS["scalef"], *operands, "i16 -1", "i32 4")

    def reciprocal(self, x: str) -> str:
        """``1 / x`` with a relative error below 2⁻¹⁴."""
        operands = [f"{_SINGLES} {a}" for a in (x, "zeroinitializer")]
        return self._call(_INTRINSICS["reciprocal"], *operands, "i16 -1")

    def look_up(self, row: Any, at: str) -> str:
        """The elements of a table of 16 or 32 at the low bits of ``at``."""
        first, second = _table(row[:16]), f"{_BITS} {at}"
        if len(row) == 16:
            return self._call(_INTRINSICS["one_of_16"], f"{_SINGLES} {first}", second)
        tables = [f"{_SINGLES} {first}", second, f"{_SINGLES} {_table(row[16:])}"]
        return self._call(_INTRINSICS["one_of_32"], *tables)

    def exponent(self, x: str) -> str:
        """K with ``|x| = 2ᵏ·m`` and 1 ≤ m < 2."""
        operands = [f"{_SINGLES} {a}" for a in (x, "zeroinitializer")]
        return self._call(_INTRINSICS["exponent"], *operands, "i16 -1", "i32 4")

    def mantissa(self, x: str) -> str:
        """M of ``exponent``."""
        operands = [f"{_SINGLES} {x}", "i32 0", f"{_SINGLES} zeroinitializer"]
        return self._call(_INTRINSICS["mantissa"], *operands, "i16 -1", "i32 4")

    def with_edges(self, found: str, x: str, edges: int) -> str:
        """What was found, except where x is of a kind that has a result of its own."""
        operands = [f"{_SINGLES} {found}", f"{_SINGLES} {x}", f"{_BITS} splat (i32 {edges})"]
        return self._call(_INTRINSICS["edges"], *operands, "i32 0", "i16 -1", "i32 4")

    def log(self, x: str, lost: str = "") -> str:
        """``log(x + lost)``, where ``lost`` is far smaller than x.

        With x = 2ᵏ·m and c near 1/m it is ``k·log 2 − log c + log(1 + r)``, r = c·m − 1.
        """
        reciprocals, high, low, coefficients = _log_table()
        k, m = self.exponent(x), self.mantissa(x)
        at = self.put(f"lshr {_BITS} {self.bits(m)}, splat (i32 18)")
        c = self.look_up(reciprocals, at)
        r = self.fused(m, c, _all(-1))
        if lost:
            r = self.fused(self.scaled(lost, self.negative(k)), c, r)
        rest = _all(coefficients[0])
        for coefficient in coefficients[1:]:
            rest = self.fused(rest, r, _all(coefficient))
        small = self.fused(k, _all(_LOG2[1]), self.look_up(low, at))
        small = self.fused(self.multiply(r, r), rest, small)
        large = self.fused(k, _all(_LOG2[0]), self.look_up(high, at))
        return self.with_edges(self.add(large, self.add(r, small)), x, _LOG_EDGES)

    def split_exp(self, x: str) -> tuple[str, str, str]:
        """``T``, L and n with ``eˣ = 2ᵏ·(T + L)``, where k is n rounded down and |L| < T/32."""
        powers, rest, (square, cube) = _exp_table()
        shifted = self.fused(x, _all(1 / log(2)), _all(_ROUNDING))
        n = self.subtract(shifted, _all(_ROUNDING))
        at = self.bits(shifted)
        r = self.fused(n, _all(-_LOG2[0]), x)
        r = self.fused(n, _all(-_LOG2[1]), r)
        small = self.fused(self.fused(r, _all(cube), _all(square)), self.multiply(r, r), r)
        high = self.look_up(powers, at)
        return high, self.fused(high, small, self.look_up(rest, at)), n

    def odd(self, x: str, table: Pieces) -> str:
        """An odd function of x that is given by polynomials between 0 and a limit."""
        size = self.at_most(self.size(x), table.limit)
        first = f"{_BITS} splat (i32 {table.first_bits})"
        bits = self.put(f"call {_BITS} @llvm.smax.v16i32({_BITS} {self.bits(size)}, {first})")
        at = self.put(f"lshr {_BITS} {bits}, splat (i32 {SHIFT})")
        away = self.subtract(size, self.look_up(table.centres, at))
        slope = self.look_up(table.coefficients[-1], at)
        for row in reversed(table.coefficients[:-1]):
            slope = self.fused(slope, away, self.look_up(row, at))
        value = self.look_up(table.values, at)
        if table.own:
            value = self.choose("olt", size, _all(table.own), size, value)
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


def _exp(s: _Sixteen, x: str) -> str:
    high, low, n = s.split_exp(s.at_least(s.at_most(x, 89), -104))
    return s.scaled(s.add(high, low), n)


def _log1p(s: _Sixteen, x: str) -> str:
    """``log(1 + x)``, corrected for the rounding of 1 + x."""
    u = s.add(x, _all(1))
    found = s.log(u, s.subtract(x, s.subtract(u, _all(1))))
    return s.choose("oeq", x, "zeroinitializer", x, found)  # −0 stays −0


def _softplus(s: _Sixteen, x: str) -> str:
    """``max(x, 0) + log(1 + e^−|x|)``, corrected for the roundings of the power and the sum."""
    high, low, n = s.split_exp(s.at_least(s.negative(s.size(x)), -104))
    near_one, unit = s.add(high, low), s.scaled(_all(1), n)
    u = s.fused(near_one, unit, _all(1))
    lost = s.fused(near_one, unit, s.subtract(_all(1), u))
    near = s.log(u, s.fused(s.add(s.subtract(high, near_one), low), unit, lost))
    return s.add(s.choose("ogt", x, "zeroinitializer", x, "zeroinitializer"), near)


def _sigmoid(s: _Sixteen, x: str) -> str:
    """``d/(1+d)`` with d = e⁻ˣ for x ≥ 0, subtracted from 1; for others with −x in place of x.

    A product with a rough reciprocal of 1 + d is corrected by what it leaves of d.
    """
    high, low, n = s.split_exp(s.at_least(s.negative(s.size(x)), -104))
    near_one = s.add(high, low)
    decay = s.scaled(near_one, n)
    below = s.add(decay, _all(1))
    lost = s.subtract(decay, s.subtract(below, _all(1)))
    near = s.reciprocal(below)
    share = s.multiply(near_one, near)
    minus = s.negative(share)
    rest = s.fused(minus, lost, s.add(s.fused(minus, below, high), low))
    found = s.scaled(s.fused(rest, near, share), n)
    is_negative = s.put(f"icmp slt {_BITS} {s.bits(x)}, zeroinitializer")
    above = s.subtract(_all(1), found)
    return s.put(f"select <16 x i1> {is_negative}, {_SINGLES} {found}, {_SINGLES} {above}")


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


FUNCTIONS: dict[str, Callable[[_Sixteen, str], str]] = {
    "exp": _exp,
    "log": lambda s, x: s.log(x),
    "log1p": _log1p,
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "tanh": lambda s, x: s.odd(x, _tanh_pieces()),
    "erf": lambda s, x: s.odd(x, _erf_pieces()),
}
"""The instructions for a function of sixteen elements, by primitive."""
