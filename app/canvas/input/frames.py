"""Notes and frames: what moves along with them, and how they are resized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, Qt

from app.canvas.input.gestures import GRID, Gesture, Host
from app.canvas.scene.bends import between, led
from app.canvas.state.view_state import Picked
from runtime.diagram import MoveBlocks, SetNote
from runtime.diagram.model import Note, Point

if TYPE_CHECKING:
    from app.canvas.scene.camera import Camera
    from app.canvas.scene.geometry import Floats, Indices, Scene

GRIP = 12.0
"""Size of the corner that resizes a note, widget px."""
LEAST = (60.0, 30.0)
"""Smallest width and height of a note, scene units."""


class Load(NamedTuple):
    """What moves together: blocks and bends by number, notes by name."""

    blocks: Indices
    notes: Mapping[str, Note]
    bends: Indices


def carried(scene: Scene, picked: Picked) -> Load:
    """What is picked, all that lies wholly inside the frames among it, and the bends of wires
    between these blocks.
    """
    blocks = {scene.index[name] for name in picked.blocks if name in scene.index}
    notes = {name: note for name, note in scene.page.notes.items() if name in picked.notes}
    for frame in [note for note in notes.values() if note.frame]:
        blocks.update(np.flatnonzero(_within(scene.rects, frame)).tolist())
        inside = _within(scene.note_rects(), frame).tolist()
        notes |= {
            name: note
            for (name, note), is_in in zip(scene.page.notes.items(), inside, strict=True)
            if is_in
        }
    moved = np.array(sorted(blocks), np.intp)
    return Load(moved, notes, between(scene, moved, picked.bends))


def held(scene: Scene, picked: Picked) -> Picked:
    """What is picked, with all that lies wholly inside the frames among it."""
    load = carried(scene, picked)
    names = frozenset(scene.names[i] for i in load.blocks.tolist())
    return Picked(names, frozenset(load.notes), picked.bends)


def moving(scene: Scene, load: Load, shift: Floats) -> MoveBlocks:
    """Move all of ``load`` by ``shift`` (2,), scene units."""
    corners = (scene.rects[load.blocks, :2] + shift).tolist()
    names = [scene.names[i] for i in load.blocks.tolist()]
    places = {name: Point(*corner) for name, corner in zip(names, corners, strict=True)}
    notes = {name: note.at for name, note in moved_notes(load.notes, shift).items()}
    bends = led(scene, load.bends, shift)
    return MoveBlocks(places, page=scene.page_name, notes=notes, bends=bends)


def moved_notes(notes: Mapping[str, Note], shift: Floats) -> dict[str, Note]:
    """The notes, each ``shift`` (2,) away from where it was."""
    dx, dy = shift.tolist()
    return {
        name: replace(note, at=Point(note.at.x + dx, note.at.y + dy))
        for name, note in notes.items()
    }


def resized(note: Note, by: Floats) -> Note:
    """The note with its lower right corner moved by ``by`` (2,), on the grid."""
    size = np.array([note.width, note.height]) + by
    width, height = np.maximum(np.round(size / GRID) * GRID, LEAST).tolist()
    return replace(note, width=width, height=height)


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


class ResizeNote(Gesture):
    """Moves the lower right corner of a note, on the grid."""

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, host: Host, start: QPointF, name: str) -> None:
        super().__init__(host, start)
        self._name = name
        self._note: Note = host.view.scene.page.notes[name]

    def move(self, at: QPointF) -> None:
        self.host.view.held_notes = {self._name: resized(self._note, self.shift(at))}
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        after = self.host.view.held_notes.get(self._name)
        self.cancel()
        if after is not None and after != self._note:
            self.host.ask(SetNote(self._name, after, page=self.host.view.scene.page_name))

    def cancel(self) -> None:
        self.host.view.held_notes = {}
        self.host.redraw()
