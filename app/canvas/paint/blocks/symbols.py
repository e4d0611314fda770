"""Draws the symbols of blocks as outlines."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPixmap

from app.canvas.paint.legible import LEAST
from app.services.theme import TITLE, font

if TYPE_CHECKING:
    from PySide6.QtCore import QSizeF

SYMBOL = 22.0
"""Width reserved for a symbol on a face, px at 100 %."""
_LEAST_INK = 5.0


def legible_width(symbol: str, zoom: float) -> float:
    """Width of a symbol's place at which its letters are legible, scene units."""
    ink = _outline(symbol).boundingRect()
    return max(SYMBOL, max(ink.width(), ink.height()) * LEAST / (TITLE * zoom))


def draw_symbol(painter: QPainter, symbol: str, place: QRectF, colour: QColor) -> None:
    """Draw a symbol centred by its ink, since fonts place it differently.

    It is at most as wide and as high as the width of ``place``.
    """
    outline = _outline(symbol)
    ink = outline.boundingRect()
    size = max(ink.width(), ink.height(), 1.0)
    scale = min(place.width() / size, 1.0) if size > _LEAST_INK else _LEAST_INK / size
    _draw(painter, outline, place, scale, colour)


def symbol_scale(symbol: str, room: QSizeF) -> float | None:
    """The scale at which a symbol fits ``room``, widget px; None if it is illegible there."""
    ink = _outline(symbol).boundingRect()
    scale = min(room.width() / max(ink.width(), 1.0), room.height() / max(ink.height(), 1.0), 1.0)
    return scale if scale * TITLE >= LEAST else None


def draw_scaled_symbol(
    painter: QPainter, symbol: str, place: QRectF, scale: float, colour: QColor
) -> None:
    """Draw a symbol in the middle of ``place``."""
    _draw(painter, _outline(symbol), place, scale, colour)


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
def _outline(symbol: str) -> QPainterPath:
    path = QPainterPath()
    path.addText(0.0, 0.0, font(TITLE), symbol)
    return path


def _draw(
    painter: QPainter, outline: QPainterPath, place: QRectF, scale: float, colour: QColor
) -> None:
    painter.save()
    painter.translate(place.center())
    painter.scale(scale, scale)
    painter.translate(-outline.boundingRect().center())
    painter.fillPath(outline, colour)
    painter.restore()
