"""Comparison, logic, bits and where. Booleans and integers have no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import DTypeError
from gradwire.runtime.calculus.dtypes import INTEGERS, strong
from gradwire.runtime.calculus.kernels.selecting import select
from gradwire.runtime.calculus.primitives.base import YES_OR_NO, BaseOps, broadcast_shapes
from gradwire.runtime.calculus.spelling import Spelling, operator, shared
from gradwire.runtime.calculus.value import Infer, Kernel, NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.value import Operand


def _to_bool(*inputs: Value) -> tuple[Shape, str]:
    return broadcast_shapes(*(x.shape for x in inputs)), "bool"


def _to_first(*inputs: Value) -> tuple[Shape, str]:
    return broadcast_shapes(*(x.shape for x in inputs)), inputs[0].dtype


def _where_infer(condition: Value, a: Value, b: Value) -> tuple[Shape, str]:
    return broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype


def _where_kernel(condition: Array, a: Array, b: Array, *, out: Array) -> None:
    select(condition, a, b, out)


_COMPARES = NoDerivative(
    "compares, and the answer is piecewise constant", "soften {it} with a Sigmoid"
)
_EQUALS = NoDerivative("tests for equality, which is piecewise constant")
_BITS = NoDerivative("works on bits, which have no derivative", "")


def _closed(
    name: str, infer: Infer, kernel: Kernel, why: NoDerivative, spelling: Spelling, slots: int = 2
) -> Primitive:
    rules = (None,) * slots
    return Primitive(
        name, infer, kernel, rules, elementwise=True, no_derivative=why, spelling=spelling
    )


def _comparison(
    name: str, kernel: Kernel, why: NoDerivative, signs: tuple[str, str, str], onnx: str
) -> Primitive:
    """``signs`` are those of Python, LaTeX and plain text."""
    python, latex, plain = signs
    javascript = f"{python}=" if name in ("equal", "not_equal") else python
    return _closed(
        name,
        _to_bool,
        kernel,
        why,
        operator(
            python,
            onnx=onnx,
            javascript=f"a{javascript}b?1:0",
            latex=rf"\left[a {latex} b\right]",
            plain=f"[a {plain} b]",
        ),
    )


# fmt: off
EQUAL = _comparison("equal", np.equal, _EQUALS, ("==", "=", "="), "Equal(a, b)")
NOT_EQUAL = _comparison("not_equal", np.not_equal, _EQUALS, ("!=", r"\neq", "≠"),
                        "Not(Equal(a, b))")
LESS = _comparison("less", np.less, _COMPARES, ("<", "<", "<"), "Less(a, b)")
LESS_EQUAL = _comparison("less_equal", np.less_equal, _COMPARES, ("<=", r"\leq", "≤"),
                         "LessOrEqual(a, b)")
GREATER = _comparison("greater", np.greater, _COMPARES, (">", ">", ">"), "Greater(a, b)")
GREATER_EQUAL = _comparison("greater_equal", np.greater_equal, _COMPARES, (">=", r"\geq", "≥"),
                            "GreaterOrEqual(a, b)")
LOGICAL_AND = _closed("logical_and", _to_bool, np.logical_and, YES_OR_NO,
                      operator("&", onnx="And(a, b)", scalar="(a and b)", latex="a:atom b:atom",
                               plain="a:atom b:atom"))
LOGICAL_OR = _closed("logical_or", _to_bool, np.logical_or, YES_OR_NO,
                     operator("|", onnx="Or(a, b)", scalar="(a or b)"))
LOGICAL_XOR = _closed("logical_xor", _to_bool, np.logical_xor, YES_OR_NO,
                      operator("^", onnx="Xor(a, b)", scalar=None))
LOGICAL_NOT = _closed("logical_not", _to_bool, np.logical_not, YES_OR_NO,
                      Spelling("~a", "~a", "~a", "Not(a)", "a?0:1", "(not a)"), 1)
ISNAN = _closed("isnan", _to_bool, np.isnan, YES_OR_NO,
                shared("isnan(a)", javascript="a!==a?1:0"), 1)
ISFINITE = _closed("isfinite", _to_bool, np.isfinite, YES_OR_NO,
                   shared("isfinite(a)", javascript="Number.isFinite(a)?1:0"), 1)
BITWISE_AND = _closed("bitwise_and", _to_first, np.bitwise_and, _BITS, Spelling(*["a & b"] * 3))
BITWISE_OR = _closed("bitwise_or", _to_first, np.bitwise_or, _BITS, Spelling(*["a | b"] * 3))
BITWISE_XOR = _closed("bitwise_xor", _to_first, np.bitwise_xor, _BITS, Spelling(*["a ^ b"] * 3))
LEFT_SHIFT = _closed("left_shift", _to_first, np.left_shift, _BITS, Spelling(*["a << b"] * 3))
RIGHT_SHIFT = _closed("right_shift", _to_first, np.right_shift, _BITS, Spelling(*["a >> b"] * 3))
# fmt: on
WHERE = Primitive(
    "where",
    _where_infer,
    _where_kernel,
    (
        None,
        lambda xp, g, out, c, a, b: xp.where(c, g, xp.zeros_like(g)),
        lambda xp, g, out, c, a, b: xp.where(c, xp.zeros_like(g), g),
    ),
    elementwise=True,
    no_derivative=NoDerivative("only selects by its condition"),
    spelling=shared("where(a, b, c)", javascript="a?b:c", scalar="(b if a else c)"),
)


class LogicOps(BaseOps):
    """Comparisons return bool, logic takes bool, bitwise operations take integers."""

    __slots__ = ()

    def _compare(self, primitive: Primitive, a: Operand, b: Operand) -> Value:
        a, b, _ = self._promoted(a, b)
        return self.trace.apply(primitive, a, b)

    def _logic(self, primitive: Primitive, *inputs: Operand) -> Value:
        values = [self.asarray(x) for x in inputs]
        for x in values:
            if x.dtype != "bool":
                raise DTypeError(
                    f"{primitive.name} works on booleans.",
                    expected="bool",
                    got=x.dtype,
                    next_step="Compare with something first (x > 0).",
                )
        return self.trace.apply(primitive, *values)

    def _bits(self, primitive: Primitive, a: Operand, b: Operand, shift: bool = False) -> Value:
        a, b, weak = self._promoted(a, b)
        if a.dtype not in INTEGERS and (shift or a.dtype != "bool"):
            raise DTypeError(
                f"{primitive.name} works on bits.",
                expected="integers" if shift else "integers or booleans",
                got=a.dtype,
            )
        return self.trace.apply(primitive, a, b, weak=weak)

    def equal(self, a: Operand, b: Operand) -> Value:
        """``a = b``; NaN equals nothing."""
        return self._compare(EQUAL, a, b)

    def not_equal(self, a: Operand, b: Operand) -> Value:
        """``a ≠ b``; NaN differs from all."""
        return self._compare(NOT_EQUAL, a, b)

    def less(self, a: Operand, b: Operand) -> Value:
        """``a < b``."""
        return self._compare(LESS, a, b)

    def less_equal(self, a: Operand, b: Operand) -> Value:
        """``a ≤ b``."""
        return self._compare(LESS_EQUAL, a, b)

    def greater(self, a: Operand, b: Operand) -> Value:
        """``a > b``."""
        return self._compare(GREATER, a, b)

    def greater_equal(self, a: Operand, b: Operand) -> Value:
        """``a ≥ b``."""
        return self._compare(GREATER_EQUAL, a, b)

    def logical_and(self, a: Operand, b: Operand) -> Value:
        """Whether both are true."""
        return self._logic(LOGICAL_AND, a, b)

    def logical_or(self, a: Operand, b: Operand) -> Value:
        """Whether at least one is true."""
        return self._logic(LOGICAL_OR, a, b)

    def logical_xor(self, a: Operand, b: Operand) -> Value:
        """Whether exactly one is true."""
        return self._logic(LOGICAL_XOR, a, b)

    def logical_not(self, x: Operand) -> Value:
        """The negation."""
        return self._logic(LOGICAL_NOT, x)

    def isnan(self, x: Operand) -> Value:
        """Whether it is NaN."""
        return self.trace.apply(ISNAN, self.asarray(x))

    def isfinite(self, x: Operand) -> Value:
        """Whether it is neither NaN nor infinite."""
        return self.trace.apply(ISFINITE, self.asarray(x))

    def bitwise_and(self, a: Operand, b: Operand) -> Value:
        """Bits that both have."""
        return self._bits(BITWISE_AND, a, b)

    def bitwise_or(self, a: Operand, b: Operand) -> Value:
        """Bits that one of them has."""
        return self._bits(BITWISE_OR, a, b)

    def bitwise_xor(self, a: Operand, b: Operand) -> Value:
        """Bits that exactly one of them has."""
        return self._bits(BITWISE_XOR, a, b)

    def left_shift(self, a: Operand, b: Operand) -> Value:
        """``a · 2ᵇ`` in the bits of an integer."""
        return self._bits(LEFT_SHIFT, a, b, shift=True)

    def right_shift(self, a: Operand, b: Operand) -> Value:
        """``⌊a / 2ᵇ⌋`` in the bits of an integer."""
        return self._bits(RIGHT_SHIFT, a, b, shift=True)

    def where(self, condition: Operand, a: Operand, b: Operand) -> Value:
        """``a`` where the condition holds, else ``b``; the condition has no gradient.

        The branch not taken gets 0 times its derivative: NaN where that is not finite.
        """
        condition = self.asarray(condition)
        if condition.dtype != "bool":
            raise DTypeError(
                "The condition of where must be boolean.",
                expected="bool",
                got=condition.dtype,
                next_step="Compare it with something first (x > 0).",
            )
        a, b, weak = self._promoted(a, b)
        if weak and condition.shape:
            a, b = (self.astype(x, strong(x.dtype)) for x in (a, b))
            weak = False
        return self.trace.apply(WHERE, condition, a, b, weak=weak)
