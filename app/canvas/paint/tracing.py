"""Paints a traced wire's siblings, and labels at both of its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint.drawing import draw_lines
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.polylines import strokes
from gradwire.app.canvas.scene.tracing import siblings
from gradwire.app.canvas.state.port_labels import wire_ends
from gradwire.app.services.theme import SMALL, font, scaled

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import ViewState

_PAD, _RISE = 6.0, 2.0
_ASIDE, _EDGE = 8.0, 6.0


def paint_siblings(painter: QPainter, view: ViewState, key: str) -> None:
    """Paint the other wires from the same port, thin and without lanes."""
    painter.setPen(QPen(QColor(view.theme.wire), max(1.0, view.camera.unit)))
    for _, courses in view.scene.courses(siblings(view.scene, key)):
        points = courses.to_widget(view.camera).flatten(STEPS)
        draw_lines(painter, strokes(points))


def paint_wire_ends(painter: QPainter, view: ViewState, key: str, area: QRectF) -> None:
    """Paint labels at both ends; at the edge of ``area`` for an end outside it."""
    for text, box in end_labels(view, key, area):
        painter.setPen(QPen(QColor(view.theme.hairline), 1.0))
        painter.setBrush(QColor(view.theme.field))
        painter.drawRoundedRect(box, 4.0, 4.0)
        painter.setPen(QColor(view.theme.ink))
        painter.setFont(font(scaled(SMALL)))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)


def end_labels(
    view: ViewState, key: str, area: QRectF
) -> tuple[tuple[str, QRectF], tuple[str, QRectF]]:
    """The labels at source and target of a wire, each with its place in the widget."""
    ports = view.scene.wire_ports[view.scene.wire_index[key]]
    (x0, y0), (x1, y1) = view.camera.to_widget(view.scene.port_points(ports)).tolist()
    source, target = wire_ends(view.annotations.page, key)
    above, below = _size(source), _size(target)
    first = QRectF(x0 + _ASIDE, y0 - _ASIDE - above.y(), above.x(), above.y())
    second = QRectF(x1 - _ASIDE - below.x(), y1 + 2 * _ASIDE, below.x(), below.y())
    first, second = _within(first, area), _within(second, area)
    if first.intersects(second):
        second.moveTop(first.bottom() + _RISE)
        overflow = max(0.0, second.bottom() - area.bottom() + _EDGE)
        first.translate(0.0, -overflow)
        second.translate(0.0, -overflow)
    return (source, first), (target, second)


def _size(text: str) -> QPointF:
    metrics = QFontMetricsF(font(scaled(SMALL)))
    return QPointF(metrics.horizontalAdvance(text) + 2 * _PAD, metrics.height() + 2 * _RISE)


def _within(box: QRectF, area: QRectF) -> QRectF:
    room = area.adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
    box.moveLeft(max(min(box.left(), room.right() - box.width()), room.left()))
    box.moveTop(max(min(box.top(), room.bottom() - box.height()), room.top()))
    return box
