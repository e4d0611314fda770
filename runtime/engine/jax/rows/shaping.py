"""Casts, identities, and rearranging elements: without gathers, so that split axes stay split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from gradwire.runtime.engine.jax.rows.base import JaxRow

if TYPE_CHECKING:
    from jax import Array

    from gradwire.blocks.block import Shape

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
