"""Reductions, running sums, softmax and norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.kernels.summing import accumulate, total
from gradwire.runtime.calculus.kernels.transposing import contiguous, is_transposed
from gradwire.runtime.calculus.primitives.base import YES_OR_NO, Axis, BaseOps, axes_of, axis_of
from gradwire.runtime.calculus.spelling import Spelling
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand


def _kept(shape: Shape, axes: tuple[int, ...]) -> Shape:
    return tuple(1 if i in axes else n for i, n in enumerate(shape))


def _reduced(x: Value, *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    return _kept(x.shape, axes), x.dtype


def _to_bool(x: Value, *, axes: tuple[int, ...]) -> tuple[Shape, str]:
    return _kept(x.shape, axes), "bool"


def _to_index(x: Value, *, axis: int) -> tuple[Shape, str]:
    return _kept(x.shape, (axis,)), "int64"


def _same(x: Value, *, axis: int) -> tuple[Shape, str]:
    return x.shape, x.dtype


def _wide(dtype: np.dtype[np.generic]) -> DTypeLike:
    """The dtype to accumulate in: float16 loses whole elements beyond 2048."""
    return np.float32 if dtype == np.float16 else dtype


def _reducer(function: Callable[..., object]) -> Callable[..., None]:
    """A kernel that keeps reduced axes at length 1."""

    def kernel(x: Array, *, out: Array, axes: tuple[int, ...]) -> None:
        function(x, axis=axes, keepdims=True, out=out)

    return kernel


def _sum_kernel(x: Array, *, out: Array, axes: tuple[int, ...]) -> None:
    np.copyto(out, _sum(x, axes), casting="unsafe")


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    return total(x, axes, _wide(x.dtype))


def _arg(function: Callable[..., object]) -> Callable[..., None]:
    def kernel(x: Array, *, out: Array, axis: int) -> None:
        function(x, axis=axis, keepdims=True, out=out)

    return kernel


def _logsumexp_kernel(x: Array, *, out: Array, axes: tuple[int, ...]) -> None:
    """``log Σ eˣ`` shifted by the largest element, unless that is ±∞."""
    top = np.max(x, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, out.dtype.type(0))
    np.add(np.log(_sum(np.exp(x - shift), axes)), shift, out=out, casting="unsafe")


_BLOCK = 1 << 16
"""Elements that are normalised at a time: small enough to stay in a processor's cache."""


