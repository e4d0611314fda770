"""Short names for instructions on float32, in which its functions are written."""

from __future__ import annotations

from collections.abc import Sequence

from gradwire.runtime.engine.plan.native.writer import Writer, number


def constant(x: float) -> str:
    """A float32 in LLVM's notation."""
    return number(x, "float32")


class Single:
    """Appends instructions; each method returns the name of its result."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer

    def add(self, a: str, b: str) -> str:
        """``a + b``."""
        return self.w.put(f"fadd float {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        """``a − b``."""
        return self.w.put(f"fsub float {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        """``a · b``."""
        return self.w.put(f"fmul float {a}, {b}")

    def divide(self, a: str, b: str) -> str:
        """``a / b``."""
        return self.w.put(f"fdiv float {a}, {b}")

    def fused(self, a: str, b: str, c: str) -> str:
        """``a·b + c``, rounded once if the machine has a fused multiply-add."""
        return self.w.call("fmuladd", "float32", a, b, c)

    def choose(self, predicate: str, a: str, b: str, then: str, other: str) -> str:
        """``then`` where a comparison of fcmp's holds, else ``other``."""
        return self.w.choose(self.w.compare(predicate, "float32", a, b), "float32", then, other)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Of these coefficients, the highest power first."""
        result = constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fused(result, x, constant(coefficient))
        return result

    def bits(self, x: str) -> str:
        """As int32."""
        return self.w.put(f"bitcast float {x} to i32")

    def single(self, bits: str) -> str:
        """What these bits are."""
        return self.w.put(f"bitcast i32 {bits} to float")

    def integer(self, instruction: str, a: str, b: int | str) -> str:
        """An instruction on int32."""
        return self.w.put(f"{instruction} i32 {a}, {b}")

    def at_most(self, x: str, high: float) -> str:
        """``x`` or the limit, if that is less; NaN stays NaN."""
        return self.choose("ogt", x, constant(high), constant(high), x)

    def at_least(self, x: str, low: float) -> str:
        """``x`` or the limit, if that is more; NaN stays NaN."""
        return self.choose("olt", x, constant(low), constant(low), x)

    def size(self, x: str) -> str:
        """``|x|``."""
        return self.w.call("fabs", "float32", x)

    def negative(self, x: str) -> str:
        """``−x``."""
        return self.w.put(f"fneg float {x}")

    def with_sign_of(self, size: str, x: str) -> str:
        """``±size``, also where x is 0."""
        return self.w.call("copysign", "float32", size, x)
