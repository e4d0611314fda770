"""Notes and frames in the hand: a frame takes along what it holds, and both can be resized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt

from app.canvas.gestures import GRID, Gesture, Host
from runtime.diagram import Batch, MoveBlocks, SetNote
from runtime.diagram.model import Note, Point

if TYPE_CHECKING:
    from app.canvas.camera import Camera
    from app.canvas.geometry import Floats, Indices, Scene

GRIP = 12.0
"""Size of the corner that resizes a note, widget px."""
LEAST = (60.0, 30.0)
"""Smallest width and height of a note, scene units."""


def held(scene: Scene, frame: Note) -> tuple[Indices, dict[str, Note]]:
    """The blocks and the notes that lie wholly inside a frame; of what is no frame, none."""
    if not frame.frame:
        return np.zeros(0, np.intp), {}
    inside = np.flatnonzero(_within(scene.rects, frame))
    notes = list(scene.page.notes.items())
    within = _within(scene.note_rects(), frame).tolist()
    inner = {
        name: note
        for (name, note), is_in in zip(notes, within, strict=True)
        if is_in and note != frame
    }
    return inside, inner


def _within(rects: Floats, frame: Note) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    low, high = rects[:, :2], rects[:, :2] + rects[:, 2:]
    corner, size = np.array(frame.at), np.array([frame.width, frame.height])
    far = corner + size
    return np.asarray((low >= corner).all(axis=1) & (high <= far).all(axis=1))


def grip_at(scene: Scene, camera: Camera, x: float, y: float) -> str | None:
    """The note whose lower right corner is at widget (x, y)."""
    for name, note in reversed(list(scene.page.notes.items())):
        far = camera.to_widget(np.array([note.at.x + note.width, note.at.y + note.height]))
        if (np.abs(far - (x, y)) <= GRIP).all() and (far + 2.0 >= (x, y)).all():
            return name
    return None


class DragNote(Gesture):
    """Moves a note on the grid; a frame takes the blocks and notes inside it along."""

    cursor = Qt.CursorShape.SizeAllCursor

    def __init__(self, host: Host, start: QPointF, name: str) -> None:
        super().__init__(host, start)
        scene = host.view.scene
        self._scene = scene
        self._note: Note = scene.page.notes[name]
        self._blocks, inner = held(scene, self._note)
        self._notes: Mapping[str, Note] = {name: self._note, **inner}
        self._corners: Floats = scene.rects[self._blocks, :2].copy()
        self._shift = np.zeros(2)

    def move(self, at: QPointF) -> None:
        corner = np.array(self._note.at)
        self._shift = np.round((corner + self.shift(at)) / GRID) * GRID - corner
        self.host.view.held_notes = self._moved()
        self._scene.place(self._blocks, self._corners + self._shift)
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        moved = self._moved()
        self.cancel()
        if not self._shift.any():
            return
        page = self._scene.page_name
        changes = tuple(SetNote(name, note, page=page) for name, note in moved.items())
        if len(self._blocks) == 0 and len(changes) == 1:
            self.host.ask(changes[0])
            return
        corners = (self._corners + self._shift).tolist()
        names = [self._scene.names[i] for i in self._blocks.tolist()]
        places = {name: Point(*to) for name, to in zip(names, corners, strict=True)}
        self.host.ask(Batch("Move frame", (*changes, MoveBlocks(places, page=page))))

    def cancel(self) -> None:
        self.host.view.held_notes = {}
        self._scene.place(self._blocks, self._corners)
        self.host.redraw()

    def _moved(self) -> dict[str, Note]:
        dx, dy = self._shift.tolist()
        return {
            name: replace(note, at=Point(note.at.x + dx, note.at.y + dy))
            for name, note in self._notes.items()
        }


class ResizeNote(Gesture):
    """Moves the lower right corner of a note, on the grid."""

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, host: Host, start: QPointF, name: str) -> None:
        super().__init__(host, start)
        self._name = name
        self._note: Note = host.view.scene.page.notes[name]

    def move(self, at: QPointF) -> None:
        note = self._note
        size = np.array([note.width, note.height]) + self.shift(at)
        width, height = np.maximum(np.round(size / GRID) * GRID, LEAST).tolist()
        self.host.view.held_notes = {self._name: replace(note, width=width, height=height)}
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        resized = self.host.view.held_notes.get(self._name)
        self.cancel()
        if resized is not None and resized != self._note:
            self.host.ask(SetNote(self._name, resized, page=self.host.view.scene.page_name))

    def cancel(self) -> None:
        self.host.view.held_notes = {}
        self.host.redraw()
