"""What every family stands on: leaves, constants, casts, promotion, shape rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.block import Shape, Source
from blocks.errors import DTypeError, ShapeError
from blocks.values import DTYPES
from runtime.calculus.dtypes import (
    NUMPY,
    is_float,
    promote,
    promote_weak,
    scalar_dtype,
    strong,
    to_float,
    to_number,
)
from runtime.calculus.trace import Primitive, Trace, Value


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
    """``axis`` counted from 0; raises ShapeError when there is no such axis."""
    if not -ndim <= axis < ndim:
        raise ShapeError(
            f"Axis {axis} is out of range for rank {ndim}.",
            expected=f"an axis from {-ndim} to {ndim - 1}" if ndim else "no axis (a scalar)",
        )
    return axis % ndim


def axes_of(axis: int | tuple[int, ...] | list[int] | None, ndim: int) -> tuple[int, ...]:
    """Sorted axes counted from 0; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = [axis_of(a, ndim) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"Axes {axis} name one axis twice.")
    return tuple(sorted(axes))


def _broadcast_to(x: Value, *, shape: Shape) -> tuple[Shape, str]:
    if broadcast_shapes(x.shape, shape) != shape:
        raise ShapeError(f"Shape {list(x.shape)} doesn't broadcast to {list(shape)}.")
    return shape, x.dtype


def _reshape_kernel(x: Any, *, shape: Shape) -> Any:
    return x.reshape(shape)


def _cast_kernel(x: Any, *, out: Any, dtype: str) -> None:
    np.copyto(out, x, casting="unsafe")


LEAF = Primitive("leaf", lambda *, shape, dtype: (shape, dtype), kernel=None)  # type: ignore[arg-type]  # never run: the session binds leaves
CONSTANT = Primitive(
    "constant",
    lambda *, array: (array.shape, array.dtype.name),
    lambda *, array: array,
    view=True,
)
CAST = Primitive(
    "cast",
    lambda x, *, dtype: (x.shape, dtype),
    _cast_kernel,
    (lambda xp, g, out, x, *, dtype: xp.astype(g, x.dtype),),
    elementwise=True,
)
BROADCAST = Primitive(
    "broadcast_to",
    _broadcast_to,
    lambda x, *, shape: np.broadcast_to(x, shape),
    (lambda xp, g, out, x, *, shape: xp.sum_to(g, x.shape),),
    view=True,
)
RESHAPE = Primitive(
    "reshape",
    lambda x, *, shape: (shape, x.dtype),
    _reshape_kernel,
    (lambda xp, g, out, x, *, shape: xp.reshape(g, x.shape),),
    view=True,
)


