"""Draws arrays of lines and rectangles in one call each, without copying them, finds places in the
widget, and keeps text legible: it is drawn larger, or not at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np
import shiboken6
from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor

from gradwire.app.services.theme import SMALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from PySide6.QtGui import QFont, QPainter, QPen

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState

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


_HALF = 0.5 + 1e-6
"""What is that little below the middle between two device px is taken to be there, so that it
goes to the same one wherever the page has been panned to.
"""


def draw_lines(painter: QPainter, lines: Floats) -> None:
    """Draw ``lines`` (n, 4) with the painter's pen."""
    if len(lines):
        buffer = np.ascontiguousarray(lines, np.float64)
        start = cast("QLineF", shiboken6.wrapInstance(buffer.ctypes.data, QLineF))
        painter.drawLines(start, len(buffer))


def draw_rects(painter: QPainter, rects: Floats) -> None:
    """Draw ``rects`` (n, 4: left, top, width, height) with the painter's pen and brush."""
    if len(rects):
        buffer = np.ascontiguousarray(rects, np.float64)
        start = cast("QRectF", shiboken6.wrapInstance(buffer.ctypes.data, QRectF))
        painter.drawRects(start, len(buffer))


@contextmanager
def placed(painter: QPainter, x: float, y: float, scale: float) -> Iterator[None]:
    """Paint around a point as the origin, ``scale`` times as large; afterwards as before."""
    painter.save()
    painter.translate(x, y)
    painter.scale(scale, scale)
    yield
    painter.restore()


def widget_rect(view: ViewState, rect: Floats) -> QRectF:
    """A rectangle of the scene (4,: left, top, width, height) in widget px."""
    return QRectF(*view.camera.rects_to_widget(rect[None])[0].tolist())


def box_between(left: float, top: float, right: float, bottom: float) -> QRectF:
    """The rectangle between two corners."""
    return QRectF(left, top, right - left, bottom - top)


def draw_frame(painter: QPainter, box: QRectF, pen: QPen, room: float) -> None:
    """Draw a frame around a face, ``room`` px from it."""
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(-room, -room, room, room), room + 3.0, room + 3.0)


def draw_tag(
    painter: QPainter, box: QRectF, text: str, letters: QFont, colours: tuple[str, str], pen: QPen,
    corner: float,
) -> None:  # fmt: skip
    """Draw a text in a rounded box, in the ``colours`` of the letters and of their ground."""
    ink, ground = colours
    painter.setPen(pen)
    painter.setBrush(QColor(ground))
    painter.drawRoundedRect(box, corner, corner)
    painter.setPen(QColor(ink))
    painter.setFont(letters)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)


def snapped(points: Floats, ratio: float) -> Floats:
    """``points`` in widget px at the nearest device px, of which ``ratio`` make a widget px."""
    return np.asarray(np.floor(points * ratio + _HALF) / ratio)


def nearest(place: float) -> int:
    """The device px nearest to a place between two."""
    return math.floor(place + _HALF)
