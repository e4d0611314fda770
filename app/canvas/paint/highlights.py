"""Paints what stands out on a page: bends of wires, the route of a verdict, and traced wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.drawing import draw_lines, draw_tag
from gradwire.app.canvas.paint.legible import legible_scale
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.polylines import strokes
from gradwire.app.canvas.scene.tracing import siblings
from gradwire.app.canvas.state.port_labels import wire_ends
from gradwire.app.services.theme import BODY, SMALL, font, scaled

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import WirePath

_DOT = 7.0
"""Diameter of the dot of a bend, px of style."""
_PAD, _RISE = 6.0, 2.0
_ASIDE, _EDGE = 8.0, 6.0


def paint_bends(painter: QPainter, view: ViewState, area: Floats) -> None:
    """Paint the bends within ``area`` of the scene; selected ones have a ring."""
    scene, theme, unit = view.scene, view.theme, view.camera.unit
    if not len(scene.bends):
        return
    inside = ((scene.bends > area[:2]) & (scene.bends < area[2:])).all(axis=1)
    hidden = scene.wire_index.get(view.hidden_wire or "", -1)
    selected = [number for bend in view.selection.bends if (number := scene.bend(bend)) is not None]
    _dots(painter, view, np.array(selected, np.intp), theme.accent, (_DOT + 5.0) * unit)
    visible = np.flatnonzero(inside & (scene.bend_wire != hidden))
    _dots(painter, view, visible, theme.canvas, (_DOT + 2.0) * unit)
    _dots(painter, view, visible, theme.wire, _DOT * unit)


def _dots(painter: QPainter, view: ViewState, bends: Indices, colour: str, size: float) -> None:
    """Draw all dots in one call: very short lines with round caps."""
    pen = QPen(QColor(colour), size)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    lines = np.tile(view.camera.to_widget(view.scene.bends[bends]), 2)
    lines[:, 2] += 0.01
    draw_lines(painter, lines)


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
    colours, rim = (theme.on_accent, theme.accent), QPen(QColor(theme.canvas), 1.5)
    draw_tag(painter, box, text, letters, colours, rim, glyphs.RADIUS)
    painter.restore()


def _paint_cutter(painter: QPainter, view: ViewState, wire: WirePath, glyph: str) -> None:
    number = view.scene.port(*wire.name)
    if number is None:
        return
    at = QPointF(*view.camera.to_widget(view.scene.port_points(np.array([number])))[0].tolist())
    pen = QPen(QColor(view.theme.error), 1.5)
    glyphs.draw_round(painter, glyph, at, legible_scale(view.camera.unit), pen, view.theme.canvas)


def paint_siblings(painter: QPainter, view: ViewState, key: str) -> None:
    """Paint the other wires from the same port, thin and without lanes."""
    painter.setPen(QPen(QColor(view.theme.wire), max(1.0, view.camera.unit)))
    for _, courses in view.scene.courses(siblings(view.scene, key)):
        points = courses.to_widget(view.camera).flatten(STEPS)
        draw_lines(painter, strokes(points))


def paint_wire_ends(painter: QPainter, view: ViewState, key: str, area: QRectF) -> None:
    """Paint labels at both ends; at the edge of ``area`` for an end outside it."""
    for text, box in end_labels(view, key, area):
        colours, rim = (view.theme.ink, view.theme.field), QPen(QColor(view.theme.hairline), 1.0)
        draw_tag(painter, box, text, font(scaled(SMALL)), colours, rim, 4.0)


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
