"""The changes that keys, fields and drops ask for, made from what is shown and selected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from app.canvas.input.cutting import cutting, marked
from app.canvas.input.frames import carried, moving, resized
from app.canvas.input.gestures import GRID
from app.canvas.input.splicing import free_ports, splicing, wire_under
from app.canvas.paint.notes import note_height
from app.canvas.scene.bends import without
from app.canvas.scene.focus import Kind
from app.canvas.scene.geometry import Bend, overlapping
from app.canvas.state.view_state import Picked
from blocks.library.pages import Page as PageBlock
from runtime.diagram import (
    AddBlock,
    Batch,
    Change,
    Connect,
    Disconnect,
    MoveBlocks,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    apply,
    fresh_names,
    new_page,
    page_of,
)
from runtime.diagram.layout.measures import HEADER, ROW, WIDTH, block_height
from runtime.diagram.model import Note, Point
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF

    from app.canvas.input.entry.candidates import Choice
    from app.canvas.scene.geometry import Floats, Scene
    from app.canvas.state.view_state import View

APART = 60.0
"""From a block to one that is added beside it, scene units."""


def removal(view: View) -> Change | None:
    """Remove the marked wires, else the selected blocks, notes and bends, else the wire, else what
    has the focus.
    """
    scene, picked = view.scene, view.picked
    if wires := marked(view.marks):
        return cutting(scene, wires)
    page, nothing = scene.page_name, picked == Picked()
    if nothing and view.wire is not None:
        return Disconnect(PortName.parse(view.wire), page=page)
    if nothing:
        picked = focused(view)
    names = tuple(name for name in scene.names if name in picked.blocks)
    changes: list[Change] = [*without(scene, picked.bends)]
    changes += [SetNote(note, None, page=page) for note in sorted(picked.notes)]
    if names:
        changes.append(RemoveBlocks(names, page=page))
    if len(changes) > 1:
        return Batch("Remove selection", tuple(changes))
    return changes[0] if changes else None


def focused(view: View) -> Picked:
    """The block, note or bend that has the focus, if one has."""
    focus = view.focus
    if focus is not None and focus.kind is Kind.BLOCK:
        return Picked(blocks=frozenset({focus.name}))
    if focus is not None and focus.kind is Kind.NOTE:
        return Picked(notes=frozenset({focus.name}))
    if focus is not None and focus.kind is Kind.BEND:
        return Picked(bends=frozenset({Bend(focus.name, focus.number)}))
    return Picked()


def nudge(view: View, dx: float, dy: float) -> Change | None:
    """Move what is selected by scene units."""
    load = carried(view.scene, view.picked)
    if not (len(load.blocks) or load.notes or len(load.bends)):
        return None
    return moving(view.scene, load, np.array([dx, dy]))


def resizing(view: View, dx: float, dy: float) -> Change | None:
    """Make the selected notes, or the one that has the focus, larger by scene units."""
    scene = view.scene
    names = sorted(view.notes or focused(view).notes)
    changes = tuple(
        SetNote(name, after, page=scene.page_name)
        for name in names
        if (after := resized(scene.page.notes[name], np.array([dx, dy]))) != scene.page.notes[name]
    )
    if len(changes) > 1:
        return Batch("Resize notes", changes)
    return changes[0] if changes else None


def placing(view: View, choice: Choice, at: Floats, port: int | None) -> tuple[str, Change]:
    """Add a chosen block with its top left at ``at`` (2,), or with its port there, and wire it.

    ``port`` is where the wire in the hand begins, if there is one. Gives the block's name, too.
    """
    scene = view.scene
    if port is None:
        return adding(scene, choice, _on_grid(at))
    from_output = not scene.port_is_input[port]
    corner = _on_grid(at - port_offset(from_output=from_output))
    name, add = adding(scene, choice, corner)
    inner = PortName(name, choice.input if from_output else choice.output)
    outer = scene.port_name(port)
    ends = (outer, inner) if from_output else (inner, outer)
    return name, Batch(f"Add {name}", (add, Connect(*ends, page=scene.page_name)))


def port_offset(*, from_output: bool) -> Floats:
    """From a block's corner to its first port (2,) that a wire from an output ends at, or begins.

    That is its first input, or else its output.
    """
    return np.array([0.0 if from_output else WIDTH, HEADER + ROW / 2.0])


def beside(view: View) -> Floats | None:
    """A corner (2,) right of the one selected block, where the flow goes on; None without one."""
    if len(view.selected) != 1:
        return None
    (name,) = view.selected
    left, top, width, _ = view.scene.rects[view.scene.index[name]].tolist()
    return np.array([left + width + APART, top])


def vacancy_for(scene: Scene, port: int) -> Floats:
    """A corner (2,) for a new block whose first port a wire from ``port`` ends at."""
    from_output = not scene.port_is_input[port]
    end = scene.port_points(np.array([port]))[0] + (APART if from_output else -APART, 0.0)
    return free_corner(scene, end - port_offset(from_output=from_output))


def vacancy_in(scene: Scene, wire: str) -> Floats:
    """A corner (2,) for a new block near the middle of a wire."""
    left, top, right, bottom = scene.wire_bounds[scene.wire_index[wire]].tolist()
    middle = np.array([left + right - WIDTH, top + bottom - block_height(1)]) / 2.0
    return free_corner(scene, middle)


def adding(scene: Scene, choice: Choice, at: Point) -> tuple[str, Change]:
    """The name of a chosen block, and the change that adds it with its top left at ``at``."""
    page = scene.page_name
    if isinstance(choice.block, PageBlock) and not choice.block.page:
        batch = new_page(scene.diagram, page, at)
        return page_of(batch), batch
    name = next(fresh_names(choice.title, scene.page.blocks))
    return name, AddBlock(name, choice.block, at, page=page)


def dropping(view: View, choice: Choice, at: Point) -> tuple[str, Change, str | None]:
    """A chosen block let go at ``at``: its name, the change, the wire it is put into or None."""
    scene = view.scene
    corner = _on_grid(np.array(at))
    name, change = adding(scene, choice, corner)
    size = block_height(max(1, len(type(choice.block).inputs)))
    wire = wire_under(scene, np.array([*corner, WIDTH, size]))
    joined = wire and splicing(scene, change, name, choice.input, choice.output, wire)
    return (name, joined, wire) if joined else (name, change, None)


def insertion(view: View) -> Change | None:
    """Put the one selected block, where it stands, into the selected wire; None if it can't be."""
    scene = view.scene
    if len(view.selected) != 1 or view.wire is None:
        return None
    (name,) = view.selected
    stay = MoveBlocks({}, page=scene.page_name)
    return splicing(scene, stay, name, *free_ports(scene, name), view.wire)


