"""Paints the route of a verdict: numbers on its blocks, glyphs where it is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.legible import legible_scale
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.services.theme import BODY, font

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import WirePath

_RADIUS = 9.0


def paint_route(painter: QPainter, view: ViewState) -> None:
    """Paint the route that is explained, if there is one."""
    route = view.route
    if route is None or view.camera.zoom < PLAIN:
        return
    for name, text in route.numbers.items():
        if text and name in view.scene.index:
            left, top = view.scene.rects[view.scene.index[name], :2].tolist()
            _paint_number(painter, view, left, top, text)
    for wire, glyph in route.cutters.items():
        _paint_cutter(painter, view, wire, glyph)


def _paint_number(painter: QPainter, view: ViewState, left: float, top: float, text: str) -> None:
    unit, theme = legible_scale(view.camera.unit, BODY), view.theme
    x, y = view.camera.to_widget(np.array([left, top])).tolist()
    letters = font(BODY, bold=True)
    width = max(2 * _RADIUS, QFontMetricsF(letters).horizontalAdvance(text) + _RADIUS)
    painter.save()
    painter.translate(x, y)
    painter.scale(unit, unit)
    box = QRectF(-width / 2.0, -_RADIUS, width, 2 * _RADIUS)
    painter.setPen(QPen(QColor(theme.canvas), 1.5))
    painter.setBrush(QColor(theme.accent))
    painter.drawRoundedRect(box, _RADIUS, _RADIUS)
    painter.setPen(QColor(theme.on_accent))
    painter.setFont(letters)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
    painter.restore()


def _paint_cutter(painter: QPainter, view: ViewState, wire: WirePath, glyph: str) -> None:
    number = view.scene.port(*wire.name)
    if number is None:
        return
    x, y = view.camera.to_widget(view.scene.port_points(np.array([number])))[0].tolist()
    unit = legible_scale(view.camera.unit)
    painter.save()
    painter.translate(x, y)
    painter.scale(unit, unit)
    painter.setPen(QPen(QColor(view.theme.error), 1.5))
    painter.setBrush(QColor(view.theme.canvas))
    painter.drawEllipse(QPointF(0.0, 0.0), _RADIUS, _RADIUS)
    box = QRectF(-glyphs.SIZE / 2.0, -glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
    glyphs.draw(painter, glyph, box, view.theme.error)
    painter.restore()
