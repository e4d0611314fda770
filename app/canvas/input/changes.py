"""Builds the changes that keys, fields and drops request, from the view state.

Among them inserting a block into a wire: which wire lies under it, and the change.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.input.entry.candidates import LAYERS, adding_layer
from gradwire.app.canvas.input.frames import move_change, move_set, resized
from gradwire.app.canvas.input.gestures.base import GRID
from gradwire.app.canvas.input.gestures.cutting import cut_change, marked
from gradwire.app.canvas.paint.notes import note_height
from gradwire.app.canvas.scene.arrays import overlapping
from gradwire.app.canvas.scene.curves import Polylines
from gradwire.app.canvas.scene.focus import FocusKind
from gradwire.app.canvas.scene.geometry import Bend
from gradwire.app.canvas.scene.hits import (
    WIRE_HIT_DISTANCE,
    distances,
    nearest_section,
    sections,
    wire_at,
)
from gradwire.app.canvas.scene.lane_paths import GAP, STEPS
from gradwire.app.canvas.state.view_state import NOTHING, Selection
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.runtime.diagram import (
    HEADER,
    ROW,
    WIDTH,
    AddBlock,
    Batch,
    BendWire,
    Change,
    Connect,
    Disconnect,
    MoveBlocks,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    apply,
    block_height,
    fresh_names,
    move_out,
    new_page,
    own_variables,
    ownable_inputs,
    owned_inputs,
    page_of,
    ports,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from PySide6.QtCore import QPointF

    from gradwire.app.canvas.input.entry.candidates import Candidate
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import ViewState

_SAMPLES = 200
"""Points of a wire at which it is checked whether it runs through a rectangle."""
_INSET = 0.2
"""Share of a block's size that a wire must reach into the block."""


def wire_under(scene: Scene, rect: Floats, block: str | None = None) -> str | None:
    """Key of the wire that runs most centrally through ``rect`` (left, top, width, height).

    Wires of ``block`` itself are left out.
    """
    left, top, width, height = rect.tolist()
    margin = np.array([_INSET * width, _INSET * height])
    low = np.array([left, top]) + margin
    high = np.array([left + width, top + height]) - margin
    near = scene.wires_in(np.concatenate([low, high]))
    own = scene.index.get(block or "", -1)
    near = near[(scene.wire_blocks[near] != own).all(axis=1)]
    found: list[tuple[float, int]] = []
    for wires, courses in scene.courses(near) if len(near) else ():
        points = Polylines(courses.flatten(STEPS)).evenly(_SAMPLES)
        away = np.abs(points - (low + high) / 2.0) / (high - low)
        distance = away.max(axis=2).min(axis=1)
        nearest = int(distance.argmin())
        found.append((float(distance[nearest]), int(wires[nearest])))
    least, wire = min(found, default=(np.inf, -1))
    return scene.wire_keys[wire] if least <= 0.5 else None


def splice(
    scene: Scene, first: Change, name: str, inward: str, outward: str, wire: str
) -> Batch | None:
    """``first``, which places block ``name``, then the block inserted into ``wire`` by two ports.

    Bends before the block stay on the wire to it, the others on the wire from it. None if the
    block does not fit there.
    """
    target = PortName.parse(wire)
    source = scene.page.wires.get(target)
    if source is None or not (inward and outward):
        return None
    page, middle = scene.page_name, PortName(name, inward)
    joined = Batch(
        f"Insert {name} into the wire to {target}",
        (
            first,
            Connect(source, middle, page=page),
            Connect(PortName(name, outward), target, page=page),
        ),
    )
    try:
        after = apply(scene.diagram, joined).after
    except ChangeError:
        return None
    if bends := scene.page.bends.get(target, ()):
        x, y = after.pages[page].layout.get(name, Point(0.0, 0.0))
        centre = np.array([x + WIDTH / 2.0, y + block_height(1) / 2.0])
        before = nearest_section(scene, wire, centre)
        halves = (BendWire(middle, bends[:before], page), BendWire(target, bends[before:], page))
        return replace(joined, changes=(*joined.changes, *halves))
    return joined


def free_ports(scene: Scene, name: str) -> tuple[str, str]:
    """The first input and the first output of a block; both empty if it has a wire."""
    page = scene.page
    if page.ends.inward.get(name) or page.ends.outward.get(name):
        return "", ""
    own = ports(scene.diagram, scene.page_name, name)
    literals = page.blocks[name].literals
    inputs = sorted(own.inputs or own.free, key=lambda port: port in literals)
    return next(iter(inputs), ""), next(iter(own.outputs), "")