def inserting(view: View, choice: Choice, at: Floats, wire: str) -> tuple[str, Change] | None:
    """A chosen block put into a wire, its top left at ``at`` (2,); None where it doesn't fit."""
    name, change = adding(view.scene, choice, _on_grid(at))
    joined = splicing(view.scene, change, name, choice.input, choice.output, wire)
    return None if joined is None else (name, joined)


def note_around(view: View, at: QPointF, *, frame: bool) -> SetNote:
    """Write a note near the widget point ``at``, or put a frame around the selected blocks."""
    scene = view.scene
    name = next(fresh_names("frame" if frame else "note", scene.page.notes))
    chosen = [scene.index[block] for block in view.selected] if frame else []
    bounds = scene.bounds(np.array(chosen, np.intp)) if chosen else None
    if bounds is None:
        corner = free_corner(scene, view.camera.to_scene(np.array(at.toTuple())))
        note = Note("", _on_grid(corner), *((320.0, 200.0) if frame else (200.0, 60.0)), frame)
    else:
        left, top = (np.floor((bounds[:2] - (20.0, 40.0)) / GRID) * GRID).tolist()
        right, bottom = (np.ceil((bounds[2:] + 20.0) / GRID) * GRID).tolist()
        note = Note("", Point(left, top), right - left, bottom - top, frame)
    return SetNote(name, note, page=scene.page_name)


def free_corner(scene: Scene, at: Floats) -> Floats:
    """The top left corner nearest to ``at`` (2,) where a block is in no other's way."""
    room = np.array([WIDTH + 2 * GRID, block_height(2) + 2 * GRID])
    steps = np.stack(np.meshgrid(np.arange(-4, 5), np.arange(-6, 7)), axis=-1).reshape(-1, 2)
    around = at + steps * room
    order = np.argsort(np.hypot(*(around - at).T), kind="stable")
    for corner in around[order]:
        if not len(overlapping(scene.rects, np.concatenate([corner - GRID, corner + room - GRID]))):
            return np.asarray(corner)
    return at


def _on_grid(at: Floats) -> Point:
    return Point(*(np.round(at / GRID) * GRID).tolist())


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