class BaseNames:
    """Lifting of Python data, casts and promotion."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def asarray(self, x: Any, dtype: str | None = None) -> Value:
        """``x`` as a value: scalars are float32/int64/bool, arrays keep their dtype."""
        if not isinstance(x, Value):
            x = self._constant(x)
        return self.astype(x, dtype) if dtype else self._strong(x)

    def scalar(self, x: bool | int | float) -> Value:
        """A weak scalar: it takes the dtype of what it meets."""
        return self._constant(x)

    def leaf(self, source: Source, shape: Shape | None = None) -> Value:
        """The value of a source block, bound before each run; of ``shape`` where it is left open."""
        wanted = source.open_shape if shape is None else shape
        if wanted is None or None in wanted:
            raise ShapeError(
                "The shape is left open, and nothing in the diagram tells it.",
                next_step="Give a value or a shape.",
            )
        return self.trace.apply(LEAF, shape=tuple(wanted), dtype=source.leaf_dtype)

    def astype(self, x: Any, dtype: str) -> Value:
        """``x`` in another dtype; gradient passes between floats only.

        Float to integer truncates towards zero.
        """
        if dtype not in DTYPES:
            raise DTypeError(
                f"There is no dtype {dtype!r}.", expected="one of " + ", ".join(DTYPES)
            )
        x = self._lift(x)
        if x.dtype == dtype and not x.weak:
            return x
        return self.trace.apply(CAST, x, dtype=dtype)

    def broadcast_to(self, x: Any, shape: Shape) -> Value:
        """``x`` repeated along new and length-1 axes; nothing is copied."""
        x = self.asarray(x)
        shape = tuple(shape)
        return x if x.shape == shape else self.trace.apply(BROADCAST, x, shape=shape)

    def reshape(self, x: Any, shape: int | Shape) -> Value:
        """The same elements in row-major order in another shape; one length may be -1."""
        x = self.asarray(x)
        wanted = (shape,) if isinstance(shape, int) else tuple(shape)
        known = 1
        for length in wanted:
            known *= 1 if length == -1 else length
        if wanted.count(-1) == 1 and known and x.size % known == 0:
            wanted = tuple(x.size // known if length == -1 else length for length in wanted)
            known = x.size
        if -1 in wanted or any(length < 0 for length in wanted) or known != x.size:
            raise ShapeError(
                f"Shape {list(x.shape)} ({x.size} elements) can't be reshaped "
                f"to {list(wanted)}.",
                next_step="The product of the lengths must stay the same; one may be -1.",
            )
        return x if x.shape == wanted else self.trace.apply(RESHAPE, x, shape=wanted)

    def full(self, shape: int | Shape, fill: Any, dtype: str | None = None) -> Value:
        """An array of ``fill``; float32/int64/bool by the fill unless told otherwise."""
        shape = (shape,) if isinstance(shape, int) else shape
        if dtype and not isinstance(fill, Value):
            fill = np.asarray(fill, dtype)
        return self.broadcast_to(self.asarray(fill, dtype), shape)

    def zeros(self, shape: int | Shape, dtype: str = "float32") -> Value:
        return self.full(shape, 0, dtype)

    def ones(self, shape: int | Shape, dtype: str = "float32") -> Value:
        return self.full(shape, 1, dtype)

    def full_like(self, x: Value, fill: Any) -> Value:
        """``fill`` in the shape and dtype of ``x``, of which nothing else is used."""
        return self.full(x.shape, fill, x.dtype)

    def zeros_like(self, x: Value) -> Value:
        return self.full_like(x, 0)

    def ones_like(self, x: Value) -> Value:
        return self.full_like(x, 1)

    def arange(
        self, start: int, stop: int | None = None, step: int = 1, dtype: str = "int64"
    ) -> Value:
        first, last = (0, start) if stop is None else (start, stop)
        return self._constant(np.arange(first, last, step, dtype=dtype))

    def eye(self, n: int, dtype: str = "float32") -> Value:
        return self._constant(np.eye(n, dtype=dtype))

    def _constant(self, x: Any, dtype: str | None = None) -> Value:
        weak = dtype is None and isinstance(x, bool | int | float)
        array = np.array(x, dtype=dtype or (scalar_dtype(x) if weak else None))
        if array.dtype.name not in DTYPES:
            raise DTypeError(f"{array.dtype} can't be traced.", expected=", ".join(DTYPES))
        array.setflags(write=False)
        return self.trace.apply(CONSTANT, array=array, weak=weak)

    def _lift(self, x: Any) -> Value:
        return x if isinstance(x, Value) else self._constant(x)

    def _strong(self, x: Value) -> Value:
        return self.trace.apply(CAST, x, dtype=strong(x.dtype)) if x.weak else x

    def _float(self, x: Any) -> Value:
        """``x`` as a float value, whatever it was."""
        x = self.asarray(x)
        return self.astype(x, to_float(x.dtype))

    def _promoted(self, a: Any, b: Any, floats: bool = False, numbers: bool = False) -> Any:
        """Both as values of their common dtype, and whether the result stays weak."""
        a, b = self._arrays_lifted(a), self._arrays_lifted(b)
        weak_a, weak_b = _weak_dtype(a), _weak_dtype(b)
        if weak_a and weak_b:
            dtype = promote(weak_a, weak_b)
            if floats and not is_float(dtype):
                dtype = "float64"
        elif weak_b:
            dtype = promote_weak(a.dtype, weak_b)
        elif weak_a:
            dtype = promote_weak(b.dtype, weak_a)
        else:
            dtype = promote(a.dtype, b.dtype)
        if floats:
            dtype = to_float(dtype)
        elif numbers:
            dtype = to_number(dtype)
        return self._as(a, dtype), self._as(b, dtype), bool(weak_a and weak_b)

    def _arrays_lifted(self, x: Any) -> Any:
        return self._constant(x) if isinstance(x, np.ndarray | np.generic) else x

    def _as(self, x: Any, dtype: str) -> Value:
        if isinstance(x, Value):
            return x if x.dtype == dtype else self.trace.apply(CAST, x, dtype=dtype)
        with np.errstate(over="ignore"):
            return self._constant(np.array(x).astype(NUMPY[dtype]), dtype)


def _weak_dtype(x: Any) -> str | None:
    if isinstance(x, Value):
        return x.dtype if x.weak else None
    if isinstance(x, bool | int | float):
        return scalar_dtype(x)
    raise DTypeError(f"A {type(x).__name__} can't be used as a value.", got=repr(x)[:60])
