"""Paints a trial: its cuts, opened stops, and their effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.blocks.faces import paint_badges_over
from gradwire.app.canvas.paint.drawing import draw_frame, draw_lines, draw_tag, widget_rect
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
    middle = QPointF(*points[0, points.shape[1] // 2].tolist())
    pen = QPen(QColor(theme.accent), 1.5, Qt.PenStyle.DashLine)
    glyphs.draw_round(painter, "⊣", middle, unit, pen, theme.canvas)


def _paint_frame(painter: QPainter, view: ViewState, rect: Floats, style: Qt.PenStyle) -> None:
    """Paint a frame around a block: a stop that is opened, or where the timeline is."""
    pen = QPen(QColor(view.theme.accent), 2.0, style)
    draw_frame(painter, widget_rect(view, rect), pen, 4.0)


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
        colours, rim = (theme.ink, theme.canvas), QPen(QColor(theme.accent), 1.0)
        draw_tag(painter, boxes[number], here[number][1], letters, colours, rim, 5.0)


def change_box(
    view: ViewState, rect: Floats, metrics: QFontMetricsF, text: str, within: QRectF
) -> QRectF:
    """Where a change is written: below its block, or above it where there is no room below, and
    moved sideways so that none of it is cut off.
    """
    face, size = widget_rect(view, rect), metrics.horizontalAdvance(text) + 2 * _ROOM
    left = face.center().x() - size / 2.0
    box = QRectF(left, face.bottom() + _GAP, size, metrics.height() + 4.0)
    if box.bottom() > within.bottom():
        box.moveBottom(face.top() - _GAP)
    box.moveRight(min(box.right(), within.right() - _ROOM))
    box.moveLeft(max(box.left(), within.left() + _ROOM))
    return box
