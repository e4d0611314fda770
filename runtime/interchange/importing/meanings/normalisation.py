"""Normalisation: over a batch, over axes, over groups of channels, by a norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings.reductions import mean_and_variance, norm
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def batch_norm(
    x: Staged,
    scale: Staged | None,
    bias: Staged | None,
    mean: Staged | None,
    variance: Staged | None,
    by_batch: bool,
    epsilon: float,
    momentum: float = 0.1,
    axis: int = 1,
    unbiased: bool = False,
) -> tuple[Staged, ...]:
    """In each channel, by the batch or by running statistics, which it gives too.

    ``momentum`` is the share of the new ones.
    """
    return x.stage.blocks(
        "BatchNorm", x, scale, bias, mean, variance, mode="batch" if by_batch else "running",
        epsilon=float(epsilon), momentum=momentum, axis=axis, unbiased=unbiased,
    )  # fmt: skip


def _last(axes: Sequence[int], rank: int) -> int | tuple[int, ...]:
    """Axes counted from the end; a single one is a bare number."""
    found = tuple(axis if axis < 0 else axis - rank for axis in axes)
    return found[0] if len(found) == 1 else found


def layer_norm(
    x: Staged, scale: Staged | None, bias: Staged | None, axes: Sequence[int], epsilon: float
) -> Staged:
    """Mean 0 and variance 1 over the last axes, then scaled and shifted."""
    return put("LayerNorm", x, scale, bias, epsilon=float(epsilon), axes=_last(axes, x.ndim))


def rms_norm(x: Staged, scale: Staged | None, axes: Sequence[int], epsilon: float) -> Staged:
    """Mean square 1 over the last axes, then scaled."""
    return put("RMSNorm", x, scale, epsilon=float(epsilon), axes=_last(axes, x.ndim))


def standardised(
    x: Staged,
    axes: Sequence[int],
    epsilon: float,
    scale: Staged | None = None,
    bias: Staged | None = None,
) -> tuple[Staged, Staged, Staged]:
    """Mean 0 and variance 1 over any axes; the mean and 1 over the deviation, too."""
    mean, variance = mean_and_variance(x, axes)
    inverse = 1.0 / put("Sqrt", variance + epsilon)
    y = (x - mean) * inverse
    y = y if scale is None else y * scale
    return (y if bias is None else y + bias), mean, inverse


def group_norm(
    x: Staged, groups: int, scale: Staged | None, bias: Staged | None, epsilon: float
) -> Staged:
    """Mean 0 and variance 1 in each group of channels of each example."""
    return put("GroupNorm", x, scale, bias, epsilon=float(epsilon), groups=int(groups))


def weight_norm(v: Staged, g: Staged, axis: int = 0) -> list[Staged]:
    """``g * v / |v|``, and the norms over all axes but one."""
    over = tuple(i for i in range(v.ndim) if i != axis)
    length = put("Norm", v, axis=over, keepdims=True)
    return [v * (g / length), length]


def by_length(x: Staged, axes: Sequence[int], order: float = 2) -> Staged:
    """``x`` over its norm along axes; a vector of zeros stays."""
    length = norm(x, order, axes, keepdims=True)
    return x / put("Where", put("Equal", length, x.like(0)), x.like(1), length)
