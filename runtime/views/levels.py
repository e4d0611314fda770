"""Numbers as levels of a scale, and the words for what does not fit one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.colours import FIRST, LAST, NOT_FINITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.runtime.views.pictures import Levels


def levels_of(values: object, low: float, high: float) -> Levels:
    """Levels of values, from ``low`` to ``high`` > ``low``; what is beyond gets those of the ends.

    Infinities are beyond both; NaN gets a level of its own.
    """
    found = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        share = np.clip((found / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0), 0.0, 1.0)
    known = ~np.isnan(found)
    scaled = np.round(FIRST + (LAST - FIRST) * np.where(known, share, 0.0))
    return np.asarray(np.where(np.isfinite(found), scaled, NOT_FINITE), np.uint8)


def limits_of(
    values: object, low: float | None, high: float | None, centre: float | None = None
) -> tuple[float, float]:
    """The ends of a scale that all finite values fit, where they are not given.

    Around a ``centre`` both are equally far from it unless both are given.
    """
    found = np.asarray(values, np.float64)
    finite = found[np.isfinite(found)]
    least = float(finite.min()) if finite.size else 0.0
    most = float(finite.max()) if finite.size else 1.0
    if centre is not None and (low is None or high is None):
        given = [abs(end - centre) for end in (low, high) if end is not None]
        far = given[0] if given else max(abs(least - centre), abs(most - centre))
        low, high = centre - (far or 1.0), centre + (far or 1.0)
    low, high = least if low is None else low, most if high is None else high
    low, high = min(low, high), max(low, high)
    return (
        (low, high)
        if high > low
        else (low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0))
    )


def remarks(values: object, low: float, high: float) -> Iterator[str]:
    """What of the values does not fit a range: ``3 not finite``, ``12 beyond the range``."""
    found = np.asarray(values, np.float64)
    bad = int(np.count_nonzero(~np.isfinite(found)))
    with np.errstate(invalid="ignore"):
        outside = int(np.count_nonzero(np.isfinite(found) & ((found < low) | (found > high))))
    if bad:
        yield f"{bad:,} not finite"
    if outside:
        yield f"{outside:,} beyond the range"


def span(low: float, high: float) -> str:
    """A range in words: ``−1.5 … 2``."""
    return f"{number(low)} … {number(high)}"
