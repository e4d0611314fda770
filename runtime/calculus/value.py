"""Primitives, and the traced values that are their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import DTypeError, ShapeError
from gradwire.blocks.plugins import contained, is_own
from gradwire.runtime.calculus.spelling import Spelling, require_expressions

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.trace import Trace

Operand: TypeAlias = "Value | bool | int | float | np.generic | Array"
"""What an operation takes: a traced value, a scalar, or an array."""
_Part: TypeAlias = "int | slice | EllipsisType | None"
Index: TypeAlias = "_Part | tuple[_Part, ...]"
"""What may stand in the brackets of a traced value."""
Attributes = Mapping[str, Any]
Kernel: TypeAlias = Callable[..., Any]
Infer: TypeAlias = "Callable[..., tuple[Shape, str]]"
Rule: TypeAlias = "Callable[..., Value]"
NO_ATTRIBUTES: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NoDerivative:
    """Why closed slots have no derivative, in words that follow the name of the block.

    ``remedy`` completes the advice "Move the loss before it, … or use a StraightThrough block",
    with ``{it}`` for the block; None where the slots are closed on purpose.
    """

    why: str
    remedy: str | None = "soften {it}"


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One operation: its type rule, its kernel, its derivative rules and how targets write it.

    ``infer(*inputs, **attributes) -> (shape, dtype)`` raises TraceError where the inputs don't fit.
    ``kernel(*arrays, out=array, **attributes)`` writes into ``out``. With ``view`` it is
    ``kernel(array, **attributes)``, and the result may share memory with the input.
    ``rules[slot](xp, g, out, *inputs, **attributes)`` is the vector-Jacobian product (vjp) for
    that input, written in primitives; None closes the slot, and so does a missing rule. It may have
    the broadcast shape of the output: the sweep sums it to the shape of the input. With
    ``variadic`` there is one rule for any number of inputs, called with ``slot`` and a tuple of all
    inputs after ``out``.
    ``unread`` lists the slots whose numbers the kernel does not need. ``stops`` separates a slot
    that is closed on purpose (stop_gradient) from one that has no derivative, for which
    ``no_derivative`` says why, or for single slots ``closed``. ``transcendental`` marks functions
    that have no exact kernel: float32 scalars are computed in float64 and rounded (see
    ``Value.kernel``). ``scalar_kernel`` is that of scalars, where numpy's is off by more than a
    unit in the last place of float64. Kernels and rules of plug-ins run guarded (see
    ``gradwire.blocks.plugins``). ``together(adjoints, slots)`` goes back through several values
    that have equal inputs and are computed at once, by slot (see ``scan``).
    """

    name: str
    infer: Infer
    kernel: Kernel
    rules: tuple[Rule | None, ...] = ()
    variadic: bool = False
    view: bool = False
    stops: bool = False
    unread: frozenset[int] = frozenset()
    elementwise: bool = False
    transcendental: bool = False
    scalar_kernel: Kernel | None = None
    no_derivative: NoDerivative | None = None
    closed: Mapping[int, NoDerivative] = field(default_factory=dict)
    together: Callable[..., Mapping[int, Value]] | None = None
    spelling: Spelling = Spelling()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", contained(self.kernel))
        rules = tuple(rule and contained(rule) for rule in self.rules)
        object.__setattr__(self, "rules", rules)
        if not is_own(self.kernel):
            require_expressions(self.name, self.spelling)

    def __repr__(self) -> str:
        return self.name

    def reason(self, slot: int) -> NoDerivative | None:
        """Why an input slot has no derivative, if the primitive says so."""
        return self.closed.get(slot, self.no_derivative)

    def rule(self, slot: int) -> Rule | None:
        """The derivative rule of an input slot, or None where it is closed."""
        place = 0 if self.variadic else slot
        return self.rules[place] if place < len(self.rules) else None


@cache
def _in_float64(kernel: Kernel) -> Kernel:
    """The kernel of an elementwise function, computed in float64 and rounded to ``out``."""

    def call(*arrays: Array, out: Array, **attributes: object) -> None:
        wide = np.empty(out.shape)
        kernel(*(array.astype(np.float64) for array in arrays), out=wide, **attributes)
        np.copyto(out, wide, casting="same_kind")

    return call


