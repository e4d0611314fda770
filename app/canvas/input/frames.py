"""Notes and frames: what moves along with them, and resizing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.input.gestures.base import GRID, Gesture
from gradwire.app.canvas.scene.hits import moving_with, shifted
from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.diagram import MoveBlocks, Note, Point, SetNote

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import Selection

GRIP = 12.0
"""Size of the corner that resizes a note, widget px."""
MIN_SIZE = (60.0, 30.0)
"""Smallest width and height of a note, scene units."""


@by_identity
class MoveSet(NamedTuple):
    """What moves together: blocks and bends by number, notes by name."""

    blocks: Indices
    notes: Mapping[str, Note]
    bends: Indices


def move_set(scene: Scene, selection: Selection) -> MoveSet:
    """The selection, everything wholly inside the frames among it, and bends between its blocks."""
    blocks = {scene.index[name] for name in selection.blocks if name in scene.index}
    notes = {name: note for name, note in scene.page.notes.items() if name in selection.notes}
    for frame in [note for note in notes.values() if note.frame]:
        blocks.update(np.flatnonzero(within(scene.rects, frame)).tolist())
        inside = within(scene.note_rects(), frame).tolist()
        notes |= {
            name: note
            for (name, note), is_in in zip(scene.page.notes.items(), inside, strict=True)
            if is_in
        }
    moved = np.array(sorted(blocks), np.intp)
    return MoveSet(moved, notes, moving_with(scene, moved, selection.bends))


def with_frame_contents(scene: Scene, selection: Selection) -> Selection:
    """The selection with everything wholly inside the frames among it."""
    moved = move_set(scene, selection)
    names = frozenset(scene.names[i] for i in moved.blocks.tolist())
    return selection._replace(blocks=names, notes=frozenset(moved.notes))


def move_change(scene: Scene, moved: MoveSet, shift: Floats) -> MoveBlocks:
    """Move blocks, notes and bends by ``shift`` (2,), scene units."""
    corners = (scene.rects[moved.blocks, :2] + shift).tolist()
    names = [scene.names[i] for i in moved.blocks.tolist()]
    places = {name: Point(*corner) for name, corner in zip(names, corners, strict=True)}
    notes = {name: note.at for name, note in moved_notes(moved.notes, shift).items()}
    bends = shifted(scene, moved.bends, shift)
    return MoveBlocks(places, page=scene.page_name, notes=notes, bends=bends)


def moved_notes(notes: Mapping[str, Note], shift: Floats) -> dict[str, Note]:
    """The notes, each moved by ``shift`` (2,)."""
    dx, dy = shift.tolist()
    return {
        name: replace(note, at=Point(note.at.x + dx, note.at.y + dy))
        for name, note in notes.items()
    }


def resized(note: Note, by: Floats) -> Note:
    """The note with its lower right corner moved by ``by`` (2,), on the grid."""
    size = np.array([note.width, note.height]) + by
    width, height = np.maximum(np.round(size / GRID) * GRID, MIN_SIZE).tolist()
    return replace(note, width=width, height=height)


def within(rects: Floats, frame: Note) -> Flags:
    """Which of ``rects`` (n, 4) lie wholly inside a frame."""
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

    def __init__(self, context: CanvasContext, start: QPointF, name: str) -> None:
        super().__init__(context, start)
        self._name = name
        self._note: Note = context.view.scene.page.notes[name]

    def move(self, at: QPointF) -> None:
        notes = {self._name: resized(self._note, self.shift(at))}
        self.context.show(dragged_notes=notes)

    def finish(self, at: QPointF) -> None:
        after = self.context.view.dragged_notes.get(self._name)
        self.cancel()
        if after is not None and after != self._note:
            self.context.request(SetNote(self._name, after, page=self.context.view.scene.page_name))

    def cancel(self) -> None:
        self.context.show(dragged_notes={})
