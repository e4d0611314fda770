"""Gestures: pan, rubber band, lasso. At most one is active at a time.

A gesture changes only what is shown; when it ends, it requests one Change from the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gradwire.app.canvas.scene.arrays import overlapping
from gradwire.app.canvas.state.view_state import Selection

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.state.view_state import ViewState

GRID = 10.0
"""Spacing of the grid for blocks and notes, scene units."""
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


class Gesture:
    """From a press to its release. Positions are widget px."""

    cursor = Qt.CursorShape.ArrowCursor
    modifiers = Qt.KeyboardModifier.NoModifier
    """The keys that are held with the button."""

    def __init__(self, context: CanvasContext, start: QPointF) -> None:
        self.context = context
        self.start = start
        self.origin: Floats = context.view.camera.to_scene(np.array([start.x(), start.y()]))
        """The pressed scene point, which is independent of the zoom."""

    def shift(self, at: QPointF) -> Floats:
        """How far the pointer has moved, in scene units (2,)."""
        camera = self.context.view.camera
        return camera.to_scene(np.array([at.x(), at.y()])) - self.origin

    def move(self, at: QPointF) -> None:
        """The pointer moved."""

    def finish(self, at: QPointF) -> None:
        """The button was released."""

    def cancel(self) -> None:
        """Restore the state before the gesture."""

    def paint(self, painter: QPainter) -> None:
        """Draw the gesture over the page."""


class Pan(Gesture):
    """Moves the view with the pointer."""

    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, context: CanvasContext, start: QPointF) -> None:
        super().__init__(context, start)
        self._camera = context.view.camera

    def move(self, at: QPointF) -> None:
        moved = at - self.start
        self.context.camera.set(self._camera.panned(moved.x(), moved.y()))

    def cancel(self) -> None:
        self.context.camera.set(self._camera)


class Select(Gesture):
    """Selects while the pointer moves; ``kept`` stays selected as well."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: CanvasContext, start: QPointF, kept: Selection) -> None:
        super().__init__(context, start)
        self._before = context.view.selection
        self.kept = kept

    def select(self, blocks: Indices, notes: Indices, bends: Indices) -> None:
        """Select these blocks, notes and bends, by number, besides those that are kept."""
        scene = self.context.view.scene
        names = list(scene.page.notes)
        found = Selection(
            frozenset(scene.names[i] for i in blocks.tolist()),
            frozenset(names[i] for i in notes.tolist()),
            frozenset(scene.bend_name(i) for i in bends.tolist()),
        )
        self.context.selection.set(self.kept.joined(found))

    def cancel(self) -> None:
        self.context.selection.set(self._before)
        self.context.redraw()


class RubberBand(Select):
    """Selects the blocks, notes and bends that a rectangle touches, and the frames inside it."""

    def __init__(self, context: CanvasContext, start: QPointF, kept: Selection) -> None:
        super().__init__(context, start, kept)
        self._box = QRectF()

    def move(self, at: QPointF) -> None:
        view = self.context.view
        start = QPointF(*view.camera.to_widget(self.origin).tolist())
        last, self._box = self._box, QRectF(start, at).normalized()
        box = self._box
        area = view.camera.area(box.x(), box.y(), box.width(), box.height())
        rects, frames = view.scene.note_rects(), view.scene.note_is_frame()
        touched = overlapping(rects, area)
        low, high = rects[:, :2], rects[:, :2] + rects[:, 2:]
        whole = np.asarray((low >= area[:2]).all(axis=1) & (high <= area[2:]).all(axis=1))
        bends = ((view.scene.bends >= area[:2]) & (view.scene.bends <= area[2:])).all(axis=1)
        notes = touched[~frames[touched] | whole[touched]]
        self.select(overlapping(view.scene.rects, area), notes, np.flatnonzero(bends))
        self.context.redraw(last.united(box).adjusted(-2, -2, 2, 2))

    def finish(self, at: QPointF) -> None:
        if self._box.isNull():
            self.context.selection.set(self.kept)
        self.context.redraw(self._box.adjusted(-2, -2, 2, 2))

    def paint(self, painter: QPainter) -> None:
        _use_selection_colours(painter, self.context.view)
        painter.drawRect(self._box)


class Lasso(Select):
    """Selects what a drawn line encloses: by the centre, or all corners of a frame."""

    def __init__(self, context: CanvasContext, start: QPointF, kept: Selection) -> None:
        super().__init__(context, start, kept)
        self._line: list[Floats] = [self.origin]

    def move(self, at: QPointF) -> None:
        view = self.context.view
        self._line.append(view.camera.to_scene(np.array([at.x(), at.y()])))
        line, scene = np.array(self._line), view.scene
        blocks, notes = scene.rects, scene.note_rects()
        middle = enclosed(notes[:, :2] + notes[:, 2:] / 2.0, line)
        corners = [enclosed(notes[:, :2] + notes[:, 2:] * share, line) for share in _CORNERS]
        within = np.where(scene.note_is_frame(), np.all(corners, axis=0), middle)
        inside = enclosed(blocks[:, :2] + blocks[:, 2:] / 2.0, line)
        bends = enclosed(scene.bends, line)
        self.select(np.flatnonzero(inside), np.flatnonzero(within), np.flatnonzero(bends))
        self.context.redraw()

    def finish(self, at: QPointF) -> None:
        self.context.redraw()

    def paint(self, painter: QPainter) -> None:
        _use_selection_colours(painter, self.context.view)
        points = self.context.view.camera.to_widget(np.array(self._line)).tolist()
        painter.drawPolygon([QPointF(x, y) for x, y in points])


def _use_selection_colours(painter: QPainter, view: ViewState) -> None:
    accent = QColor(view.theme.accent)
    painter.setPen(QPen(accent, 1.0))
    accent.setAlphaF(0.10)
    painter.setBrush(accent)


def enclosed(points: Floats, outline: Floats) -> Flags:
    """Which of ``points`` (k, 2) are inside the closed line ``outline`` (m, 2), by even-odd."""
    x, y = points[:, None, 0], points[:, None, 1]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    spans = (y0 > y) != (y1 > y)
    at = x0 + (y - y0) * (x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0)
    return np.asarray((spans & (x < at)).sum(axis=1) % 2 == 1)
