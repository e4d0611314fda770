"""Convolution and pooling over one to three axes, whatever the order of the axes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import windows
from gradwire.runtime.interchange.importing.meanings.shapes import flip, spread, swap
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_RANK = 3
"""The most axes that a block moves a window along."""


def _convolution(stage: Stage, params: Params, x: Staged, weight: Staged) -> Staged:
    """Cross-correlation of images with filters, or a transposed convolution."""
    axes, rank = params["dimension_numbers"], x.ndim - 2
    if not 1 <= rank <= MAX_RANK:
        raise UnsupportedError("conv_general_dilated", f"it is over {rank} axes")
    x, weight = stage.transpose(x, axes.lhs_spec), stage.transpose(weight, axes.rhs_spec)
    x, groups = _grouped(stage, x, params)
    y = _transposed(params, x, weight, groups)
    if y is None:
        for axis, step in enumerate(params["lhs_dilation"], 2):
            x = spread(x, axis, step - 1)
        stride, padding = params["window_strides"], params["padding"]
        y = windows.conv(x, weight, None, stride, padding, params["rhs_dilation"], groups)
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


def _transposed(params: Params, x: Staged, weight: Staged, groups: int) -> Staged | None:
    """The transposed convolution that it is, if it is one: its filters are turned around."""
    stride, dilation = params["lhs_dilation"], params["rhs_dilation"]
    if groups != 1 or all(n == 1 for n in stride) or any(n != 1 for n in params["window_strides"]):
        return None
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    ends = [(r - low, r - high) for r, (low, high) in zip(reach, params["padding"], strict=True)]
    if any(n < 0 for pair in ends for n in pair):
        return None
    turned = swap(flip(weight, range(2, x.ndim)), 0, 1)
    return windows.conv_transpose(x, turned, None, stride, ends, dilation=dilation)


def _pooled(kind: str, stage: Stage, params: Params, x: Staged) -> Staged:
    """The "Max" or "Sum" of windows over some axes, which come last for it."""
    keys = ("window_dimensions", "window_strides", "padding", "window_dilation")
    found: list[Any] = [params.get(key) or (1,) * x.ndim for key in keys]
    window, stride, padding, _ = found
    places = range(x.ndim)
    axes = [a for a in places if window[a] != 1 or stride[a] != 1 or any(padding[a])]
    axes = axes or [x.ndim - 1]
    if len(axes) > MAX_RANK or any(n != 1 for n in params.get("base_dilation") or ()):
        raise UnsupportedError("reduce_window", "no block has such a window")
    order = [*(a for a in places if a not in axes), *axes]
    x = stage.transpose(x, order)
    outer, inner = x.shape[: -len(axes)], x.shape[-len(axes) :]
    images = outer if len(outer) == 2 else (math.prod(outer), 1)
    size, steps, ends, apart = ([given[a] for a in axes] for given in found)
    y = windows.pool(kind, stage.reshape(x, (*images, *inner)), size, steps, ends, apart)
    return stage.transpose(stage.reshape(y, (*outer, *y.shape[2:])), np.argsort(order).tolist())


def _spread_back(stage: Stage, params: Params, given: Staged, x: Staged) -> Staged:
    """Values put at the largest element of each window: the gradient of pooling."""
    if str(params["select_prim"]) != "ge":
        raise UnsupportedError("select_and_scatter_add", "it is not of the largest elements")
    return put("Gradient", _pooled("Max", stage, params, x) * given, x)


NETWORKS: dict[str, Whole] = {
    "conv_general_dilated": _convolution,
    "reduce_window_max": partial(_pooled, "Max"),
    "reduce_window_min": lambda stage, params, x: -_pooled("Max", stage, params, -x),
    "reduce_window_sum": partial(_pooled, "Sum"),
    "select_and_scatter_add": _spread_back,
}
