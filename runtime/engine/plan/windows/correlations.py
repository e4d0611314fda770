"""Steps that correlate images with weights by machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.computing import correlation
from gradwire.runtime.engine.plan.copies.images import copying
from gradwire.runtime.engine.plan.windows import filterwise

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Step
    from gradwire.runtime.engine.plan.windows.rows import Phase, Rows

Array = NDArray[Any]


def correlate(
    value: Value,
    images: Array,
    rows: Rows,
    down: Phase,
    along: Phase,
    weights: Array,
    out: Array,
) -> list[Step]:
    """Steps that compute one phase of a value: images times weights.

    Weights are (groups, filters, channels, rows, columns); ``out`` is contiguous and of the dtype
    of the images.
    """
    groups, filters, channels = weights.shape[:3]
    steps: list[Step] = []
    if weights.dtype != images.dtype or not weights[0, 0].flags.c_contiguous:
        weights, source = np.empty(weights.shape, images.dtype), weights
        steps.append(copying(weights, source))
    windows = rows.windows(images, channels, down, along)
    packed = weights.reshape(groups, filters, -1)
    if filterwise.suits(images.dtype, filters, along.positions):
        places = rows.places(images, down, along)
        return [*steps, *filterwise.correlate(value, windows, places, packed, out)]
    return [*steps, correlation(windows, packed, out)]


def wide(dtype: Any) -> Any:
    """The dtype to compute in: float32 for float16."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def rounding(out: Array, found: Array) -> Step:
    """A step that writes what was found to ``out``, of another dtype or elsewhere."""
    return partial(np.copyto, out, found, "same_kind")