def _in_blocks(kernel: Callable[..., None]) -> Callable[..., None]:
    """A kernel that goes through large arrays some rows at a time, for the same bits."""

    def call(x: Array, *, out: Array, axis: int) -> None:
        x = contiguous(x) if is_transposed(x) else x
        each = max(1, _BLOCK // max(1, math.prod(x.shape[1:])))
        if not axis or len(x) <= each:
            kernel(x, out=out, axis=axis)
            return
        count = math.ceil(len(x) / each)
        for i in range(count):  # of almost the same size: sums of few are added in another order
            block = slice(i * len(x) // count, (i + 1) * len(x) // count)
            kernel(x[block], out=out[block], axis=axis)

    return call


@_in_blocks
def _softmax_kernel(x: Array, *, out: Array, axis: int) -> None:
    np.subtract(x, np.max(x, axis=axis, keepdims=True), out=out)
    np.exp(out, out=out)
    np.divide(out, _sum(out, (axis,)), out=out, casting="unsafe")


@_in_blocks
def _log_softmax_kernel(x: Array, *, out: Array, axis: int) -> None:
    """Shifted first: ``x − log Σ eˣ`` would lose digits where x is large."""
    np.subtract(x, np.max(x, axis=axis, keepdims=True), out=out)
    np.subtract(out, np.log(_sum(np.exp(out), (axis,))), out=out, casting="unsafe")


def _cumulative_kernel(x: Array, *, out: Array, axis: int) -> None:
    if x.dtype == np.float16:
        np.copyto(out, np.cumsum(x, axis=axis, dtype=np.float32), casting="unsafe")
    else:
        accumulate(x, out, axis)


def _extreme_rule(xp: Namespace, g: Value, out: Value, x: Value, *, axes: tuple[int, ...]) -> Value:
    """The extreme elements share the gradient evenly."""
    ties = xp.astype(xp.equal(x, out), g.dtype)
    return g * ties / xp.sum(ties, axes, keepdims=True)


def _logsumexp_rule(
    xp: Namespace, g: Value, out: Value, x: Value, *, axes: tuple[int, ...]
) -> Value:
    """``g·softmax(x)``: ``e^(x − out)`` over its sum, because ``out`` of large x is rounded.

    Where an element is infinite the sum is NaN, and finite elements get 0.
    """
    parts = xp.exp(x - out)
    total = xp.sum(parts, axes, keepdims=True)
    return xp.where(total > 0, g / total, g) * parts


def _softmax_rule(xp: Namespace, g: Value, out: Value, x: Value, *, axis: int) -> Value:
    return out * (g - xp.sum(g * out, axis, keepdims=True))


def _log_softmax_rule(xp: Namespace, g: Value, out: Value, x: Value, *, axis: int) -> Value:
    return g - xp.exp(out) * xp.sum(g, axis, keepdims=True)


def _cumulative_rule(xp: Namespace, g: Value, out: Value, x: Value, *, axis: int) -> Value:
    return xp.flip(xp.cumulative_sum(xp.flip(g, axis), axis), axis)


def _reduction(name: str) -> Spelling:
    text = f"{name}(a, axis=axes, keepdims=True)"
    return Spelling(f"np.{text}", jax=f"jnp.{text}")


def _place(name: str) -> Spelling:
    text = f"a.{name}(axis=axis, keepdims=True)"
    return Spelling(text, f"a.{name}(dim=axis, keepdim=True)", text)


def _normalised(name: str) -> Spelling:
    return Spelling(f"_{name}(a, axis)", f"a.{name}(axis)", f"jax.nn.{name}(a, axis=axis)")


# fmt: off
SUM = Primitive("sum", _reduced, _sum_kernel,
                (lambda xp, g, out, x, *, axes: xp.broadcast_to(g, x.shape),),
                spelling=Spelling(latex=(r"\sum a:product", "product")))
MAX = Primitive("max", _reduced, _reducer(np.maximum.reduce), (_extreme_rule,),
                spelling=_reduction("max"))
MIN = Primitive("min", _reduced, _reducer(np.minimum.reduce), (_extreme_rule,),
                spelling=_reduction("min"))
LOGSUMEXP = Primitive("logsumexp", _reduced, _logsumexp_kernel, (_logsumexp_rule,),
                      spelling=Spelling("_logsumexp(a, axes)",
                                        jax="jax.nn.logsumexp(a, axis=axes, keepdims=True)"))
SOFTMAX = Primitive("softmax", _same, _softmax_kernel, (_softmax_rule,),
                    spelling=_normalised("softmax"))
LOG_SOFTMAX = Primitive("log_softmax", _same, _log_softmax_kernel, (_log_softmax_rule,),
                        spelling=_normalised("log_softmax"))
_CONSTANT = NoDerivative("is piecewise constant", "soften {it} with a Softmax")
ANY = Primitive("any", _to_bool, _reducer(np.logical_or.reduce), (None,), no_derivative=YES_OR_NO,
                spelling=_reduction("any"))
ALL = Primitive("all", _to_bool, _reducer(np.logical_and.reduce), (None,), no_derivative=YES_OR_NO,
                spelling=_reduction("all"))
ARGMAX = Primitive("argmax", _to_index, _arg(np.argmax), (None,), no_derivative=_CONSTANT,
                   spelling=_place("argmax"))
ARGMIN = Primitive("argmin", _to_index, _arg(np.argmin), (None,), no_derivative=_CONSTANT,
                   spelling=_place("argmin"))
CUMULATIVE_SUM = Primitive("cumulative_sum", _same, _cumulative_kernel, (_cumulative_rule,),
                           spelling=Spelling(torch="a.cumsum(axis, dtype=dtype)",
                                             jax="jnp.cumsum(a, axis=axis, dtype=dtype)"))
# fmt: on


class ReduceOps(BaseOps):
    """``axis`` is an int, a tuple, or None for all axes; ``keepdims`` leaves length 1."""

    __slots__ = ()

    def _reduce(self, primitive: Primitive, x: Value, axis: Axis, keepdims: bool) -> Value:
        axes = axes_of(axis, x.ndim)
        if not axes:
            return x
        result = self.trace.apply(primitive, x, axes=axes)
        return result if keepdims else self._without(result, axes)

    def _without(self, x: Value, axes: tuple[int, ...]) -> Value:
        return self.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in axes))

    def _not_empty(self, x: Value, axis: Axis, what: str) -> None:
        if any(x.shape[i] == 0 for i in axes_of(axis, x.ndim)):
            raise ShapeError(f"{what} of no elements: shape {list(x.shape)}, axis {axis}.")

    def _summable(self, x: Operand) -> Value:
        value = self.asarray(x)
        if value.dtype in FLOATS:
            return value
        return self.astype(value, "uint64" if value.dtype == "uint64" else "int64")

    def _widened(self, x: Value) -> Value:
        return self.astype(x, "float32") if x.dtype == "float16" else x

    def sum(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``Σ x``; integers and booleans give int64 (uint64 itself), float16 adds in float32."""
        return self._reduce(SUM, self._summable(x), axis, keepdims)

    def mean(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``Σ x / n``; integers become float32; float16 is summed in float32, so that it does not
        overflow.
        """
        x = self.as_float(x)
        self._not_empty(x, axis, "The mean")
        count = math.prod(x.shape[i] for i in axes_of(axis, x.ndim))
        return self.astype(self.sum(self._widened(x), axis, keepdims) / count, x.dtype)

    def max(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """The largest, or NaN where one is; ties share the gradient evenly."""
        x = self.asarray(x)
        self._not_empty(x, axis, "The maximum")
        return self._reduce(MAX, x, axis, keepdims)

    def min(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """The smallest, or NaN where one is; ties share the gradient evenly."""
        x = self.asarray(x)
        self._not_empty(x, axis, "The minimum")
        return self._reduce(MIN, x, axis, keepdims)

    def prod(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``Π x``, multiplied pairwise as a tree: zeros have exact derivatives of all orders."""
        x = self._summable(x)
        axes = axes_of(axis, x.ndim)
        rest = tuple(i for i in range(x.ndim) if i not in axes)
        lengths = tuple(x.shape[i] for i in rest)
        count = math.prod(x.shape[i] for i in axes)
        rows = self.reshape(self.xp.permute_dims(x, rest + axes), (*lengths, count))
        if not count:
            rows = self.xp.pad(rows, (*[(0, 0)] * len(lengths), (0, 1)), 1)
        while (length := rows.shape[-1]) > 1:
            half = length // 2
            pairs = rows[..., :half] * rows[..., half : 2 * half]
            rows = self.xp.concat([pairs, rows[..., 2 * half :]], -1) if length % 2 else pairs
        return self.reshape(rows, _kept(x.shape, axes) if keepdims else lengths)

    def any(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """Whether at least one is true, or not 0."""
        return self._reduce(ANY, self.astype(x, "bool"), axis, keepdims)

    def all(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """Whether all are true, or not 0."""
        return self._reduce(ALL, self.astype(x, "bool"), axis, keepdims)

    def logsumexp(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``log Σ eˣ`` without overflow; −∞ where all are −∞."""
        x = self.as_float(x)
        self._not_empty(x, axis, "logsumexp")
        return self._reduce(LOGSUMEXP, x, axis, keepdims)

    def softmax(self, x: Operand, axis: int = -1) -> Value:
        """``eˣ / Σ eˣ`` along one axis, without overflow; NaN where all are −∞ or one is ∞."""
        return self._normalised(SOFTMAX, x, axis)

    def log_softmax(self, x: Operand, axis: int = -1) -> Value:
        """``x − log Σ eˣ`` along one axis; NaN where softmax is."""
        return self._normalised(LOG_SOFTMAX, x, axis)

    def _normalised(self, primitive: Primitive, x: Operand, axis: int) -> Value:
        x = self.as_float(x)
        self._not_empty(x, axis, primitive.name)
        return self.trace.apply(primitive, x, axis=axis_of(axis, x.ndim))

    def argmax(self, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
        """Index of the first largest element, int64; NaN counts as largest. No gradient.

        Of all elements in row-major order when ``axis`` is None.
        """
        return self._argument(ARGMAX, x, axis, keepdims)

    def argmin(self, x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
        """Index of the first smallest element; see ``argmax``."""
        return self._argument(ARGMIN, x, axis, keepdims)

    def _argument(
        self, primitive: Primitive, x: Operand, axis: int | None, keepdims: bool
    ) -> Value:
        x = self.asarray(x)
        self._not_empty(x, axis, primitive.name)
        if axis is None:
            index = self.trace.apply(primitive, self.reshape(x, (x.size,)), axis=0)
            return self.reshape(index, (1,) * x.ndim if keepdims else ())
        axis = axis_of(axis, x.ndim)
        index = self.trace.apply(primitive, x, axis=axis)
        return index if keepdims else self._without(index, (axis,))

    def norm(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        """``√Σ x²``, with gradient 0 at 0."""
        x = self.as_float(x)
        wide = self._widened(x)
        total = self.sum(wide * wide, axis, keepdims)
        zero = self.xp.equal(total, 0)
        return self.astype(
            self.xp.where(zero, 0.0, self.xp.sqrt(self.xp.where(zero, 1.0, total))), x.dtype
        )

    def cumulative_sum(self, x: Operand, axis: int = 0) -> Value:
        """Running sum along an axis, the first element included."""
        x = self._summable(x)
        return self.trace.apply(CUMULATIVE_SUM, x, axis=axis_of(axis, x.ndim))

    def cumulative_product(self, x: Operand, axis: int = 0) -> Value:
        """Running product along an axis, the first element included.

        In log₂ n rounds of products, so that zeros have exact derivatives of all orders.
        """
        out = self._summable(x)
        axis = axis_of(axis, out.ndim)
        length, done = out.shape[axis], 1
        before = (slice(None),) * axis
        while done < length:
            later = out[*before, done:] * out[*before, : length - done]
            out = self.xp.concat([out[*before, :done], later], axis)
            done *= 2
        return out

    def sum_to(self, x: Value, shape: Shape) -> Value:
        """Sum ``x`` over the axes that broadcasting ``shape`` to ``x.shape`` added."""
        if x.shape == shape:
            return x
        lead = x.ndim - len(shape)
        axes = tuple(range(lead)) + tuple(
            lead + i for i, n in enumerate(shape) if n == 1 and x.shape[lead + i] != 1
        )
        return self.reshape(self.trace.apply(SUM, x, axes=axes) if axes else x, shape)
