"""Paints notes and frames."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas.paint.blocks.faces import CORNER
from app.canvas.scene.camera import PLAIN
from app.services.theme import BODY, font

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats
    from app.canvas.state.view_state import ViewState
    from runtime.diagram.model import Note

_PAD, _RISE = 10.0, 7.0
_FLAGS = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)


def paint_notes(painter: QPainter, view: ViewState, area: Floats, *, frames: bool) -> None:
    """Paint the frames of the page, or its other notes, within ``area`` of the scene."""
    left, top, right, bottom = area.tolist()
    for name, note in {**view.scene.page.notes, **view.dragged_notes}.items():
        x, y = note.at
        seen = x < right and x + note.width > left and y < bottom and y + note.height > top
        if seen and note.frame == frames:
            _paint_note(painter, view, note, selected=name in view.selection.notes)


def note_height(text: str, width: float) -> float:
    """The height a note of ``width`` needs for its text, scene units."""
    room = QRectF(0.0, 0.0, width - 2 * _PAD, 1e5)
    text_height = QFontMetricsF(font(BODY)).boundingRect(room, _FLAGS, text).height()
    return math.ceil(text_height) + 2 * _RISE


def _paint_note(painter: QPainter, view: ViewState, note: Note, *, selected: bool) -> None:
    theme, zoom = view.theme, view.camera.zoom
    painter.save()
    painter.translate(view.camera.x + zoom * note.at.x, view.camera.y + zoom * note.at.y)
    painter.scale(zoom, zoom)
    height = note.height if note.frame else max(note.height, note_height(note.text, note.width))
    box = QRectF(0.0, 0.0, note.width, height)
    pen = QPen(QColor(theme.accent if selected else theme.hairline), 1.5 if selected else 1.0)
    pen.setCosmetic(zoom < 1.0)  # from afar the frame would fade
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush if note.frame else QColor(theme.note))
    painter.drawRoundedRect(box, CORNER, CORNER)
    if zoom >= PLAIN:
        painter.setPen(QPen(QColor(theme.ink_faint), 1.0))
        for inset in (4.0, 8.0):
            painter.drawLine(
                QPointF(box.right() - inset, box.bottom() - 2.0),
                QPointF(box.right() - 2.0, box.bottom() - inset),
            )
        painter.setPen(QColor(theme.ink_soft if note.frame else theme.ink))
        painter.setFont(font(BODY, bold=note.frame))
        room = box.adjusted(_PAD, _RISE, -_PAD, -_RISE)
        painter.drawText(room, _FLAGS, note.text)
    painter.restore()