DISTANCE = 60.0
"""From a block to one that is added beside it, scene units."""


def removal(view: ViewState) -> Change | None:
    """Remove the marked wires, or else the selection, the selected wire, or the focused item."""
    scene, selection = view.scene, view.selection
    if wires := marked(view.marks):
        return cut_change(scene, wires)
    page = scene.page_name
    if not selection.has_items and selection.wire is not None:
        return Disconnect(PortName.parse(selection.wire), page=page)
    if not selection.has_items:
        selection = focused(view)
    names = tuple(name for name in scene.names if name in selection.blocks)
    changes: list[Change] = [*_without_bends(scene, selection.bends)]
    changes += [SetNote(note, None, page=page) for note in sorted(selection.notes)]
    if names:
        changes.append(RemoveBlocks(names, page=page))
    if len(changes) > 1:
        return Batch("Remove selection", tuple(changes))
    return changes[0] if changes else None


def focused(view: ViewState) -> Selection:
    """The block, note or bend that has the focus, if any."""
    focus = view.focus
    if focus is not None and focus.kind is FocusKind.BLOCK:
        return Selection(blocks=frozenset({focus.name}))
    if focus is not None and focus.kind is FocusKind.NOTE:
        return Selection(notes=frozenset({focus.name}))
    if focus is not None and focus.kind is FocusKind.BEND:
        return Selection(bends=frozenset({Bend(focus.name, focus.number)}))
    return NOTHING


def nudge(view: ViewState, dx: float, dy: float) -> Change | None:
    """Move the selection by scene units."""
    moved = move_set(view.scene, view.selection)
    if not (len(moved.blocks) or moved.notes or len(moved.bends)):
        return None
    return move_change(view.scene, moved, np.array([dx, dy]))


def resizing(view: ViewState, dx: float, dy: float) -> Change | None:
    """Resize the selected notes, or the focused one, by scene units."""
    scene = view.scene
    names = sorted(view.selection.notes or focused(view).notes)
    changes = tuple(
        SetNote(name, after, page=scene.page_name)
        for name in names
        if (after := resized(scene.page.notes[name], np.array([dx, dy]))) != scene.page.notes[name]
    )
    if len(changes) > 1:
        return Batch("Resize notes", changes)
    return changes[0] if changes else None


def placing(
    view: ViewState, candidate: Candidate, at: Floats, port: int | None
) -> tuple[str, Change]:
    """The name of a new block, and the change that adds it at ``at`` (2,).

    Its top left is there; with ``port``, from which a wire is drawn, the port that is wired to it.
    """
    scene = view.scene
    if port is None:
        return adding(scene, candidate, on_grid(at))
    from_output = not scene.port_is_input[port]
    corner = on_grid(at - port_offset(from_output=from_output))
    name, add = adding(scene, candidate, corner)
    inner = PortName(name, candidate.input if from_output else candidate.output)
    outer = scene.port_name(port)
    ends = (outer, inner) if from_output else (inner, outer)
    return name, Batch(f"Add {name}", (add, Connect(*ends, page=scene.page_name)))


def moving_out(view: ViewState, port: int, at: QPointF) -> Change | None:
    """Move the own variable of an input out to the widget point ``at``; None without one."""
    scene, target = view.scene, view.scene.port_name(port)
    if target not in owned_inputs(scene.page, target.block):
        return None
    end = view.camera.to_scene(np.array([at.x(), at.y()]))
    corner = on_grid(end - port_offset(from_output=False))
    return move_out(scene.diagram, scene.page_name, [target], corner)


def moving_in(view: ViewState, name: str, at: QPointF) -> Change | None:
    """Move a Variable into the block under the widget point ``at`` that it alone drives; None if
    it can't own it.
    """
    scene, camera = view.scene, view.camera
    for target in scene.page.ends.outward.get(name, ()):
        left, top, width, height = scene.rects[scene.index[target.block]].tolist()
        x, y = camera.to_scene(np.array([at.x(), at.y()])).tolist()
        inside = 0.0 <= x - left <= width and 0.0 <= y - top <= height
        if inside and target in ownable_inputs(scene.page, target.block):
            return own_variables(scene.diagram, scene.page_name, [target])
    return None


def port_offset(*, from_output: bool) -> Floats:
    """From a block's corner to its first input (2,), or if not ``from_output`` to its output."""
    return np.array([0.0 if from_output else WIDTH, HEADER + ROW / 2.0])


