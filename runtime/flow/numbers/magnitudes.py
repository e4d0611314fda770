"""How large what a wire carries is: the numbers that refine CARRIES, and their thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from runtime.engine.norms import rms, together
from runtime.flow.words.states import State

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the numeric states; all are dimensionless or in units of the gradient."""

    partial: float = 0.1
    """Share of elements that are exactly 0 from which on a wire is PARTIAL."""
    faint: float = 1e-7
    """Root mean square below which it is FAINT."""
    faint_relative: float = 1e-5
    """The same, as a share of the largest for the loss."""
    flood: float = 1e4
    """Root mean square above which it is FLOOD."""
    flood_relative: float = 1e4
    """The same, as a multiple of the median for the loss."""
    cancels: float = 1e-3
    """Share of its largest term below which a sum CANCELS."""


THRESHOLDS = Thresholds()


class Size(NamedTuple):
    """What is asked of one array: root mean square, zeros, elements, whether finite, subnormal."""

    rms: float
    zeros: int
    total: int
    finite: bool
    subnormal: bool

    @property
    def is_zero(self) -> bool:
        """All elements are exactly 0."""
        return self.zeros == self.total > 0


def measure(array: Array) -> Size:
    """The size of an array of floats."""
    finite = bool(np.isfinite(array).all())
    zeros = array.size - int(np.count_nonzero(array))
    small = False
    if finite and zeros < array.size:
        small = bool(np.max(np.abs(array)) < np.finfo(array.dtype).tiny)
    return Size(rms(array), zeros, array.size, finite, small)


def combined_size(sizes: Sequence[Size]) -> Size:
    """The size of several arrays taken as one."""
    return Size(
        together((size.rms, size.total) for size in sizes) or 0.0,
        sum(size.zeros for size in sizes),
        sum(size.total for size in sizes),
        all(size.finite for size in sizes),
        any(s.subnormal for s in sizes) and all(s.subnormal or s.is_zero for s in sizes),
    )


class Scale(NamedTuple):
    """The largest and the median root mean square of a loss; 0 where nothing is carried."""

    largest: float
    median: float


def scale_of(sizes: Iterable[Size]) -> Scale:
    """Over what is finite and not 0."""
    found = [s.rms for s in sizes if s.finite and 0 < s.rms < float("inf")]
    return Scale(max(found), median(found)) if found else Scale(0.0, 0.0)


def classify(size: Size, scale: Scale, thresholds: Thresholds) -> State:
    """The numeric state, by precedence."""
    if not size.finite:
        return State.NONFINITE
    if size.is_zero:
        return State.ZERO
    if not size.total:
        return State.CARRIES
    if size.rms > thresholds.flood or size.rms > thresholds.flood_relative * scale.median > 0:
        return State.FLOOD
    if (
        size.subnormal
        or size.rms < thresholds.faint
        or size.rms < thresholds.faint_relative * scale.largest
    ):
        return State.FAINT
    if size.zeros >= thresholds.partial * size.total:
        return State.PARTIAL
    return State.CARRIES
