"""How large a gradient is: what is measured on every wire, and the scale of a loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.engine.norms import rms, together

Array = NDArray[Any]


class Size(NamedTuple):
    """What is measured on one array.

    Root mean square, exact zeros, elements, whether all are finite, whether it is subnormal, and
    the largest magnitude (NaN where one is).
    """

    rms: float
    zeros: int
    total: int
    finite: bool
    subnormal: bool
    peak: float = 0.0

    @property
    def is_zero(self) -> bool:
        """All elements are exactly 0."""
        return self.zeros == self.total > 0


def measure(array: Array) -> Size:
    """The size of an array of floats."""
    finite = bool(np.isfinite(array).all())
    zeros = array.size - int(np.count_nonzero(array))
    peak = float(np.max(np.abs(array))) if array.size else 0.0
    subnormal = 0.0 < peak < np.finfo(array.dtype).tiny
    return Size(rms(array), zeros, array.size, finite, subnormal, peak)


def combined_size(sizes: Sequence[Size]) -> Size:
    """The size of several arrays taken as one."""
    return Size(
        together((size.rms, size.total) for size in sizes) or 0.0,
        sum(size.zeros for size in sizes),
        sum(size.total for size in sizes),
        all(size.finite for size in sizes),
        any(s.subnormal for s in sizes) and all(s.subnormal or s.is_zero for s in sizes),
        max((size.peak for size in sizes), default=0.0),
    )


class Scale(NamedTuple):
    """The largest and the median root mean square of a loss; 0 where nothing is carried."""

    largest: float
    median: float


def scale_of(sizes: Iterable[Size]) -> Scale:
    """Over what is finite and not 0."""
    found = [s.rms for s in sizes if s.finite and 0 < s.rms < float("inf")]
    return Scale(max(found), median(found)) if found else Scale(0.0, 0.0)
