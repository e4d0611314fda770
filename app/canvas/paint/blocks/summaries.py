"""Draws what remains of a face from afar: its name and one number, as large as fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint.blocks.symbols import draw_scaled_symbol, symbol_scale
from gradwire.app.canvas.paint.legible import LEAST
from gradwire.app.services.theme import Theme, font
from gradwire.runtime.diagram import block_height

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter

    from gradwire.app.canvas.state.looks import Look

_PAD, _GAP = 3.0, 4.0
_LARGEST = 10
"""Largest size of the text, widget px."""
_PITCH = 9.5
"""Least distance of two lines, widget px."""
_LINE = 1.17
"""Height of a line relative to its letters."""
_BEGINNING = 2.0
"""Least width of an elided name relative to its letters' size."""
_LEFT = Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignRight


def draw_summary(painter: QPainter, look: Look, theme: Theme, zoom: float, end: float) -> None:
    """Draw name and number of a look in scene units, with the face's top left at the origin.

    Everything ends ``end`` widget px before the right edge.
    """
    painter.save()
    painter.scale(1.0 / zoom, 1.0 / zoom)
    high = look.height * zoom if look.size is None else _LINE * name_size(zoom)
    room = QRectF(_PAD, 0.0, look.width * zoom - 2 * _PAD - end, high)
    if look.summary and room.height() >= 2 * _PITCH:
        _draw_two_lines(painter, look, theme, room, name_size(zoom))
    else:
        _draw_line(painter, look, theme, room, name_size(zoom))
    painter.restore()


def name_size(zoom: float) -> int:
    """Size of the names of all blocks at ``zoom``, widget px: two lines fit the lowest block."""
    return max(LEAST, min(int(block_height(1) * zoom / 2.0 / _LINE), _LARGEST))


def _draw_two_lines(painter: QPainter, look: Look, theme: Theme, room: QRectF, size: int) -> None:
    pitch = min(room.height() / 2.0, 1.3 * size)
    upper = QRectF(room.left(), room.center().y() - pitch, room.width(), pitch)
    lower = upper.translated(0.0, pitch)
    _draw_name(painter, look, theme, upper, font(size, bold=True))
    number, letters = _longest(look.summary, size, room.width())
    _draw_number(painter, look, theme, lower, number, letters)
    width = min(room.width() - _width(number, letters) - _GAP, 2.0 * size)
    scale = symbol_scale(look.symbol, QSizeF(width, 0.95 * size))
    if scale is not None:
        place = QRectF(lower.topLeft(), QSizeF(width, pitch))
        draw_scaled_symbol(painter, look.symbol, place, scale, theme.symbol(look.family))


def _draw_line(painter: QPainter, look: Look, theme: Theme, room: QRectF, size: int) -> None:
    bold = font(size, bold=True)
    number, letters = _longest(look.summary, size, room.width() - _width(look.name, bold) - _GAP)
    if not number:
        number, letters = _longest(look.summary, size, room.width() - _BEGINNING * size - _GAP)
    _draw_number(painter, look, theme, room, number, letters)
    if number:
        room = room.adjusted(0.0, 0.0, -_width(number, letters) - _GAP, 0.0)
    _draw_name(painter, look, theme, room, bold)


def _width(text: str, letters: QFont) -> float:
    return QFontMetricsF(letters).horizontalAdvance(text)


def _longest(texts: tuple[str, ...], size: int, room: float) -> tuple[str, QFont]:
    """The first of ``texts``, which become shorter, that fits, in the largest letters that do.

    Empty if none does.
    """
    for text in texts:
        for pixels in range(size, LEAST - 1, -1):
            letters = font(pixels)
            if _width(text, letters) <= room:
                return text, letters
    return "", font(LEAST)


def _draw_name(painter: QPainter, look: Look, theme: Theme, place: QRectF, letters: QFont) -> None:
    metrics = QFontMetricsF(letters)
    shown = metrics.elidedText(look.name, Qt.TextElideMode.ElideRight, place.width())
    _draw_text(painter, place, shown, letters, theme.ink, _LEFT)


def _draw_number(
    painter: QPainter, look: Look, theme: Theme, place: QRectF, text: str, letters: QFont
) -> None:
    fresh = theme.accent if text.startswith("∇") else theme.ink_soft
    colour = theme.ink_faint if look.stale else fresh
    _draw_text(painter, place, text, letters, colour, _RIGHT)


def _draw_text(
    painter: QPainter,
    place: QRectF,
    text: str,
    letters: QFont,
    colour: str,
    align: Qt.AlignmentFlag,
) -> None:
    if text:
        painter.setFont(letters)
        painter.setPen(QColor(colour))
        flags = align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
        painter.drawText(place, int(flags), text)
