"""Traced values and the primitives they come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from blocks.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.calculus.namespace import Namespace

Attributes = Mapping[str, Any]
NO_ATTRIBUTES: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Primitive:
    """One row of a table: everything the system knows about one operation.

    ``infer(*inputs, **attributes) -> (shape, dtype)`` raises TraceError where inputs don't fit.
    ``kernel(*arrays, out=array, **attributes)`` computes into ``out``; where ``view``, it is
    ``kernel(array, **attributes)`` and its result may share memory with the input.
    ``rules[slot](xp, g, out, *inputs, **attributes)`` is the vector-Jacobian product for that
    input, written in primitives; None closes the slot. It may be left in the broadcast shape of
    the output: the sweep sums it to the input's. With ``variadic`` there is one rule, called
    with ``slot`` and then all inputs as one tuple after ``out``, for any number of them.
    ``unread`` are slots whose numbers the kernel does not need. ``stops`` tells a closed slot
    that was meant (stop_gradient) from one that has no derivative.
    """

    name: str
    infer: Callable[..., tuple[Shape, str]]
    kernel: Callable[..., Any]
    rules: tuple[Callable[..., Any] | None, ...] = ()
    variadic: bool = False
    view: bool = False
    stops: bool = False
    unread: frozenset[int] = frozenset()
    elementwise: bool = False

    def __repr__(self) -> str:
        return self.name

    def rule(self, slot: int) -> Callable[..., Any] | None:
        """The derivative rule of an input slot, or None where it is closed."""
        return self.rules[0] if self.variadic else self.rules[slot]


class Value:
    """The result of one primitive: shape, dtype and where it came from; no numbers.

    ``owner`` is whatever the tracer was working on (the engine sets block paths and wire keys).
    ``weak`` marks a scalar that takes the dtype of what it meets.
    """

    __slots__ = ("attributes", "dtype", "index", "inputs", "owner", "primitive", "shape", "trace",
                 "weak")  # fmt: skip

    __array_ufunc__ = None  # so that numpy_array * value asks the value

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
    def T(self) -> Value:
        """The axes in reverse order: the transpose of a matrix."""
        return self.trace.xp.permute_dims(self, tuple(reversed(range(self.ndim))))

    def __repr__(self) -> str:
        return f"<{self.primitive.name} {self.dtype}{list(self.shape)} #{self.index}>"

    def __bool__(self) -> bool:
        raise DTypeError(
            f"A traced value ({self.dtype}{list(self.shape)}) has no truth value: which branch "
            "runs can't depend on data.",
            next_step="Use xp.where.",
        )

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("A scalar has no length and can't be iterated over.", got="shape []")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Identity, for containers; an elementwise comparison is refused: it has another name."""
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

    def __add__(self, other: Any) -> Value:
        return self.trace.xp.add(self, other)

    def __radd__(self, other: Any) -> Value:
        return self.trace.xp.add(other, self)

    def __sub__(self, other: Any) -> Value:
        return self.trace.xp.subtract(self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.trace.xp.subtract(other, self)

    def __mul__(self, other: Any) -> Value:
        return self.trace.xp.multiply(self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.trace.xp.multiply(other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.trace.xp.divide(self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.trace.xp.divide(other, self)

    def __pow__(self, other: Any) -> Value:
        return self.trace.xp.power(self, other)

    def __rpow__(self, other: Any) -> Value:
        return self.trace.xp.power(other, self)

    def __matmul__(self, other: Any) -> Value:
        return self.trace.xp.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Value:
        return self.trace.xp.matmul(other, self)

    def __neg__(self) -> Value:
        return self.trace.xp.negative(self)

    def __lt__(self, other: Any) -> Value:
        return self.trace.xp.less(self, other)

    def __le__(self, other: Any) -> Value:
        return self.trace.xp.less_equal(self, other)

    def __gt__(self, other: Any) -> Value:
        return self.trace.xp.greater(self, other)

    def __ge__(self, other: Any) -> Value:
        return self.trace.xp.greater_equal(self, other)

    def __and__(self, other: Any) -> Value:
        return self.trace.xp.logical_and(self, other)

    def __or__(self, other: Any) -> Value:
        return self.trace.xp.logical_or(self, other)

    def __invert__(self) -> Value:
        return self.trace.xp.logical_not(self)

    def __getitem__(self, index: Any) -> Value:
        return self.trace.xp.index(self, index)


class Remark(NamedTuple):
    """What a tracer should tell the user about what it was working on."""

    owner: Any
    text: str
    code: str


@dataclass(slots=True, eq=False)
class Trace:
    """Values in the order of evaluation; ``owner`` is stamped on every new one.

    ``remarks`` collects what a tracer should tell the user. ``whole`` are the integers of weak
    leaves, each with its port: the dtype that such a leaf takes must hold it.
    """

    values: list[Value] = field(default_factory=list)
    owner: Any = None
    remarks: list[Remark] = field(default_factory=list)
    step: Value | None = None
    whole: dict[Value, tuple[int, str]] = field(default_factory=dict)
    _xp: Namespace | None = None

    @property
    def xp(self) -> Namespace:
        """The namespace that appends to this trace."""
        if self._xp is None:
            from runtime.calculus.namespace import Namespace

            self._xp = Namespace(self)
        return self._xp

    def remark(self, text: str, code: str) -> None:
        """Tell the user something about the owner; ``code`` is that of the diagnostic."""
        self.remarks.append(Remark(self.owner, text, code))

    def apply(
        self, primitive: Primitive, *inputs: Value, weak: bool = False, **attributes: Any
    ) -> Value:
        """Append the result of a primitive; raises TraceError where inputs don't fit."""
        shape, dtype = primitive.infer(*inputs, **attributes)
        return Value(self, primitive, inputs, attributes or NO_ATTRIBUTES, shape, dtype, weak)
