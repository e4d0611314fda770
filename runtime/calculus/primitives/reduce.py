"""Reductions, running sums and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blocks.block import Shape
from blocks.errors import ShapeError
from runtime.calculus.dtypes import INTEGERS, UNSIGNED
from runtime.calculus.primitives.base import BaseNames, axes_of, axis_of
from runtime.calculus.trace import Primitive, Value

Axis = int | tuple[int, ...] | None


def _kept(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def _reduced(x: Value, *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    return _kept(x.shape, axes), x.dtype


def _to_bool(x: Value, *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    return _kept(x.shape, axes), "bool"


def _to_index(x: Value, *, axis: int) -> tuple[Shape, str]:
    return _kept(x.shape, (axis,)), "int64"


def _reducer(function: Callable[..., Any]) -> Callable[..., None]:
    """A kernel that keeps reduced axes at length 1; float16 sums in float32."""

    def kernel(x: Any, *, out: Any, axes: tuple[int, ...]) -> None:
        if function is np.add.reduce and out.dtype == np.float16:
            out[...] = np.sum(x, axis=axes, keepdims=True, dtype=np.float32)
        else:
            function(x, axis=axes, keepdims=True, out=out)

    return kernel


def _arg(function: Callable[..., Any]) -> Callable[..., None]:
    def kernel(x: Any, *, out: Any, axis: int) -> None:
        function(x, axis=axis, keepdims=True, out=out)

    return kernel


def _logsumexp_kernel(x: Any, *, out: Any, axes: tuple[int, ...]) -> None:
    """log Σ eˣ shifted by the largest element; a largest of ±∞ is not shifted by."""
    top = np.max(x, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, out.dtype.type(0))
    np.log(np.sum(np.exp(x - shift), axis=axes, keepdims=True), out=out)
    np.add(out, shift, out=out)


def _cumulative_kernel(x: Any, *, out: Any, axis: int) -> None:
    np.cumsum(x, axis=axis, out=out)


def _extreme_rule(xp: Any, g: Value, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    """The extreme elements share the gradient evenly."""
    ties = xp.astype(xp.equal(x, out), g.dtype)
    return g * ties / xp.sum(ties, axes, keepdims=True)  # type: ignore[no-any-return]  # xp is untyped in rules


def _cumulative_rule(xp: Any, g: Value, out: Value, x: Value, *, axis: int) -> Value:
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis), axis), axis)  # type: ignore[no-any-return]  # xp is untyped in rules


SUM = Primitive("sum", _reduced, _reducer(np.add.reduce),
                (lambda xp, g, out, x, *, axes: xp.broadcast_to(g, x.shape),))  # fmt: skip
MAX = Primitive("max", _reduced, _reducer(np.maximum.reduce), (_extreme_rule,))
MIN = Primitive("min", _reduced, _reducer(np.minimum.reduce), (_extreme_rule,))
LOGSUMEXP = Primitive("logsumexp", _reduced, _logsumexp_kernel,
                      (lambda xp, g, out, x, *, axes: g * xp.exp(x - out),))  # fmt: skip
ANY = Primitive("any", _to_bool, _reducer(np.logical_or.reduce), (None,))
ALL = Primitive("all", _to_bool, _reducer(np.logical_and.reduce), (None,))
ARGMAX = Primitive("argmax", _to_index, _arg(np.argmax), (None,))
ARGMIN = Primitive("argmin", _to_index, _arg(np.argmin), (None,))
CUMULATIVE_SUM = Primitive("cumulative_sum", lambda x, *, axis: (x.shape, x.dtype),
                           _cumulative_kernel, (_cumulative_rule,))  # fmt: skip


class ReduceNames(BaseNames):
    """``axis`` is an int, a tuple, or None for all axes; ``keepdims`` leaves length 1."""

    __slots__ = ()

    def _reduce(self, primitive: Primitive, x: Value, axis: Axis, keepdims: bool) -> Value:
        axes = axes_of(axis, x.ndim)
        if not axes and primitive is not LOGSUMEXP:
            return x if primitive not in (ANY, ALL) else self.astype(x, "bool")
        result = self.trace.apply(primitive, x, axes=axes)
        return result if keepdims else self._without(result, axes)

    def _without(self, x: Value, axes: tuple[int, ...]) -> Value:
        return self.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))

    def _not_empty(self, x: Value, axis: Axis, what: str) -> None:
        if any(x.shape[i] == 0 for i in axes_of(axis, x.ndim)):
            raise ShapeError(f"{what} of no elements: shape {list(x.shape)}, axis {axis}.")

    def _summable(self, x: Any) -> Value:
        x = self.asarray(x)
        if x.dtype == "bool" or x.dtype in INTEGERS:
            return self.astype(x, "uint64" if x.dtype in UNSIGNED else "int64")
        return x

    def sum(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """Σ x; integers and booleans sum in int64 (unsigned in uint64)."""
        return self._reduce(SUM, self._summable(x), axis, keepdims)

    def mean(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """Σ x / n; integers become float32."""
        x = self._float(x)
        self._not_empty(x, axis, "The mean")
        total = self.sum(x, axis, keepdims)
        return total * (1.0 / max(1, x.size // max(1, total.size)))  # type: ignore[no-any-return]  # operators are typed Any

    def max(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """The largest; ties share the gradient evenly."""
        x = self.asarray(x)
        self._not_empty(x, axis, "The maximum")
        return self._reduce(MAX, x, axis, keepdims)

    def min(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """The smallest; ties share the gradient evenly."""
        x = self.asarray(x)
        self._not_empty(x, axis, "The minimum")
        return self._reduce(MIN, x, axis, keepdims)

    def prod(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """Π x, multiplied pairwise as a tree, so that zeros have exact derivatives of all orders."""
        x = self._summable(x)
        axes = axes_of(axis, x.ndim)
        rest = tuple(i for i in range(x.ndim) if i not in axes)
        kept = _kept(x.shape, axes)
        rows = self.reshape(self.permute_dims(x, rest + axes), (*(x.shape[i] for i in rest), -1)
                            if x.size else (*(x.shape[i] for i in rest), 0))  # fmt: skip
        while rows.shape[-1] > 1:
            length = rows.shape[-1]
            half = length // 2
            pairs = rows[..., :half] * rows[..., half : 2 * half]
            odd = rows[..., 2 * half :]
            rows = self.concat([pairs, odd], -1) if length % 2 else pairs
        if rows.shape[-1] == 0:
            rows = self.ones((*rows.shape[:-1], 1), x.dtype)
        return self.reshape(rows, kept if keepdims else rows.shape[:-1])

    def any(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        return self._reduce(ANY, self.asarray(x), axis, keepdims)

    def all(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        return self._reduce(ALL, self.asarray(x), axis, keepdims)

    def logsumexp(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """log Σ eˣ without overflow."""
        x = self._float(x)
        self._not_empty(x, axis, "logsumexp")
        return self._reduce(LOGSUMEXP, x, axis, keepdims)

    def softmax(self, x: Any, axis: int = -1) -> Value:
        """eˣ / Σ eˣ along one axis, without overflow."""
        return self.exp(self.log_softmax(x, axis))  # type: ignore[no-any-return]  # a name of another family

    def log_softmax(self, x: Any, axis: int = -1) -> Value:
        """x − log Σ eˣ along one axis."""
        x = self._float(x)
        return x - self.logsumexp(x, axis_of(axis, x.ndim), keepdims=True)

    def argmax(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Value:
        """Index of the first largest element, int64; of all elements in row-major order when
        ``axis`` is None. No gradient."""
        return self._argument(ARGMAX, x, axis, keepdims)

    def argmin(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Value:
        """Index of the first smallest element; see ``argmax``."""
        return self._argument(ARGMIN, x, axis, keepdims)

    def _argument(self, primitive: Primitive, x: Any, axis: int | None, keepdims: bool) -> Value:
        x = self.asarray(x)
        self._not_empty(x, axis, primitive.name)
        if axis is None:
            index = self.trace.apply(primitive, self.reshape(x, (x.size,)), axis=0)
            return self.reshape(index, (1,) * x.ndim if keepdims else ())
        axis = axis_of(axis, x.ndim)
        index = self.trace.apply(primitive, x, axis=axis)
        return index if keepdims else self._without(index, (axis,))

    def norm(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Value:
        """√Σ x², with gradient 0 at 0."""
        x = self._float(x)
        total = self.sum(x * x, axis, keepdims)
        zero = self.equal(total, 0)
        return self.where(zero, 0.0, self.sqrt(self.where(zero, 1.0, total)))  # type: ignore[no-any-return]  # names of other families

    def cumulative_sum(self, x: Any, axis: int = 0) -> Value:
        """Running sum along an axis, the first element included."""
        x = self._summable(x)
        return self.trace.apply(CUMULATIVE_SUM, x, axis=axis_of(axis, x.ndim))

    def sum_to(self, x: Value, shape: Shape) -> Value:
        """Sum ``x`` over the axes that broadcasting ``shape`` to ``x.shape`` added."""
        if x.shape == shape:
            return x
        lead = x.ndim - len(shape)
        axes = tuple(range(lead)) + tuple(
            lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1
        )
        return self.reshape(self.trace.apply(SUM, x, axes=axes) if axes else x, shape)


