"""What a press becomes: pan, rubber band, drag, wiring. One gesture at a time, none when idle.

A gesture moves the picture only; when it ends it asks for one Change, and the document decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.geometry import REACH, Floats, Indices, Scene, overlapping
from app.canvas.splicing import free_ports, splicing, wire_under
from runtime.diagram import Change, MoveBlocks
from runtime.diagram.model import Point

if TYPE_CHECKING:
    from app.canvas.camera import Camera
    from app.canvas.shown import View

GRID = 10.0
"""Blocks and notes are put on multiples of this, in scene units."""


class Host(Protocol):
    """What a gesture may do to the canvas."""

    view: View

    def ask(self, change: Change | None) -> None:
        """Ask the document for a change, if there is one."""

    def hint(self, text: str) -> None:
        """Say something in the status bar."""

    def select(self, names: Iterable[str]) -> None:
        """Select these blocks and no others."""

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


class RubberBand(Gesture):
    """Selects the blocks that a rectangle touches; ``kept`` stay selected with them."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, host: Host, start: QPointF, kept: frozenset[str]) -> None:
        super().__init__(host, start)
        self._before = host.view.selected
        self._kept = kept
        self._box = QRectF()

    def move(self, at: QPointF) -> None:
        view = self.host.view
        start = QPointF(*view.camera.to_widget(self.origin).tolist())
        last, self._box = self._box, QRectF(start, at).normalized()
        box = self._box
        area = view.camera.area(box.x(), box.y(), box.width(), box.height())
        touched = overlapping(view.scene.rects, area)
        chosen = self._kept.union(view.scene.names[i] for i in touched.tolist())
        if chosen != view.selected:
            self.host.select(chosen)
        self.host.redraw(last.united(box).adjusted(-2, -2, 2, 2))

    def finish(self, at: QPointF) -> None:
        if self._box.isNull():
            self.host.select(self._kept)
        self.host.redraw(self._box.adjusted(-2, -2, 2, 2))

    def cancel(self) -> None:
        self.host.select(self._before)
        self.host.redraw()

    def paint(self, painter: QPainter) -> None:
        accent = QColor(self.host.view.theme.accent)
        painter.setPen(QPen(accent, 1.0))
        accent.setAlphaF(0.10)
        painter.setBrush(accent)
        painter.drawRect(self._box)


class Lasso(Gesture):
    """Selects the blocks whose middle a drawn line encloses; ``kept`` stay selected with them."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, host: Host, start: QPointF, kept: frozenset[str]) -> None:
        super().__init__(host, start)
        self._before = host.view.selected
        self._kept = kept
        self._line: list[Floats] = [self.origin]

    def move(self, at: QPointF) -> None:
        view = self.host.view
        self._line.append(view.camera.to_scene(np.array([at.x(), at.y()])))
        rects = view.scene.rects
        inside = np.flatnonzero(enclosed(rects[:, :2] + rects[:, 2:] / 2.0, np.array(self._line)))
        self.host.select(self._kept.union(view.scene.names[i] for i in inside.tolist()))
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        self.host.redraw()

    def cancel(self) -> None:
        self.host.select(self._before)
        self.host.redraw()

    def paint(self, painter: QPainter) -> None:
        accent = QColor(self.host.view.theme.accent)
        painter.setPen(QPen(accent, 1.0))
        accent.setAlphaF(0.10)
        painter.setBrush(accent)
        points = self.host.view.camera.to_widget(np.array(self._line)).tolist()
        painter.drawPolygon([QPointF(x, y) for x, y in points])


def enclosed(points: Floats, outline: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of ``points`` (k, 2) the closed line ``outline`` (m, 2) goes around, by even-odd."""
    x, y = points[:, None, 0], points[:, None, 1]
    (x0, y0), (x1, y1) = outline.T, np.roll(outline, -1, axis=0).T
    spans = (y0 > y) != (y1 > y)
    at = x0 + (y - y0) * (x1 - x0) / np.where(y1 == y0, 1.0, y1 - y0)
    return np.asarray((spans & (x < at)).sum(axis=1) % 2 == 1)


class DragBlocks(Gesture):
    """Moves the selected blocks; ``grabbed`` keeps to the grid, the rest keep their distance."""

    cursor = Qt.CursorShape.SizeAllCursor

    def __init__(self, host: Host, start: QPointF, grabbed: int) -> None:
        super().__init__(host, start)
        scene = host.view.scene
        chosen = [scene.index[name] for name in host.view.selected if name in scene.index]
        self._scene: Scene = scene
        self._blocks: Indices = np.array(sorted(chosen), np.intp)
        self._wires = scene.wires_of(self._blocks)
        self._corners: Floats = scene.rects[self._blocks, :2].copy()
        self._grabbed: Floats = scene.rects[grabbed, :2].copy()
        self._name = scene.names[grabbed]
        self._inward, self._outward = (
            free_ports(scene, self._name) if len(chosen) == 1 else ("", "")
        )
        self._shift = np.zeros(2)

    def move(self, at: QPointF) -> None:
        shift = np.round((self._grabbed + self.shift(at)) / GRID) * GRID - self._grabbed
        if not np.array_equal(shift, self._shift):
            self._shift = shift
            self._place(self._corners + shift)
            self._mark_wire()

    def finish(self, at: QPointF) -> None:
        shift, wires = self._shift, list(self.host.view.marks)
        self.cancel()
        if shift.any():
            names = [self._scene.names[i] for i in self._blocks.tolist()]
            corners = (Point(*corner) for corner in (self._corners + shift).tolist())
            move = MoveBlocks(dict(zip(names, corners, strict=True)), page=self._scene.page_name)
            self.host.ask(self._splicing(move, wires[0]) if wires else move)

    def cancel(self) -> None:
        self.host.view.marks = {}
        self._place(self._corners)

    def _mark_wire(self) -> None:
        """Mark the wire that a block without wires would be put into, if it were let go."""
        view, scene = self.host.view, self._scene
        if not (self._inward and self._outward):
            return
        wire = wire_under(scene, scene.rects[self._blocks[0]], self._name)
        if wire is not None and wire not in view.marks:
            wire = wire if self._splicing(MoveBlocks({}, page=scene.page_name), wire) else None
        marks = {} if wire is None else {wire: "accent"}
        if marks != view.marks:
            view.marks = marks
            self.host.redraw()

    def _splicing(self, move: MoveBlocks, wire: str) -> Change | None:
        return splicing(self._scene, move, self._name, self._inward, self._outward, wire)

    def _place(self, corners: Floats) -> None:
        before = self._area()
        self._scene.place(self._blocks, corners)
        self.host.redraw(before.united(self._area()))

    def _area(self) -> QRectF:
        """Where the blocks and their wires are, in widget px."""
        rects = self._scene.rects[self._blocks]
        low, high = rects[:, :2] - REACH, rects[:, :2] + rects[:, 2:] + REACH
        if len(self._wires):
            bounds = self._scene.wire_bounds[self._wires]
            low, high = np.vstack([low, bounds[:, :2]]), np.vstack([high, bounds[:, 2:]])
        camera = self.host.view.camera
        corners = np.array([low.min(axis=0), high.max(axis=0)])
        left, top, right, bottom = camera.to_widget(corners).ravel().tolist()
        return QRectF(left, top, right - left, bottom - top).adjusted(-8, -8, 8, 8)
