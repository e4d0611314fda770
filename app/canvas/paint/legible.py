"""The least size of text on the screen: smaller text is drawn larger, or not at all."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

from gradwire.app.services.theme import SMALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QRectF

LEAST = 9
"""Least pixel size of the letters on the screen."""
_CELL = 64.0
"""Side of the squares in which texts are looked for that lie on each other, px."""


def legible_size(size: int, zoom: float) -> int:
    """``size``, or the least size of letters that are legible after scaling by ``zoom``."""
    return max(size, math.ceil(LEAST / zoom - 1e-9))


def legible_scale(scale: float, size: int = SMALL) -> float:
    """``scale``, or the least one at which letters of ``size`` are legible."""
    return max(scale, math.ceil(1000 * LEAST / size) / 1000)


def apart(boxes: Sequence[QRectF]) -> list[int]:
    """The numbers of those ``boxes`` that lie on none before them: nobody reads text on text."""
    kept: defaultdict[tuple[int, int], list[QRectF]] = defaultdict(list)
    found = []
    for number, box in enumerate(boxes):
        cells = [*product(_span(box.left(), box.right()), _span(box.top(), box.bottom()))]
        if not any(box.intersects(other) for cell in cells for other in kept[cell]):
            found.append(number)
            for cell in cells:
                kept[cell].append(box)
    return found


def _span(low: float, high: float) -> range:
    """The numbers of the squares from one place to another."""
    return range(int(low // _CELL), int(high // _CELL) + 1)
