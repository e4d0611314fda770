"""Changes that bring blocks onto a page, completed with moves that make room for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from app.canvas.input.frames import within
from app.canvas.scene.bends import moving_with, shifted
from app.canvas.scene.geometry import Scene
from blocks.errors import ChangeError
from runtime.diagram import Batch, Change, Diagram, MoveBlocks, SetNote, apply
from runtime.diagram.layout.making_room import nearest_vacancy, push_aside
from runtime.diagram.model import Note, Point

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats
    from runtime.diagram.paths import PortName

_LINES = 2
"""Lines of numbers that a new block is expected to show once it has values."""


def with_room(scene: Scene, change: Change, new: Collection[str]) -> Change:
    """``change``, and moves after which its ``new`` blocks cover no others.

    What comes after them moves over to the right, frames with their contents. A change that is not
    possible stays as it is: the document says why when it is requested.
    """
    try:
        edit = apply(scene.diagram, change)
    except ChangeError:
        return change
    after = _scene_after(scene, edit.after)
    numbers = [after.index[name] for name in new]
    shifts = push_aside(after.rects, numbers, _following(after, numbers))
    if not shifts.any():
        return change
    return Batch(edit.label, (change, *_moves(after, shifts)))


def in_vacancy(
    scene: Scene, change: Change, new: Collection[str], notes: Collection[str]
) -> Change:
    """``change``, and a move of its ``new`` blocks and notes to where they cover no others.

    Raises ChangeError where the change does.
    """
    edit = apply(scene.diagram, change)
    after = _scene_after(scene, edit.after)
    own = np.array(sorted(after.index[name] for name in new), np.intp)
    others = np.setdiff1d(np.arange(len(after.names)), own)
    move = nearest_vacancy(after.rects[others], after.rects[own])
    if not move.any():
        return change
    places = {name: Point(*(after.rects[after.index[name], :2] + move).tolist()) for name in new}
    corners = {name: after.page.notes[name].at for name in notes}
    moved = {name: Point(*(np.array(at) + move).tolist()) for name, at in corners.items()}
    bends = shifted(after, moving_with(after, own, ()), move)
    away = MoveBlocks(places, page=scene.page_name, notes=moved, bends=bends)
    return Batch(edit.label, (change, away))


def _scene_after(before: Scene, diagram: Diagram) -> Scene:
    """The page after an edit, with the heights that its blocks have on the canvas."""
    after = Scene(diagram, before.page_name)
    rows = dict(zip(before.names, before.rows.tolist(), strict=True))
    lines = np.array([rows.get(name, _LINES) for name in after.names], np.int32)
    after.set_rows(np.maximum(lines, after.least_rows))
    return after


def _following(scene: Scene, blocks: Collection[int]) -> Iterator[int]:
    """The blocks that the outputs of ``blocks`` lead to."""
    outward, index = scene.page.ends.outward, scene.index
    found: set[int] = set()
    waiting = list(blocks)
    while waiting:
        readers = outward.get(scene.names[waiting.pop()], ())
        ahead = {index[target.block] for target in readers} - found
        found |= ahead
        waiting += ahead
        yield from ahead


def _moves(scene: Scene, shifts: Floats) -> list[Change]:
    """Move each block by its shift (n,) to the right, with its bends and the frame around it."""
    moved = np.flatnonzero(shifts)
    places = {
        scene.names[i]: Point(float(scene.rects[i, 0] + shifts[i]), float(scene.rects[i, 1]))
        for i in moved.tolist()
    }
    bends: dict[PortName, tuple[Point, ...]] = {}
    for shift in np.unique(shifts[moved]).tolist():
        alike = moving_with(scene, np.flatnonzero(shifts == shift), ())
        bends |= shifted(scene, alike, np.array([shift, 0.0]))
    frames = _frames_after(scene, shifts)
    notes = {name: note.at for name, note in frames.items()}
    changes: list[Change] = [MoveBlocks(places, page=scene.page_name, notes=notes, bends=bends)]
    for name, note in frames.items():
        if note.width != scene.page.notes[name].width:
            changes.append(SetNote(name, note, page=scene.page_name))
    return changes


def _frames_after(scene: Scene, shifts: Floats) -> Mapping[str, Note]:
    """The frames that contain blocks that move: moved if all do so alike, wider otherwise."""
    frames = {}
    for name, note in scene.page.notes.items():
        inside = shifts[within(scene.rects, note)] if note.frame else shifts[:0]
        if not inside.any():
            continue
        if (inside == inside[0]).all():
            frames[name] = replace(note, at=Point(note.at.x + float(inside[0]), note.at.y))
        else:
            frames[name] = replace(note, width=note.width + float(inside.max()))
    return frames
