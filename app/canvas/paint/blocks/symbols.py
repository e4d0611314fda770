"""Draws the symbols of blocks as outlines, in the sizes of the type scale.

Words such as ``sin`` are all set in one size, signs and formulas in the largest that fits.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPixmap

from gradwire.app.canvas.paint.drawing import LEAST, legible_size
from gradwire.app.services.theme import BODY, SMALL, TITLE, font

if TYPE_CHECKING:
    from PySide6.QtCore import QSizeF

SYMBOL = 22.0
"""Width reserved for a symbol on a face, px at 100 %."""
_LEAST_INK = 5.0


def legible_width(symbol: str, zoom: float) -> float:
    """Width of a symbol's place at which its letters are legible, scene units."""
    return max(SYMBOL, _extent(symbol) * legible_size(_size(symbol), zoom) / TITLE)


def draw_symbol(painter: QPainter, symbol: str, place: QRectF, colour: QColor, zoom: float) -> None:
    """Draw a symbol, legible at ``zoom``: a word on the line of all words, others centred by their
    ink, since fonts place them differently.

    It is at most as wide and as high as the width of ``place``.
    """
    extent = _extent(symbol)
    most = legible_size(_size(symbol), zoom) / TITLE
    scale = min(place.width() / extent, most) if extent > _LEAST_INK else _LEAST_INK / extent
    _draw(painter, symbol, place, scale, colour)


def symbol_scale(symbol: str, room: QSizeF) -> float | None:
    """The scale at which a symbol fits ``room``, widget px; None if it is illegible there."""
    ink = _outline(symbol).boundingRect()
    scale = min(room.width() / max(ink.width(), 1.0), room.height() / max(ink.height(), 1.0), 1.0)
    return scale if scale * TITLE >= LEAST else None


def draw_scaled_symbol(
    painter: QPainter, symbol: str, place: QRectF, scale: float, colour: QColor
) -> None:
    """Draw a symbol in the middle of ``place``."""
    _draw(painter, symbol, place, scale, colour)


@lru_cache(maxsize=512)
def symbol_picture(symbol: str, scale: float, colour: str, ratio: float) -> QPixmap:
    """A symbol, centred in the pixmap."""
    ink = _outline(symbol).boundingRect().size() * scale
    box = QRectF(0.0, 0.0, math.ceil(ink.width()) + 2.0, math.ceil(ink.height()) + 2.0)
    pixmap = QPixmap((box.size() * ratio).toSize())
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_scaled_symbol(painter, symbol, box, scale, QColor(colour))
    return pixmap


@cache
def _size(symbol: str) -> int:
    """Size of a symbol's letters, px at 100 %."""
    if _is_word(symbol):
        return SMALL
    fitting = (size for size in (TITLE, BODY) if _extent(symbol) * size / TITLE <= SYMBOL)
    return next(fitting, SMALL)


def _is_word(symbol: str) -> bool:
    return len(symbol) > 1 and symbol.isascii() and symbol.isalnum()


def _centre(symbol: str) -> QPointF:
    """The point of an outline that is drawn in the middle of its place."""
    centre = _outline(symbol).boundingRect().center()
    if _is_word(symbol):
        centre.setY(_outline("x").boundingRect().center().y())
    return centre


def _extent(symbol: str) -> float:
    """The larger side of a symbol's ink at the size :data:`TITLE`."""
    ink = _outline(symbol).boundingRect()
    return max(ink.width(), ink.height(), 1.0)


@cache
def _outline(symbol: str) -> QPainterPath:
    path = QPainterPath()
    path.addText(0.0, 0.0, font(TITLE), symbol)
    return path


def _draw(painter: QPainter, symbol: str, place: QRectF, scale: float, colour: QColor) -> None:
    painter.save()
    painter.translate(place.center())
    painter.scale(scale, scale)
    painter.translate(-_centre(symbol))
    painter.fillPath(_outline(symbol), colour)
    painter.restore()
