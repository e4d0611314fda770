"""The changes that keys, fields and drops ask for, made from what is shown and selected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.canvas.gestures import GRID
from app.canvas.painter import note_height
from blocks.registry import registry
from runtime.diagram import (
    AddBlock,
    Change,
    Disconnect,
    MoveBlocks,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    apply,
    fresh_name,
)
from runtime.diagram.model import Point, PortName

if TYPE_CHECKING:
    from app.canvas.painter import View


def removal(view: View) -> Change | None:
    """Remove the selected blocks, else the selected wire, else the selected note."""
    page = view.scene.page_name
    if view.selected:
        names = tuple(name for name in view.scene.names if name in view.selected)
        return RemoveBlocks(names, page=page)
    if view.wire is not None:
        return Disconnect(PortName.parse(view.wire), page=page)
    return None if view.note is None else SetNote(view.note, None, page=page)


def nudge(view: View, dx: float, dy: float) -> Change | None:
    """Move the selected blocks by scene units."""
    scene = view.scene
    places = {
        name: Point(x + dx, y + dy)
        for name, (x, y) in zip(scene.names, scene.rects[:, :2].tolist(), strict=True)
        if name in view.selected
    }
    return MoveBlocks(places, page=scene.page_name) if places else None


def addition(view: View, type_name: str, at: Point) -> AddBlock:
    """Add a block of a type with its top left at ``at``, on the grid; raises UnknownBlockError."""
    block = registry().get(type_name)()
    on_grid = Point(round(at.x / GRID) * GRID, round(at.y / GRID) * GRID)
    name = fresh_name(view.scene.page, type_name)
    return AddBlock(name, block, on_grid, page=view.scene.page_name)


def renaming(view: View, old: str, new: str) -> Change | None:
    """Rename a block; None where the name stays. Raises ChangeError for one that can't be."""
    if new == old:
        return None
    change = RenameBlock(old, new, page=view.scene.page_name)
    apply(view.scene.diagram, change)
    return change


def rewording(view: View, note: str, text: str) -> Change | None:
    """Give a note another text, and the height it needs; None where it stays."""
    known = view.scene.page.notes[note]
    if text == known.text:
        return None
    height = max(known.height, note_height(text, known.width))
    changed = replace(known, text=text, height=known.height if known.frame else height)
    return SetNote(note, changed, page=view.scene.page_name)
