"""What a press becomes: pan, rubber band, lasso. One gesture at a time, none when idle.

A gesture moves the picture only; when it ends it asks for one Change, and the document decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.scene.geometry import Bend, Floats, Indices, overlapping
from app.canvas.state.view_state import Picked

if TYPE_CHECKING:
    from app.canvas.scene.camera import Camera
    from app.canvas.state.view_state import View
    from runtime.diagram import Change

GRID = 10.0
"""Blocks and notes are put on multiples of this, in scene units."""
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


class Host(Protocol):
    """What a gesture may do to the canvas."""

    view: View

    def ask(self, change: Change | None) -> None:
        """Ask the document for a change, if there is one."""

    def hint(self, text: str) -> None:
        """Say something in the status bar."""

    def select(
        self, names: Iterable[str], notes: Iterable[str] = (), bends: Iterable[Bend] = ()
    ) -> None:
        """Select these blocks, notes and bends, and no others."""

    def look(self, camera: Camera) -> None:
        """Look at the page differently."""

    def quick_add(self, at: QPointF, port: int | None = None) -> None:
        """Let a block be chosen for this place, and for the wire from ``port``."""

    def redraw(self, area: QRectF | None = None) -> None:
        """Repaint ``area`` of the widget, or all of it."""


class Gesture:
    """From a press to its release. Positions are widget px."""

    cursor = Qt.CursorShape.ArrowCursor

    def __init__(self, host: Host, start: QPointF) -> None:
        self.host = host
        self.start = start
        self.origin: Floats = host.view.camera.to_scene(np.array([start.x(), start.y()]))
        """The scene point that was pressed: it stays where it is when the wheel turns."""

    def shift(self, at: QPointF) -> Floats:
        """How far the pointer has come, in scene units (2,)."""
        camera = self.host.view.camera
        return camera.to_scene(np.array([at.x(), at.y()])) - self.origin

    def move(self, at: QPointF) -> None:
        """The pointer moved."""

    def finish(self, at: QPointF) -> None:
        """The button was released."""

    def cancel(self) -> None:
        """Put everything back as it was."""

    def paint(self, painter: QPainter) -> None:
        """Draw what is in the hand."""


class Pan(Gesture):
    """Moves the view with the pointer."""

    cursor = Qt.CursorShape.ClosedHandCursor

    def __init__(self, host: Host, start: QPointF) -> None:
        super().__init__(host, start)
        self._camera = host.view.camera

    def move(self, at: QPointF) -> None:
        moved = at - self.start
        self.host.look(self._camera.panned(moved.x(), moved.y()))

    def cancel(self) -> None:
        self.host.look(self._camera)


class Picking(Gesture):
    """Selects while it goes on; ``kept`` stays selected with what it finds."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, host: Host, start: QPointF, kept: Picked) -> None:
        super().__init__(host, start)
        self._before = host.view.picked
        self.kept = kept

    def pick(self, blocks: Indices, notes: Indices, bends: Indices) -> None:
        """Select these blocks, notes and bends, by number, with those that are kept."""
        scene = self.host.view.scene
        names = list(scene.page.notes)
        found = Picked(
            frozenset(scene.names[i] for i in blocks.tolist()),
            frozenset(names[i] for i in notes.tolist()),
            frozenset(scene.bend_name(i) for i in bends.tolist()),
        )
        self.host.select(*self.kept.joined(found))

    def cancel(self) -> None:
        self.host.select(*self._before)
        self.host.redraw()


class RubberBand(Picking):
    """Selects the blocks, notes and bends that a rectangle touches, and frames it encloses."""

    def __init__(self, host: Host, start: QPointF, kept: Picked) -> None:
        super().__init__(host, start, kept)
        self._box = QRectF()

    def move(self, at: QPointF) -> None:
        view = self.host.view
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
        self.pick(overlapping(view.scene.rects, area), notes, np.flatnonzero(bends))
        self.host.redraw(last.united(box).adjusted(-2, -2, 2, 2))

    def finish(self, at: QPointF) -> None:
        if self._box.isNull():
            self.host.select(*self.kept)
        self.host.redraw(self._box.adjusted(-2, -2, 2, 2))

    def paint(self, painter: QPainter) -> None:
        _use_pick_colours(painter, self.host.view)
        painter.drawRect(self._box)


class Lasso(Picking):
    """Selects bends, blocks and notes whose middle a drawn line encloses; of a frame, corners."""

    def __init__(self, host: Host, start: QPointF, kept: Picked) -> None:
        super().__init__(host, start, kept)
        self._line: list[Floats] = [self.origin]

    def move(self, at: QPointF) -> None:
        view = self.host.view
        self._line.append(view.camera.to_scene(np.array([at.x(), at.y()])))
        line, scene = np.array(self._line), view.scene
        blocks, notes = scene.rects, scene.note_rects()
        middle = enclosed(notes[:, :2] + notes[:, 2:] / 2.0, line)
        corners = [enclosed(notes[:, :2] + notes[:, 2:] * share, line) for share in _CORNERS]
        within = np.where(scene.note_is_frame(), np.all(corners, axis=0), middle)
        inside = enclosed(blocks[:, :2] + blocks[:, 2:] / 2.0, line)
        bends = enclosed(scene.bends, line)
        self.pick(np.flatnonzero(inside), np.flatnonzero(within), np.flatnonzero(bends))
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        self.host.redraw()

    def paint(self, painter: QPainter) -> None:
        _use_pick_colours(painter, self.host.view)
        points = self.host.view.camera.to_widget(np.array(self._line)).tolist()
        painter.drawPolygon([QPointF(x, y) for x, y in points])


def _use_pick_colours(painter: QPainter, view: View) -> None:
    accent = QColor(view.theme.accent)
    painter.setPen(QPen(accent, 1.0))
    accent.setAlphaF(0.10)
    painter.setBrush(accent)


def enclosed(points: Floats, outline: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of ``points`` (k, 2) the closed line ``outline`` (m, 2) goes around, by even-odd."""
    x, y = points[:, None, 0], points[:, None, 1]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    spans = (y0 > y) != (y1 > y)
    at = x0 + (y - y0) * (x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0)
    return np.asarray((spans & (x < at)).sum(axis=1) % 2 == 1)
