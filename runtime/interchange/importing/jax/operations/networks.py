"""Convolution and pooling over one to three axes, whatever the order of the axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import spread

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_RANK = 3
"""The most axes that a block moves a window along."""


def conv_general_dilated(stage: Stage, params: Params, x: Staged, weight: Staged) -> Staged:
    """Cross-correlation of images with filters, or a transposed convolution."""
    axes, rank = params["dimension_numbers"], x.ndim - 2
    if not 1 <= rank <= MAX_RANK:
        raise UnsupportedError("conv_general_dilated", f"it is over {rank} axes")
    x, weight = stage.transpose(x, axes.lhs_spec), stage.transpose(weight, axes.rhs_spec)
    x, groups = _grouped(stage, x, params)
    y = _transposed(stage, params, x, weight, groups)
    if y is None:
        y = _convolved(stage, params, x, weight, groups)
    return stage.transpose(y, np.argsort(axes.out_spec).tolist())


def _grouped(stage: Stage, x: Staged, params: Params) -> tuple[Staged, int]:
    """Groups of images, which have filters of their own, become groups of channels."""
    groups = params["batch_group_count"]
    if groups == 1:
        return x, params["feature_group_count"]
    images, channels = x.shape[0] // groups, x.shape[1]
    apart = stage.reshape(x, (groups, images, *x.shape[1:]))
    ahead = stage.transpose(apart, (1, 0, *range(2, apart.ndim)))
    return stage.reshape(ahead, (images, groups * channels, *x.shape[2:])), groups


def _convolved(stage: Stage, params: Params, x: Staged, weight: Staged, groups: int) -> Staged:
    for axis, step in enumerate(params["lhs_dilation"], 2):
        x = spread(x, axis, step - 1)
    stride, padding = params["window_strides"], params["padding"]
    return windows.conv(x, weight, None, stride, padding, params["rhs_dilation"], groups)


def _transposed(
    stage: Stage, params: Params, x: Staged, weight: Staged, groups: int
) -> Staged | None:
    """The transposed convolution that it is, if it is one: its filters are turned around."""
    stride, dilation = params["lhs_dilation"], params["rhs_dilation"]
    rank = x.ndim - 2
    if groups != 1 or all(n == 1 for n in stride) or any(n != 1 for n in params["window_strides"]):
        return None
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    ends = [(r - low, r - high) for r, (low, high) in zip(reach, params["padding"], strict=True)]
    if any(n < 0 for pair in ends for n in pair):
        return None
    turned = stage.block("Flip", weight, axis=tuple(range(2, rank + 2)))
    outward = stage.transpose(turned, (1, 0, *range(2, rank + 2)))
    return windows.conv_transpose(x, outward, None, stride, ends, 0, dilation)


@dataclass(frozen=True)
class _Pool:
    """Windows over some axes of an array."""

    axes: Sequence[int]
    window: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[tuple[int, int]]
    dilation: Sequence[int]

    @classmethod
    def of(cls, params: Params, rank: int) -> _Pool:
        """That of a primitive of ``reduce_window``."""
        keys = ("window_dimensions", "window_strides", "padding")
        window, stride, padding = (params[key] for key in keys)
        dilation = params.get("window_dilation") or (1,) * rank
        base = params.get("base_dilation") or (1,) * rank
        axes = [a for a in range(rank) if window[a] != 1 or stride[a] != 1 or any(padding[a])]
        axes = axes or [rank - 1]
        if len(axes) > MAX_RANK or any(n != 1 for n in base):
            raise UnsupportedError("reduce_window", "no block has such a window")
        window, stride, dilation = ([v[a] for a in axes] for v in (window, stride, dilation))
        return cls(axes, window, stride, [padding[a] for a in axes], dilation)

    def applied(self, stage: Stage, kind: str, x: Staged) -> Staged:
        """The largest element of each window, or the sum."""
        others = [axis for axis in range(x.ndim) if axis not in self.axes]
        order = [*others, *self.axes]
        x = stage.transpose(x, order)
        outer = x.shape[: len(others)]
        images = outer if len(outer) == 2 else (math.prod(outer), 1)
        y = windows.pool(
            kind,
            stage.reshape(x, (*images, *x.shape[len(others) :])),
            self.window,
            self.stride,
            self.padding,
            self.dilation,
        )
        return stage.transpose(stage.reshape(y, (*outer, *y.shape[2:])), np.argsort(order).tolist())


def _largest(stage: Stage, params: Params, x: Staged) -> Staged:
    return _Pool.of(params, x.ndim).applied(stage, "Max", x)


def _smallest(stage: Stage, params: Params, x: Staged) -> Staged:
    return -_largest(stage, params, -x)


def _sum(stage: Stage, params: Params, x: Staged) -> Staged:
    return _Pool.of(params, x.ndim).applied(stage, "Sum", x)


def _spread_back(stage: Stage, params: Params, given: Staged, x: Staged) -> Staged:
    """Values put at the largest element of each window: the gradient of pooling."""
    if str(params["select_prim"]) != "ge":
        raise UnsupportedError("select_and_scatter_add", "it is not of the largest elements")
    return stage.block("Gradient", _largest(stage, params, x) * given, x)


NETWORKS: dict[str, Whole] = {
    "conv_general_dilated": conv_general_dilated,
    "reduce_window_max": _largest,
    "reduce_window_min": _smallest,
    "reduce_window_sum": _sum,
    "select_and_scatter_add": _spread_back,
}
