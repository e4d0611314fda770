"""The least size of text on the screen: smaller text is drawn larger, or not at all."""

from __future__ import annotations

import math

from gradwire.app.services.theme import SMALL

LEAST = 9
"""Least pixel size of the letters on the screen."""


def legible_size(size: int, zoom: float) -> int:
    """``size``, or the least size of letters that are legible after scaling by ``zoom``."""
    return max(size, math.ceil(LEAST / zoom - 1e-9))


def legible_scale(scale: float, size: int = SMALL) -> float:
    """``scale``, or the least one at which letters of ``size`` are legible."""
    return max(scale, math.ceil(1000 * LEAST / size) / 1000)
