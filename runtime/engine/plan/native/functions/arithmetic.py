"""Short names for instructions on floats, in which their functions are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from gradwire.runtime.engine.plan.native.writer import TYPES, Writer, number

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
