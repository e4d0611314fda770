"""Steps that correlate images with weights by machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.computing import correlation
from gradwire.runtime.engine.compiler.front import Ending
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
    bias: Array | None = None,
    has_relu: bool = False,
    above: Array | None = None,
) -> list[Step]:
    """Steps that compute one phase of a value: images times weights, plus a bias, and its ReLU.

    Weights are (groups, filters, channels, rows, columns), the bias is (groups, filters); ``out``
    is contiguous and of the dtype of the images. The result is 0 where ``above``, an array like
    ``out``, is not above 0.
    """
    groups, filters, channels = weights.shape[:3]
    steps, found = _lying(weights, weights[0, 0].flags.c_contiguous, images.dtype)
    if bias is not None:
        more, bias = _lying(bias, True, images.dtype)
        steps += more
    windows = rows.windows(images, channels, down, along)
    packed, ending = found.reshape(groups, filters, -1), Ending(bias, has_relu)
    if filterwise.suits(images.dtype, filters, along.positions):
        places = rows.places(images, down, along)
        return [*steps, *filterwise.correlate(value, windows, places, packed, out, ending, above)]
    return [*steps, correlation(windows, packed, out, ending, above)]


def _lying(x: Array, lies_so: bool, dtype: Any) -> tuple[list[Step], Array]:
    """An array of this dtype; a copy, and the step that fills it, unless it lies so already."""
    if lies_so and x.dtype == dtype:
        return [], x
    found = np.empty(x.shape, dtype)
    return [copying(found, x)], found


def wide(dtype: Any) -> Any:
    """The dtype to compute in: float32 for float16."""
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def rounding(out: Array, found: Array) -> Step:
    """A step that writes what was found to ``out``, of another dtype or elsewhere."""
    return partial(np.copyto, out, found, "same_kind")
