"""What every family of operations builds on: leaves, constants, casts, promotion, shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from gradwire.blocks.errors import DTypeError, Location, ShapeError
from gradwire.blocks.values import dtype_name
from gradwire.runtime.calculus.dtypes import (
    DEFAULT_FLOAT,
    FLOATS,
    LARGEST_EXACT,
    array_of,
    checked_dtype,
    common_dtype,
    holders,
    is_scalar,
    require_fit,
    rounds,
    scalar_dtype,
    strong,
    to_float,
    to_number,
)
from gradwire.runtime.calculus.sizes import require_axes, require_constant
from gradwire.runtime.calculus.spelling import Spelling, refused
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import OpenShape, Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.trace import Trace
    from gradwire.runtime.calculus.value import Operand

Axis = int | tuple[int, ...] | None
YES_OR_NO = NoDerivative("returns true or false, which is piecewise constant", "")


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that all broadcast to, by numpy's rules; raises ShapeError."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = []
    for axis in range(-rank, 0):
        lengths = {shape[axis] for shape in shapes if -axis <= len(shape)} - {1}
        if len(lengths) > 1:
            raise ShapeError(
                f"Shapes {' and '.join(map(str, map(list, shapes)))} don't broadcast: "
                f"axis {axis} is {' and '.join(map(str, sorted(lengths)))}.",
                next_step="Reshape or transpose one of them.",
            )
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)


def axis_of(axis: int, ndim: int) -> int:
    """``axis`` counted from 0; raises ShapeError where x has no such axis."""
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"Axis {axis} is out of range for rank {ndim}.",
            expected=f"an axis from {-ndim} to {ndim - 1}" if ndim else "no axis (a scalar)",
        )
    return axis % ndim


def axes_of(axis: Axis | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Sorted axes counted from 0; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = [axis_of(a, ndim) for a in ((axis,) if isinstance(axis, int) else axis)]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"Axes {axis} name one axis twice.")
    return tuple(sorted(axes))


def lengths_of(shape: int | Sequence[int]) -> Shape:
    """A shape given by one length or several; raises ShapeError where one is negative."""
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    require_axes(lengths)
    if any(length < 0 for length in lengths):
        raise ShapeError(f"Shape {list(lengths)} has a negative length.")
    return lengths


def _broadcast_to(x: Value, *, shape: Shape) -> tuple[Shape, str]:
    try:
        fits = broadcast_shapes(x.shape, shape) == shape
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(f"Shape {list(x.shape)} doesn't broadcast to {list(shape)}.")
    return shape, x.dtype


def _cast_kernel(x: Array, *, out: Array, dtype: str) -> None:
    np.copyto(out, x, casting="unsafe")


def _unbound(**_: object) -> NoReturn:
    raise AssertionError("a leaf is bound, never computed")


LEAF = Primitive(
    "leaf",
    lambda *, shape, dtype: (shape, dtype),
    _unbound,
    spelling=refused("what is bound to it is not known"),
)
CONSTANT = Primitive(
    "constant",
    lambda *, array: (array.shape, dtype_name(array)),
    lambda *, array: array,
    view=True,
    spelling=refused("it is written as a number or an array, never computed"),
)
CAST = Primitive(
    "cast",
    lambda x, *, dtype: (x.shape, dtype),
    _cast_kernel,
    (lambda xp, g, out, x, *, dtype: xp.astype(g, x.dtype),),
    elementwise=True,
    spelling=Spelling("a.astype(dtype)", jax="a.astype(dtype)"),
)
BROADCAST = Primitive(
    "broadcast_to",
    _broadcast_to,
    lambda x, *, shape: np.broadcast_to(x, shape),
    (lambda xp, g, out, x, *, shape: g,),
    view=True,
    spelling=Spelling("np.broadcast_to(a, shape)", "a.expand(shape)", "jnp.broadcast_to(a, shape)"),
)
RESHAPE = Primitive(
    "reshape",
    lambda x, *, shape: (shape, x.dtype),
    lambda x, *, shape: x.reshape(shape),
    (lambda xp, g, out, x, *, shape: xp.reshape(g, x.shape),),
    view=True,
)
WIRE = Primitive(
    "wire",
    lambda x: (x.shape, x.dtype),
    lambda x: x,
    (lambda xp, g, out, x: g,),
    view=True,
    spelling=Spelling("a", "a", "a", "a"),
)
"""Marks a wire. Identity; its adjoint is the contribution of that wire."""


class LeafSource(Protocol):
    """What a leaf needs of its source."""

    @property
    def open_shape(self) -> OpenShape | None:
        """The shape as far as it is given."""

    @property
    def leaf_dtype(self) -> str:
        """Name of the dtype."""


class BaseOps:
    """Constants, casts and promotion: what every family needs.

    ``xp`` is the whole namespace, which a family uses for the operations of the others.
    """

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @property
    def xp(self) -> Namespace:
        """The namespace that this is a part of."""
        return self.trace.xp

    def wire(self, x: Value) -> Value:
        """A marker that the engine puts on every wire."""
        return self.trace.apply(WIRE, x, weak=x.weak)

    def asarray(self, x: Operand, dtype: str | None = None) -> Value:
        """``x`` as a value; scalars and lists are float32, int64 or bool, arrays keep their dtype.

        Raises DTypeError unless ``x`` is an array of numbers, and for an integer that ``dtype``
        can't hold.
        """
        if isinstance(x, Value):
            return self.astype(x, dtype) if dtype else self._strong(x)
        return self._constant(x, dtype or (strong(scalar_dtype(x)) if is_scalar(x) else None))

    def scalar(self, x: bool | int | float) -> Value:
        """A weak scalar: it takes the dtype of the other operand."""
        return self._constant(x)

    def leaf(self, source: LeafSource, shape: Shape | None = None) -> Value:
        """The value of a source, bound before each run; of ``shape`` where it is open."""
        wanted = source.open_shape if shape is None else shape
        if wanted is None or None in wanted:
            raise ShapeError(
                "The shape is left open, and nothing in the diagram determines it.",
                next_step="Give a value or a shape.",
            )
        return self.trace.apply(LEAF, shape=tuple(wanted), dtype=source.leaf_dtype)

    def astype(self, x: Operand, dtype: str) -> Value:
        """``x`` in another dtype; gradient passes between floats only.

        Float to integer truncates towards zero; NaN, ∞ and what the integer dtype does not hold
        become an arbitrary number.
        """
        checked_dtype(dtype)
        value = self._lift(x)
        if value.dtype == dtype and not value.weak:
            return value
        return self.trace.apply(CAST, value, dtype=dtype)

    def broadcast_to(self, x: Operand, shape: int | Sequence[int]) -> Value:
        """``x`` repeated along new and length-1 axes; nothing is copied."""
        x, shape = self.asarray(x), lengths_of(shape)
        return x if x.shape == shape else self.trace.apply(BROADCAST, x, shape=shape)

    def reshape(self, x: Operand, shape: int | Sequence[int]) -> Value:
        """The same elements in row-major order in another shape; one length may be -1."""
        x = self.asarray(x)
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        require_axes(wanted)
        if wanted.count(-1) == 1:
            rest = -math.prod(wanted)
            if rest > 0 and x.size % rest == 0:
                wanted = tuple(x.size // rest if length == -1 else length for length in wanted)
        if any(length < 0 for length in wanted) or math.prod(wanted) != x.size:
            raise ShapeError(
                f"Shape {list(x.shape)} ({x.size} elements) can't be reshaped to {list(wanted)}.",
                next_step="The product of the lengths must stay the same; one may be -1.",
            )
        return x if x.shape == wanted else self.trace.apply(RESHAPE, x, shape=wanted)

    def full(self, shape: int | Sequence[int], fill: Operand, dtype: str | None = None) -> Value:
        """An array of ``fill``; of float32, int64 or bool by the fill, or of ``dtype``."""
        return self.broadcast_to(self.asarray(fill, dtype), shape)

    def zeros(self, shape: int | Sequence[int], dtype: str = DEFAULT_FLOAT) -> Value:
        """An array of 0."""
        return self.full(shape, 0, dtype)

    def ones(self, shape: int | Sequence[int], dtype: str = DEFAULT_FLOAT) -> Value:
        """An array of 1."""
        return self.full(shape, 1, dtype)

    def full_like(self, x: Value, fill: Operand) -> Value:
        """``fill`` in the shape and dtype of ``x``; its numbers are not used."""
        return self.full(x.shape, fill, x.dtype)

    def zeros_like(self, x: Value) -> Value:
        """Zeros in the shape and dtype of ``x``; its numbers are not used."""
        return self.full_like(x, 0)

    def ones_like(self, x: Value) -> Value:
        """Ones in the shape and dtype of ``x``; its numbers are not used."""
        return self.full_like(x, 1)

    def arange(
        self, start: int, stop: int | None = None, step: int = 1, dtype: str = "int64"
    ) -> Value:
        """Start, start + step, … before ``stop``; from 0 when only one number is given."""
        first, last = (0, start) if stop is None else (start, stop)
        if step == 0:
            raise ShapeError("arange needs a step that is not 0.")
        require_constant(max(0, -((first - last) // step)))
        return self._constant(np.arange(first, last, step), dtype)

    def eye(self, n: int, dtype: str = DEFAULT_FLOAT) -> Value:
        """The identity matrix of n rows."""
        (length,) = lengths_of(n)
        require_constant(length, length)
        return self._constant(np.eye(length), dtype)

    def _constant(self, x: Operand, dtype: str | None = None) -> Value:
        if isinstance(x, list | tuple) and any(isinstance(part, Value) for part in x):
            raise DTypeError("Values in a list make no array.", next_step="Use xp.stack.")
        if dtype is None and is_scalar(x):
            return self.trace.apply(CONSTANT, array=array_of(x, scalar_dtype(x)), weak=True)
        return self.trace.apply(CONSTANT, array=array_of(x, dtype))

    def _lift(self, x: Operand) -> Value:
        return x if isinstance(x, Value) else self._constant(x)

    def _strong(self, x: Value) -> Value:
        return self.trace.apply(CAST, x, dtype=strong(x.dtype)) if x.weak else x

    def as_float(self, x: Operand) -> Value:
        """``x``; integers and booleans as float32, with a remark where that may round."""
        x = self.asarray(x)
        return self._as(x, to_float(x.dtype))

    def _number(self, x: Operand) -> Value:
        """``x``, a boolean as int64; a weak scalar stays weak."""
        x = self._lift(x)
        return self.astype(x, to_number(x.dtype)) if x.dtype == "bool" else x

    def _promoted(
        self, a: Operand, b: Operand, floats: bool = False, numbers: bool = False
    ) -> tuple[Value, Value, bool]:
        """Both as values of their common dtype, and whether the result stays weak.

        With ``floats`` integers and booleans become floats, with ``numbers`` booleans integers.
        """
        left, right = _operand(self, a), _operand(self, b)
        dtype, weak = _kind(left)
        if (dtype, weak) != _kind(right):
            dtype, weak = common_dtype((dtype, weak), _kind(right))
        if floats and dtype not in FLOATS:
            dtype = "float64" if weak else DEFAULT_FLOAT
        elif numbers:
            dtype = to_number(dtype)
        return self._as(left, dtype), self._as(right, dtype), weak

    def _common(self, parts: Sequence[Operand], numbers: bool = False) -> list[Value]:
        """All as values of their common dtype, which is not weak."""
        operands = [_operand(self, part) for part in parts]
        dtype, weak = common_dtype(*map(_kind, operands))
        dtype = strong(dtype) if weak else dtype
        return [self._as(x, to_number(dtype) if numbers else dtype) for x in operands]

    def _as(self, x: Value | bool | int | float, dtype: str) -> Value:
        if not isinstance(x, Value):
            return self._constant(x, dtype)
        if x.dtype == dtype:
            return x
        if x in self.trace.weak_integers:
            number, port = self.trace.weak_integers[x]
            _require_fit(number, port, dtype)
            if dtype in FLOATS and dtype not in holders(number):
                self._remark_rounding(f"The integer {number} at {port!r} is rounded to {dtype}.")
        elif not x.weak and rounds(x.dtype, dtype):
            self._remark_rounding(
                f"{x.dtype} becomes {dtype}, which rounds integers beyond {LARGEST_EXACT[dtype]:,}."
            )
        return self.trace.apply(CAST, x, dtype=dtype)

    def _remark_rounding(self, text: str) -> None:
        self.trace.remark(
            text,
            "rounded-integers",
            next_step="Put a Cast before it: to float64, or to this dtype if no digits are lost.",
        )


def _require_fit(number: int, port: str, dtype: str) -> None:
    try:
        require_fit(number, dtype)
    except DTypeError as error:
        error.location = Location(port=port)
        error.next_step = f"Give it the dtype that you mean, or cast the {dtype} it meets."
        raise


def _operand(xp: BaseOps, x: Operand) -> Value | bool | int | float:
    """``x`` itself where it is a value or a Python scalar, else lifted."""
    if isinstance(x, Value) or is_scalar(x):
        return x
    if isinstance(x, np.ndarray | np.generic):
        return xp._constant(x)
    raise DTypeError(f"A {type(x).__name__} can't be used as a value.", got=repr(x)[:60])


def _kind(x: Value | bool | int | float) -> tuple[str, bool]:
    """The dtype of an operand, and whether it is weak."""
    return (x.dtype, x.weak) if isinstance(x, Value) else (scalar_dtype(x), True)