class Value:
    """The result of one primitive: its shape, dtype and origin, but no numbers.

    ``owner`` is the ``Trace.owner`` of the moment (the engine sets block paths and wire keys).
    ``weak`` marks a scalar that takes the dtype of the other operand.
    """

    __slots__ = ("attributes", "dtype", "index", "inputs", "owner", "primitive", "shape", "trace",
                 "weak")  # fmt: skip

    __array_ufunc__ = None  # so that numpy_array * value calls __rmul__

    def __init__(
        self,
        trace: Trace,
        primitive: Primitive,
        inputs: tuple[Value, ...],
        attributes: Attributes,
        shape: Shape,
        dtype: str,
        weak: bool = False,
    ) -> None:
        self.trace = trace
        self.primitive = primitive
        self.inputs = inputs
        self.attributes = attributes
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.owner = trace.owner
        self.index = len(trace.values)
        trace.values.append(self)

    @property
    def ndim(self) -> int:
        """The rank: the number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def kernel(self) -> Kernel:
        """The kernel that computes it: a transcendental function of float32 scalars in float64.

        That rounds to the nearest float32, or nearly so, in numpy and in machine code alike, where
        float32 kernels are off by up to four units in the last place, each in its own way.
        """
        kernel = self.primitive.kernel
        if self.shape or self.dtype not in ("float32", "float64"):
            return kernel
        kernel = self.primitive.scalar_kernel or kernel
        wide = self.primitive.transcendental and self.dtype == "float32"
        return _in_float64(kernel) if wide else kernel

    @property
    def T(self) -> Value:
        """The axes in reverse order: the transpose of a matrix."""
        return self.trace.xp.permute_dims(self, tuple(reversed(range(self.ndim))))

    def __repr__(self) -> str:
        return f"<{self.primitive.name} {self.dtype}{list(self.shape)} #{self.index}>"

    def __bool__(self) -> bool:
        raise DTypeError(
            f"A traced value ({self.dtype}{list(self.shape)}) has no truth value: the choice of a "
            "branch can't depend on data.",
            next_step="Use xp.where.",
        )

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("A scalar has no length and can't be iterated over.", got="shape []")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Identity, which containers need; numbers and arrays are refused (see ``xp.equal``)."""
        self._refuse_to_compare(other, "equal")
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        self._refuse_to_compare(other, "not_equal")
        return NotImplemented

    __hash__ = object.__hash__

    def _refuse_to_compare(self, other: object, name: str) -> None:
        if isinstance(other, Value | bool | int | float | np.ndarray | np.generic):
            raise DTypeError(
                f"A traced value ({self.dtype}{list(self.shape)}) can't be compared with == or !=.",
                next_step=f"Use xp.{name}.",
            )

    def __add__(self, other: Operand) -> Value:
        return self.trace.xp.add(self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.trace.xp.add(other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.trace.xp.subtract(self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.trace.xp.subtract(other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.trace.xp.multiply(self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.trace.xp.multiply(other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.trace.xp.divide(self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.trace.xp.divide(other, self)

    def __pow__(self, other: Operand) -> Value:
        return self.trace.xp.power(self, other)

    def __rpow__(self, other: Operand) -> Value:
        return self.trace.xp.power(other, self)

    def __matmul__(self, other: Operand) -> Value:
        return self.trace.xp.matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Value:
        return self.trace.xp.matmul(other, self)

    def __neg__(self) -> Value:
        return self.trace.xp.negative(self)

    def __lt__(self, other: Operand) -> Value:
        return self.trace.xp.less(self, other)

    def __le__(self, other: Operand) -> Value:
        return self.trace.xp.less_equal(self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.trace.xp.greater(self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.trace.xp.greater_equal(self, other)

    def __and__(self, other: Operand) -> Value:
        return self.trace.xp.logical_and(self, other)

    def __or__(self, other: Operand) -> Value:
        return self.trace.xp.logical_or(self, other)

    def __invert__(self) -> Value:
        return self.trace.xp.logical_not(self)

    def __getitem__(self, index: Index) -> Value:
        return self.trace.xp.index(self, index)
