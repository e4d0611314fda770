"""How often values occur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.axes import Axis, axis_around
from gradwire.runtime.views.levels import limits_of, remarks, span
from gradwire.runtime.views.pictures import HistogramPicture, NoPicture, Picture

if TYPE_CHECKING:
    from gradwire.blocks.library.views import Histogram
    from gradwire.blocks.values import Array

MOST_COUNTED = 2_000_000
"""Values that are counted; of more, these many evenly chosen ones are."""


def histogram(block: Histogram, x: Array | None) -> Picture:
    """The picture of a Histogram for the value of its input, None where it is not wired."""
    if x is None:
        return NoPicture(summary="wire an array")
    stride = max(1, x.size // MOST_COUNTED)
    values = np.asarray(x).reshape(-1)[::stride].astype(np.float64)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return NoPicture(summary="no values" if not values.size else "no finite values")
    low, high = limits_of(finite, block.low, block.high)
    edges = np.linspace(low, high, block.bins + 1)
    inside = finite[(finite >= low) & (finite <= high)]
    # Not np.histogram: it refuses a range that has no room for the edges of its bins.
    places = block.bins * ((inside / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0))
    counts = np.bincount(np.clip(places.astype(np.int64), 0, block.bins - 1), minlength=block.bins)
    tallest = float(counts.max())
    top = (
        Axis(0.5, 1.5 * max(1.0, tallest), log=True)
        if block.log
        else axis_around([counts], low=0.0, high=1.05 * max(1.0, tallest))
    )
    notes = list(remarks(values, low, high))
    if stride > 1:
        notes.insert(0, f"one of {stride} values")
    with np.errstate(all="ignore"):
        mean, deviation = number(finite.mean()), number(finite.std())
    return HistogramPicture(
        x=Axis(low, high),
        y=top,
        counts=counts.astype(np.int64),
        edges=edges,
        summary=f"{x.size:,} values, {span(low, high)}, mean {mean} ± {deviation}",
        notes=tuple(notes),
    )
