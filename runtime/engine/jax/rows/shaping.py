"""Casts, identities, and rearranging elements: without gathers, so that split axes stay split; and
reductions, running sums, softmax and root mean squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
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


Slices = tuple[slice, ...]


def _ranges(index: Slices, shape: Shape) -> list[range]:
    return [range(*part.indices(n)) for part, n in zip(index, shape, strict=True)]


def _backwards(ranges: list[range]) -> tuple[int, ...]:
    return tuple(axis for axis, part in enumerate(ranges) if part.step < 0)


def _slice(x: Array, *, index: Slices) -> Array:
    """Forwards, and reversed where a step is negative."""
    ranges = _ranges(index, x.shape)
    ends = [(min(part), max(part) + 1) if part else (0, 0) for part in ranges]
    starts, stops = zip(*ends, strict=True)
    found = lax.slice(x, starts, stops, [abs(part.step) for part in ranges])
    return _flipped(found, _backwards(ranges))


def _embed(x: Array, *, shape: Shape, index: Slices, fill: Any) -> Array:
    """Padding, also between the elements."""
    ranges = _ranges(index, shape)
    widths = [
        (min(part), n - 1 - max(part), abs(part.step) - 1) if part else (0, n, 0)
        for part, n in zip(ranges, shape, strict=True)
    ]
    around = np.asarray(fill).astype(x.dtype)
    return lax.pad(_flipped(x, _backwards(ranges)), around, widths)


def _flipped(x: Array, axes: tuple[int, ...]) -> Array:
    return lax.rev(x, axes) if axes else x


IDENTITY = JaxRow(lambda x, *_, **__: x)
"""The first input; the gradient is the trace's concern."""

ROWS = {
    "sum": JaxRow(_sum),
    "logsumexp": JaxRow(_logsumexp),
    "softmax": JaxRow(_softmax),
    "log_softmax": JaxRow(_log_softmax),
    "cumulative_sum": JaxRow(lambda x, *, axis: lax.cumsum(wide(x), axis)),
    "rms": JaxRow(_rms),
    "sum_of_squares": JaxRow(_sum_of_squares),
    "reshape": JaxRow(lambda x, *, shape: lax.reshape(x, shape)),
    "permute_dims": JaxRow(lambda x, *, axes: lax.transpose(x, axes)),
    "flip": JaxRow(lambda x, *, axes: lax.rev(x, axes)),
    "slice": JaxRow(_slice),
    "embed": JaxRow(_embed),
    "concat": JaxRow(lambda *parts, axis, ends: lax.concatenate(parts, axis)),
    "stop_gradient": IDENTITY,
    "surrogate": IDENTITY,
    "clip_gradient": IDENTITY,
    "loss_head": IDENTITY,
    "custom_vjp": IDENTITY,
}
