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
    width = max(2 * glyphs.RADIUS, QFontMetricsF(letters).horizontalAdvance(text) + glyphs.RADIUS)
    painter.save()
    painter.translate(x, y)
    painter.scale(unit, unit)
    box = QRectF(-width / 2.0, -glyphs.RADIUS, width, 2 * glyphs.RADIUS)
    painter.setPen(QPen(QColor(theme.canvas), 1.5))
    painter.setBrush(QColor(theme.accent))
    painter.drawRoundedRect(box, glyphs.RADIUS, glyphs.RADIUS)
    painter.setPen(QColor(theme.on_accent))
    painter.setFont(letters)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
    painter.restore()


def _paint_cutter(painter: QPainter, view: ViewState, wire: WirePath, glyph: str) -> None:
    number = view.scene.port(*wire.name)
    if number is None:
        return
    at = QPointF(*view.camera.to_widget(view.scene.port_points(np.array([number])))[0].tolist())
    pen = QPen(QColor(view.theme.error), 1.5)
    glyphs.draw_round(painter, glyph, at, legible_scale(view.camera.unit), pen, view.theme.canvas)
