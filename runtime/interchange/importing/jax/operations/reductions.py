"""Reductions, running totals, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import block_dtype

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _reduced(kind: str) -> Callable[..., Staged]:
    def reduced(stage: Stage, params: Params, x: Staged) -> Staged:
        axes = tuple(int(axis) for axis in params["axes"])
        return stage.block(kind, x, axis=axes) if axes else x

    return reduced


def _logical(kind: str) -> Callable[..., Staged]:
    def reduced(stage: Stage, params: Params, x: Staged) -> Staged:
        if x.dtype != "bool":
            raise UnsupportedError(kind, "it combines the bits of integers")
        axes = tuple(int(axis) for axis in params["axes"])
        return stage.block(kind, x, axis=axes) if axes else x

    return reduced


def _index(kind: str) -> Callable[..., Staged]:
    def index(stage: Stage, params: Params, x: Staged) -> Staged:
        (axis,) = params["axes"]
        dtype = block_dtype(str(np.dtype(params["index_dtype"])))
        return stage.cast(stage.block(kind, x, axis=int(axis)), dtype)

    return index


def _running(kind: str) -> Callable[..., Staged]:
    """Along an axis, from the first element or from the last."""

    def running(stage: Stage, params: Params, x: Staged) -> Staged:
        axis = params["axis"]
        if params.get("reverse"):
            return stage.block(
                "Flip", stage.block(kind, stage.block("Flip", x, axis=axis), axis=axis), axis=axis
            )
        return stage.block(kind, x, axis=axis)

    return running


def _running_extreme(kind: str) -> Callable[..., Staged]:
    """The largest or smallest element so far, by doubling the reach: log2(n) blocks."""

    def running(stage: Stage, params: Params, x: Staged) -> Staged:
        axis, backward = params["axis"], params.get("reverse")
        length, reach = x.shape[axis], 1
        while reach < length:
            kept = stage.cut(
                x, axis, length - reach if backward else 0, None if backward else reach
            )
            near = stage.cut(x, axis, *((0, length - reach) if backward else (reach, length)))
            far = stage.cut(x, axis, *((reach, length) if backward else (0, length - reach)))
            best = stage.block(kind, near, far)
            parts = (best, kept) if backward else (kept, best)
            x = stage.block("Concat", *parts, axis=axis)
            reach *= 2
        return x

    return running


def _cumlogsumexp(stage: Stage, params: Params, x: Staged) -> Staged:
    """``log(cumsum(exp(x - max))) + max``, with the largest element of all."""
    axis = params["axis"]
    highest = stage.block("StopGradient", stage.block("Max", x, axis=axis, keepdims=True))
    total = _running("CumulativeSum")(stage, params, stage.block("Exp", x - highest))
    return stage.block("Log", total) + highest


def _sort(stage: Stage, params: Params, *arrays: Staged) -> list[Staged]:
    """The first array sorted, and the others in the same order."""
    axis, keys = params["dimension"], params["num_keys"]
    if len(arrays) == 1:
        return [stage.block("Sort", arrays[0], axis=axis)]
    if keys > 1:
        order = _order_by_many(stage, arrays[:keys], axis)
    else:
        order = stage.block("ArgSort", arrays[0], axis=axis)
    return [stage.block("TakeAlong", x, order, axis=axis) for x in arrays]


def _order_by_many(stage: Stage, keys: tuple[Staged, ...], axis: int) -> Staged:
    """The order by the first key, where equal by the second, and so on: stable from the last."""
    order = stage.block("ArgSort", keys[-1], axis=axis)
    for key in keys[-2::-1]:
        then = stage.block("ArgSort", stage.block("TakeAlong", key, order, axis=axis), axis=axis)
        order = stage.block("TakeAlong", order, then, axis=axis)
    return order


def _top_k(stage: Stage, params: Params, x: Staged) -> tuple[Staged, ...]:
    axis = params.get("axis", -1)
    return stage.blocks("TopK", x, k=params["k"], axis=axis)


REDUCTIONS: dict[str, Whole] = {
    "argmax": _index("ArgMax"),
    "argmin": _index("ArgMin"),
    "cumlogsumexp": _cumlogsumexp,
    "cummax": _running_extreme("Maximum"),
    "cummin": _running_extreme("Minimum"),
    "cumprod": _running("CumulativeProduct"),
    "cumsum": _running("CumulativeSum"),
    "reduce_and": _logical("AllTrue"),
    "reduce_max": _reduced("Max"),
    "reduce_min": _reduced("Min"),
    "reduce_or": _logical("AnyTrue"),
    "reduce_prod": _reduced("Prod"),
    "reduce_sum": _reduced("Sum"),
    "sort": _sort,
    "top_k": _top_k,
}
