"""Writes LLVM instructions on one element as text, and short names for those on floats."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

TYPES = {"float32": "float", "float64": "double", "bool": "i1"}
"""LLVM's type of an element in a register, by dtype."""

STORED = {"float32": ("float", 4), "float64": ("double", 8), "bool": ("i8", 1), "int32": ("i32", 4),
          "int64": ("i64", 8)}  # fmt: skip
"""LLVM's type of an element in memory, and its bytes, by dtype."""

SUFFIXES = {"float32": "f32", "float64": "f64"}
"""What LLVM appends to the names of functions, by dtype."""


class Writer:
    """Appends instructions; each method returns the name of its result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: set[str] = set()
        self._count = 0

    def put(self, text: str) -> str:
        """Append an instruction that has a result."""
        self._count += 1
        self.lines.append(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def call(self, name: str, dtype: str, *operands: str) -> str:
        """Call an intrinsic function of floats."""
        kind = TYPES[dtype]
        full = f"@llvm.{name}.{SUFFIXES[dtype]}"
        self.declared.add(f"declare {kind} {full}({', '.join([kind] * len(operands))})")
        return self.put(f"call {kind} {full}({', '.join(f'{kind} {x}' for x in operands)})")

    def compare(self, predicate: str, dtype: str, a: str, b: str) -> str:
        """Compare two floats; ``predicate`` is one of fcmp's, such as "olt"."""
        return self.put(f"fcmp {predicate} {TYPES[dtype]} {a}, {b}")

    def choose(self, condition: str, dtype: str, a: str, b: str) -> str:
        """Select ``a`` where the condition holds, else ``b``."""
        kind = TYPES[dtype]
        return self.put(f"select i1 {condition}, {kind} {a}, {kind} {b}")


def number(x: float, dtype: str) -> str:
    """A constant in LLVM's notation: the bits of the number, rounded to the dtype, as float64."""
    with np.errstate(all="ignore"):
        exact = float(np.dtype(dtype).type(x))
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def _is_number(name: str) -> bool:
    """Whether it is a constant that is not NaN."""
    if not name.startswith("0x"):
        return False
    (found,) = struct.unpack("<d", int(name, 16).to_bytes(8, "little"))
    return bool(found == found)


def _extreme(predicate: str) -> Callable[..., str]:
    """``a`` where the predicate holds or it is NaN, else ``b``, so NaN wins on either side."""

    def emit(w: Writer, dtype: str, a: str, b: str) -> str:
        if _is_number(b):  # one comparison says both
            return w.choose(w.compare(f"u{predicate[1:]}", dtype, a, b), dtype, a, b)
        wins, is_nan = w.compare(predicate, dtype, a, b), w.compare("uno", dtype, a, a)
        return w.choose(w.put(f"or i1 {wins}, {is_nan}"), dtype, a, b)

    return emit


maximum, minimum = _extreme("ogt"), _extreme("olt")


Operand: TypeAlias = str | float
"""The name of a result, or a constant."""


class Arithmetic:
    """Appends instructions on floats of one dtype; each method returns the name of its result."""

    def __init__(self, writer: Writer, dtype: str = "float32") -> None:
        self.w = writer
        self.dtype = dtype
        self._bits = "i32" if dtype == "float32" else "i64"

    def constant(self, x: Operand) -> str:
        """A number in LLVM's notation; names as they are."""
        return x if isinstance(x, str) else number(x, self.dtype)

    def put(self, instruction: str, *operands: Operand) -> str:
        """Append an instruction of this name."""
        given = ", ".join(map(self.constant, operands))
        return self.w.put(f"{instruction} {TYPES[self.dtype]} {given}")

    def call(self, name: str, *operands: Operand) -> str:
        """Call an intrinsic function."""
        return self.w.call(name, self.dtype, *map(self.constant, operands))

    def add(self, a: Operand, b: Operand) -> str:
        """``a + b``."""
        return self.put("fadd", a, b)

    def subtract(self, a: Operand, b: Operand) -> str:
        """``a − b``."""
        return self.put("fsub", a, b)

    def multiply(self, a: Operand, b: Operand) -> str:
        """``a · b``."""
        return self.put("fmul", a, b)

    def divide(self, a: Operand, b: Operand) -> str:
        """``a / b``."""
        return self.put("fdiv", a, b)

    def fused(self, a: Operand, b: Operand, c: Operand) -> str:
        """``a·b + c``, rounded once if the machine has a fused multiply-add."""
        return self.call("fmuladd", a, b, c)

    def polynomial(self, x: str, coefficients: Sequence[Operand]) -> str:
        """Of these coefficients, the highest power first."""
        result = self.constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fused(result, x, coefficient)
        return result

    def compare(self, predicate: str, a: Operand, b: Operand) -> str:
        """Whether a comparison of fcmp's holds."""
        return self.w.compare(predicate, self.dtype, self.constant(a), self.constant(b))

    def select(self, condition: str, then: Operand, other: Operand) -> str:
        """``then`` where a condition holds, else ``other``."""
        return self.w.choose(condition, self.dtype, self.constant(then), self.constant(other))

    def choose(self, predicate: str, a: Operand, b: Operand, then: Operand, other: Operand) -> str:
        """``then`` where a comparison holds, else ``other``."""
        return self.select(self.compare(predicate, a, b), then, other)

    def bits(self, x: str) -> str:
        """As an integer."""
        return self.w.put(f"bitcast {TYPES[self.dtype]} {x} to {self._bits}")

    def of_bits(self, bits: str) -> str:
        """What these bits are."""
        return self.w.put(f"bitcast {self._bits} {bits} to {TYPES[self.dtype]}")

    def integer(self, instruction: str, a: str, b: int | str) -> str:
        """An instruction on integers of as many bits."""
        return self.w.put(f"{instruction} {self._bits} {a}, {b}")

    def at_most(self, x: str, high: float) -> str:
        """``x`` or the limit, if that is less; NaN stays NaN."""
        return self.choose("ogt", x, high, high, x)

    def at_least(self, x: str, low: float) -> str:
        """``x`` or the limit, if that is more; NaN stays NaN."""
        return self.choose("olt", x, low, low, x)

    def size(self, x: str) -> str:
        """``|x|``."""
        return self.call("fabs", x)

    def negative(self, x: str) -> str:
        """``−x``."""
        return self.put("fneg", x)

    def with_sign_of(self, size: str, x: str) -> str:
        """``±size``, also where x is 0."""
        return self.call("copysign", size, x)


def widened(w: Writer, x: str) -> str:
    """A float32 as float64."""
    return w.put(f"fpext float {x} to double")


def rounded(w: Writer, x: str) -> str:
    """A float64 as float32."""
    return w.put(f"fptrunc double {x} to float")
