"""Reductions, running sums, softmax and root mean squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jax import lax
from jax import numpy as jnp

from gradwire.runtime.engine.jax.rows.base import JaxRow, wide

if TYPE_CHECKING:
    from jax import Array

    from gradwire.blocks.block import Shape


def _sum(x: Array, *, axes: Shape) -> Array:
    if x.dtype == jnp.bool_:
        return jnp.any(x, axis=axes, keepdims=True)
    x = wide(x)
    return jnp.sum(x, axis=axes, keepdims=True, dtype=x.dtype)


def _logsumexp(x: Array, *, axes: Shape) -> Array:
    """Shifted by the largest element, unless that is ±∞."""
    x = wide(x)
    top = jnp.max(x, axis=axes, keepdims=True)
    shift = jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
    return lax.log(_sum(lax.exp(x - shift), axes=axes)) + shift


def _shifted(x: Array, axis: int) -> Array:
    x = wide(x)
    return x - jnp.max(x, axis=axis, keepdims=True)


def _softmax(x: Array, *, axis: int) -> Array:
    grown = lax.exp(_shifted(x, axis))
    return grown / _sum(grown, axes=(axis,))


def _log_softmax(x: Array, *, axis: int) -> Array:
    shifted = _shifted(x, axis)
    return shifted - lax.log(_sum(lax.exp(shifted), axes=(axis,)))


def _rms(x: Array) -> Array:
    """√(Σ x² / n) in float64; 0 for an empty array.

    Squares of float64 overflow or underflow long before the numbers themselves do.
    """
    if not x.size:
        return jnp.zeros((), jnp.float64)
    top = jnp.max(jnp.abs(x)).astype(jnp.float64)
    plain = (top > 0) & (top < jnp.inf)
    unit = jnp.where(plain, top, jnp.ones_like(top))
    mean = jnp.mean(jnp.square(x.astype(jnp.float64) / unit))
    return jnp.where(plain, top * jnp.sqrt(mean), top)


def _sum_of_squares(x: Array) -> Array:
    """Σ x² in float64, by rows of the dtype of x unless that overflows."""

    def exactly() -> Array:
        return jnp.sum(jnp.square(x.astype(jnp.float64)))

    if x.dtype != jnp.float32 or not x.ndim:
        return exactly()
    total = jnp.sum(jnp.sum(jnp.square(x), axis=-1).astype(jnp.float64))
    return lax.cond(jnp.isfinite(total), lambda: total, exactly)


ROWS = {
    "sum": JaxRow(_sum),
    "logsumexp": JaxRow(_logsumexp),
    "softmax": JaxRow(_softmax),
    "log_softmax": JaxRow(_log_softmax),
    "cumulative_sum": JaxRow(lambda x, *, axis: lax.cumsum(wide(x), axis)),
    "rms": JaxRow(_rms),
    "sum_of_squares": JaxRow(_sum_of_squares),
}