def beside(view: ViewState) -> Floats | None:
    """A corner (2,) to the right of the selected block; None unless exactly one is selected."""
    if len(view.selection.blocks) != 1:
        return None
    (name,) = view.selection.blocks
    left, top, width, _ = view.scene.rects[view.scene.index[name]].tolist()
    return np.array([left + width + DISTANCE, top])


def vacancy_for(scene: Scene, port: int) -> Floats:
    """A corner (2,) for a new block that a wire from ``port`` connects."""
    from_output = not scene.port_is_input[port]
    end = scene.port_points(np.array([port]))[0] + (DISTANCE if from_output else -DISTANCE, 0.0)
    return free_corner(scene, end - port_offset(from_output=from_output))


def vacancy_in(scene: Scene, wire: str) -> Floats:
    """A corner (2,) for a new block near the middle of a wire."""
    left, top, right, bottom = scene.wire_bounds[scene.wire_index[wire]].tolist()
    middle = np.array([left + right - WIDTH, top + bottom - block_height(1)]) / 2.0
    return free_corner(scene, middle)


def adding(scene: Scene, candidate: Candidate, at: Point) -> tuple[str, Change]:
    """The name of a new block, and the change that adds it with its top left at ``at``."""
    page = scene.page_name
    if candidate.title in LAYERS and isinstance(candidate.block, Scan) and not candidate.block.page:
        return adding_layer(scene.diagram, page, candidate.title, at)
    if isinstance(candidate.block, PageBlock) and not candidate.block.page:
        batch = new_page(scene.diagram, page, at, type(candidate.block))
        return page_of(batch), batch
    name = next(fresh_names(candidate.title, scene.page.blocks))
    return name, AddBlock(name, candidate.block, at, page=page)


def dropping(view: ViewState, candidate: Candidate, at: Point) -> tuple[str, Change, str | None]:
    """A block dropped at ``at``: its name, the change, and the wire it is inserted into, if any.

    That is the wire at ``at``, and the block is put around it; or else the wire that runs through
    the middle of the block, whose top left is at ``at``.
    """
    scene = view.scene
    size = np.array([WIDTH, block_height(max(1, len(candidate.block.input_ports())))])
    corner = on_grid(np.array(at))
    x, y = view.camera.to_widget(np.array(at)).tolist()
    aimed = wire_at(scene, view.camera, x, y, view.lane_count)
    if aimed is not None:
        corner = on_grid(np.array(at) - size / 2)
    name, change = adding(scene, candidate, corner)
    wire = (
        wire_under(scene, np.array([*corner, *size])) if aimed is None else scene.wire_keys[aimed]
    )
    joined = wire and splice(scene, change, name, candidate.input, candidate.output, wire)
    return (name, joined, wire) if joined else (name, change, None)


def insertion(view: ViewState) -> Change | None:
    """Insert the one selected block into the selected wire; None if it does not fit."""
    scene = view.scene
    if len(view.selection.blocks) != 1 or view.selection.wire is None:
        return None
    (name,) = view.selection.blocks
    stay = MoveBlocks({}, page=scene.page_name)
    return splice(scene, stay, name, *free_ports(scene, name), view.selection.wire)


def inserting(
    view: ViewState, candidate: Candidate, at: Floats, wire: str
) -> tuple[str, Change] | None:
    """A new block inserted into a wire, its top left at ``at`` (2,); None if it does not fit."""
    name, change = adding(view.scene, candidate, on_grid(at))
    joined = splice(view.scene, change, name, candidate.input, candidate.output, wire)
    return None if joined is None else (name, joined)


def note_around(view: ViewState, at: QPointF, *, frame: bool) -> SetNote:
    """Add a note near the widget point ``at``, or a frame around the selected blocks."""
    scene = view.scene
    name = next(fresh_names("frame" if frame else "note", scene.page.notes))
    chosen = [scene.index[block] for block in view.selection.blocks] if frame else []
    bounds = scene.bounds(np.array(chosen, np.intp)) if chosen else None
    if bounds is None:
        corner = free_corner(scene, view.camera.to_scene(np.array(at.toTuple())))
        note = Note("", on_grid(corner), *((320.0, 200.0) if frame else (200.0, 60.0)), frame)
    else:
        left, top = (np.floor((bounds[:2] - (20.0, 40.0)) / GRID) * GRID).tolist()
        right, bottom = (np.ceil((bounds[2:] + 20.0) / GRID) * GRID).tolist()
        note = Note("", Point(left, top), right - left, bottom - top, frame)
    return SetNote(name, note, page=scene.page_name)


