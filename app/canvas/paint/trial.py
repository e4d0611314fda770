"""Paints a trial: its cuts, opened stops, and their effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.blocks.faces import paint_badges_over
from gradwire.app.canvas.paint.drawing import draw_lines
from gradwire.app.canvas.paint.legible import apart
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.polylines import strokes
from gradwire.app.services.theme import BODY, font, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.bezier import Courses
    from gradwire.app.canvas.state.marks.trial import TrialMarks
    from gradwire.app.canvas.state.view_state import ViewState

_RADIUS = 9.0
_ROOM = 6.0
_GAP = 9.0
"""Between a block and what is written beside it, px."""


def paint_trial(painter: QPainter, view: ViewState, marks: TrialMarks) -> None:
    """Paint a trial over the page."""
    scene = view.scene
    for key in marks.cuts:
        if key in scene.wire_index:
            _paint_cut(painter, view, scene.course_of(key).to_widget(view.camera))
    for name in marks.opened:
        if name in scene.index:
            _paint_frame(painter, view, scene.rects[scene.index[name]], Qt.PenStyle.DashLine)
    if marks.current in scene.index:
        rect = scene.rects[scene.index[marks.current]]
        _paint_frame(painter, view, rect, Qt.PenStyle.SolidLine)
    framed = (name for name in (*marks.opened, marks.current) if name in scene.index)
    paint_badges_over(painter, view, (scene.index[name] for name in framed))
    _paint_changes(painter, view, marks.changes)


def _paint_cut(painter: QPainter, view: ViewState, course: Courses) -> None:
    theme, unit = view.theme, view.camera.unit
    points = course.flatten(STEPS)
    pen = QPen(QColor(theme.accent), 2.2 * unit, Qt.PenStyle.DashLine)
    painter.setPen(pen)
    draw_lines(painter, strokes(points))
    painter.save()
    painter.translate(QPointF(*points[0, points.shape[1] // 2].tolist()))
    painter.scale(unit, unit)
    painter.setPen(QPen(QColor(theme.accent), 1.5, Qt.PenStyle.DashLine))
    painter.setBrush(QColor(theme.canvas))
    painter.drawEllipse(QPointF(0.0, 0.0), _RADIUS, _RADIUS)
    box = QRectF(-glyphs.SIZE / 2.0, -glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
    glyphs.draw(painter, "⊣", box, theme.accent)
    painter.restore()


def _paint_frame(painter: QPainter, view: ViewState, rect: Floats, style: Qt.PenStyle) -> None:
    """Paint a frame around a block: a stop that is opened, or where the timeline is."""
    x, y, width, height = rect.tolist()
    left, top = view.camera.to_widget(np.array([x, y])).tolist()
    zoom = view.camera.zoom
    painter.setPen(QPen(QColor(view.theme.accent), 2.0, style))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    box = QRectF(left, top, width * zoom, height * zoom).adjusted(-4, -4, 4, 4)
    painter.drawRoundedRect(box, 7.0, 7.0)


def _paint_changes(painter: QPainter, view: ViewState, changes: Mapping[str, str]) -> None:
    """Paint changes beside their blocks; texts do not shrink with the page. Below :data:`NUMBERS`,
    of texts that would lie on each other one is painted.
    """
    scene, theme, letters = view.scene, view.theme, font(scaled(BODY), bold=True)
    metrics, within = QFontMetricsF(letters), QRectF(painter.window())
    area = view.camera.area(within.x(), within.y(), within.width(), within.height())
    seen = scene.blocks_in(area).tolist()
    texts = ((scene.rects[i], changes.get(scene.names[i])) for i in seen)
    here = [(rect, text) for rect, text in texts if text is not None]
    boxes = [change_box(view, rect, metrics, text, within) for rect, text in here]
    is_near = view.camera.zoom >= NUMBERS
    for number in range(len(boxes)) if is_near else apart(boxes):
        painter.setPen(QPen(QColor(theme.accent), 1.0))
        painter.setBrush(QColor(theme.canvas))
        painter.drawRoundedRect(boxes[number], 5.0, 5.0)
        painter.setPen(QColor(theme.ink))
        painter.setFont(letters)
        painter.drawText(boxes[number], int(Qt.AlignmentFlag.AlignCenter), here[number][1])


def change_box(
    view: ViewState, rect: Floats, metrics: QFontMetricsF, text: str, within: QRectF
) -> QRectF:
    """Where a change is written: below its block, or above it where there is no room below, and
    moved sideways so that none of it is cut off.
    """
    x, y, width, height = rect.tolist()
    middle, bottom = view.camera.to_widget(np.array([x + width / 2.0, y + height])).tolist()
    size = metrics.horizontalAdvance(text) + 2 * _ROOM
    box = QRectF(middle - size / 2.0, bottom + _GAP, size, metrics.height() + 4.0)
    if box.bottom() > within.bottom():
        box.moveBottom(bottom - height * view.camera.zoom - _GAP)
    box.moveRight(min(box.right(), within.right() - _ROOM))
    box.moveLeft(max(box.left(), within.left() + _ROOM))
    return box