def free_corner(scene: Scene, at: Floats) -> Floats:
    """The corner nearest to ``at`` (2,) where a block overlaps no other."""
    room = np.array([WIDTH + 2 * GRID, block_height(2) + 2 * GRID])
    steps = np.stack(np.meshgrid(np.arange(-4, 5), np.arange(-6, 7)), axis=-1).reshape(-1, 2)
    around = at + steps * room
    order = np.argsort(np.hypot(*(around - at).T), kind="stable")
    for corner in around[order]:
        if not len(overlapping(scene.rects, np.concatenate([corner - GRID, corner + room - GRID]))):
            return np.asarray(corner)
    return at


def on_grid(at: Floats) -> Point:
    """The point of the grid nearest to ``at`` (2,)."""
    return Point(*(np.round(at / GRID) * GRID).tolist())


def renaming(view: ViewState, old: str, new: str) -> Change | None:
    """Rename a block; None if the name stays. Raises ChangeError for an invalid name."""
    if new == old:
        return None
    change = RenameBlock(old, new, page=view.scene.page_name)
    apply(view.scene.diagram, change)
    return change


def rewording(view: ViewState, note: str, text: str) -> Change | None:
    """Change the text of a note and fit its height; None if the text stays."""
    known = view.scene.page.notes[note]
    if text == known.text:
        return None
    height = max(known.height, note_height(text, known.width))
    changed = replace(known, text=text, height=known.height if known.frame else height)
    return SetNote(note, changed, page=view.scene.page_name)


def add_bend(view: ViewState, key: str, pressed: Floats | None) -> tuple[BendWire, Bend]:
    """Add a bend to a wire, on the grid; returns the change and the new bend.

    The bend lies at the widget point ``pressed`` (2,) if the wire passes there, or else in the
    middle of its longest section.
    """
    scene, camera, curves = view.scene, view.camera, sections(view.scene, key)
    lengths = np.hypot(*np.moveaxis(np.diff(curves, axis=1), 2, 0)).sum(axis=1)
    at = curves[lengths.argmax(), curves.shape[1] // 2]
    if pressed is not None:
        away = distances(camera.to_widget(curves), *pressed.tolist())
        if away.min() <= WIRE_HIT_DISTANCE + GAP * view.lane_count * camera.unit:
            at = camera.to_scene(pressed)
    target, number = PortName.parse(key), nearest_section(scene, key, at)
    bends = list(scene.page.bends.get(target, ()))
    bends.insert(number, on_grid(at))
    return BendWire(target, tuple(bends), page=scene.page_name), Bend(key, number)


def _without_bends(scene: Scene, removed: Collection[Bend]) -> Iterator[BendWire]:
    """Changes that take the ``removed`` bends out of their wires."""
    for key in sorted({bend.wire for bend in removed}):
        target = PortName.parse(key)
        bends = enumerate(scene.page.bends[target])
        kept = tuple(point for i, point in bends if Bend(key, i) not in removed)
        yield BendWire(target, kept, page=scene.page_name)


class MenuTarget(Enum):
    """The sorts of items that have a context menu of their own."""

    CANVAS = auto()
    BLOCK = auto()
    PAGE = auto()
    """A block that uses a page."""
    FORMULA = auto()
    """A Formula block."""
    STOP = auto()
    """A StopGradient."""
    PORT = auto()
    WIRE = auto()
    """A wire or one of its bends."""
    FRAME = auto()
    NOTE = auto()
    SELECTION = auto()
    """Several blocks, notes or bends."""


def target_of(view: ViewState) -> MenuTarget:
    """The focused port, or else what is selected, or else the page."""
    if view.focus is not None and view.focus.kind in (FocusKind.INPUT, FocusKind.OUTPUT):
        return MenuTarget.PORT
    blocks, notes, bends, wire = view.selection
    if len(blocks) + len(notes) + len(bends) > 1:
        return MenuTarget.SELECTION
    if blocks:
        return _of_block(view, *blocks)
    if notes:
        (name,) = notes
        return MenuTarget.FRAME if view.scene.page.notes[name].frame else MenuTarget.NOTE
    return MenuTarget.WIRE if bends or wire is not None else MenuTarget.CANVAS


def _of_block(view: ViewState, name: str) -> MenuTarget:
    match view.scene.page.blocks[name]:
        case StopGradient():
            return MenuTarget.STOP
        case PageBlock():
            return MenuTarget.PAGE
        case Formula():
            return MenuTarget.FORMULA
    return MenuTarget.BLOCK
