"""Edits of what is selected on a canvas: aligning, distributing, snapping to the grid, and more.

Also blocks, notes and bends that are added to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.frames import MoveSet, move_change, move_set
from gradwire.app.canvas.input.gestures.base import GRID
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.hits import moving_with
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import Batch, Change, MoveBlocks, Point

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.input.entry.candidates import Candidate
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import PortName

Alignment: TypeAlias = Literal[
    "left", "centre", "right", "top", "middle", "bottom", "across", "down", "grid"
]
"""``across`` and ``down`` distribute with equal gaps; ``grid`` snaps to the grid."""

_SHARE = {"left": 0.0, "centre": 0.5, "right": 1.0, "top": 0.0, "middle": 0.5, "bottom": 1.0}


def alignment(view: ViewState, way: Alignment) -> Change | None:
    """Align the selection, moving frames with their contents; None if nothing would move."""
    scene, selection = view.scene, view.selection
    blocks = [name for name in scene.names if name in selection.blocks]
    notes = [name for name in scene.page.notes if name in selection.notes]
    numbers = np.array([scene.index[name] for name in blocks], np.intp)
    of_notes = scene.note_rects()[[name in selection.notes for name in scene.page.notes]]
    rects = np.concatenate([scene.rects[numbers], of_notes.reshape(-1, 4)])
    corners, count = aligned(rects, way), len(blocks)
    places = {
        name: Point(*corner)
        for name, corner, old in zip(
            blocks, corners[:count].tolist(), rects[:count, :2].tolist(), strict=True
        )
        if corner != old
    }
    texts: dict[str, Point] = {}
    bends: dict[PortName, tuple[Point, ...]] = {}
    for name, shift in zip(notes, (corners - rects[:, :2])[count:], strict=True):
        if shift.any():
            part = move_change(scene, _with_note(scene, name, selection), shift)
            places, texts = {**part.places, **places}, {**texts, **part.notes}
            bends |= part.bends
    if not (places or texts):
        return None
    label = {"across": "Distribute", "down": "Distribute", "grid": "Snap to grid"}
    move = MoveBlocks(places, page=scene.page_name, notes=texts, bends=bends)
    return Batch(label.get(way, "Align"), (move,))


def _with_note(scene: Scene, note: str, selection: Selection) -> MoveSet:
    """A note or frame, with the contents of the frame that are not selected themselves."""
    moved = move_set(scene, Selection(notes=frozenset({note})))
    chosen = [i for i in moved.blocks.tolist() if scene.names[i] not in selection.blocks]
    notes = {n: v for n, v in moved.notes.items() if n == note or n not in selection.notes}
    blocks = np.array(chosen, np.intp)
    return MoveSet(blocks, notes, moving_with(scene, blocks, ()))


def aligned(rects: Floats, way: Alignment) -> Floats:
    """New corners (k, 2) of items at ``rects`` (k, 4: left, top, width, height)."""
    corners = rects[:, :2].copy()
    if not len(rects):
        return corners
    if way == "grid":
        return np.asarray(np.round(corners / GRID) * GRID)
    axis = 0 if way in ("left", "centre", "right", "across") else 1
    low, size = rects[:, axis], rects[:, axis + 2]
    if way in ("across", "down"):
        corners[:, axis] = _distributed(low, size)
    else:
        share = _SHARE[way]
        line = low.min() + share * ((low + size).max() - low.min())
        corners[:, axis] = np.round(line - share * size)
    return corners


def _distributed(low: Floats, size: Floats) -> Floats:
    """Positions with equal gaps; the first and last item stay in place."""
    order = np.argsort(low + size / 2.0, kind="stable")
    first, last = order[0], order[-1]
    room = low[last] + size[last] - low[first] - size.sum()
    gap = room / max(len(low) - 1, 1)
    placed = low.copy()
    placed[order] = low[first] + np.cumsum(size[order] + gap) - size[order] - gap
    return np.asarray(np.round(placed))


class Edits:
    """Requests changes of the shown page."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def align(self, way: Alignment) -> None:
        """Align the selection, distribute it evenly, or snap it to the grid."""
        self._context.request(alignment(self._context.view, way))

    def delete_selection(self) -> None:
        """Remove the selection, or else the focused item."""
        self._context.request(changes.removal(self._context.view))

    def nudge(self, dx: float, dy: float) -> None:
        """Move the selection by scene units."""
        self._context.request(changes.nudge(self._context.view, dx, dy))

    def resize_notes(self, dx: float, dy: float) -> None:
        """Resize the selected notes, or the focused one, by scene units."""
        self._context.request(changes.resizing(self._context.view, dx, dy))

    def add_note(self, *, frame: bool = False) -> None:
        """Add a note where there is room, or a frame around the selected blocks, and edit it."""
        context = self._context
        change = changes.note_around(context.view, context.keyboard_focus.centre(), frame=frame)
        context.request(change)
        context.selection.select((), {change.id})
        context.inline_editor.edit_note(change.id)

    def bend_wire(self, at: QPointF | None = None) -> None:
        """Add a bend to the selected wire: at ``at``, where it was pressed, or in the middle."""
        context = self._context
        wire, at = context.view.selection.wire, at or context.mouse.pressed
        if wire is None:
            context.hint(editor.tr("Select a wire to bend."))
            return
        place = None if at is None else np.array(at.toTuple())
        change, bend = changes.add_bend(context.view, wire, place)
        context.request(change)
        context.selection.set(Selection(bends=frozenset({bend})))
        if context.view.focus is not None:
            context.keyboard_focus.focus_on(Focus(FocusKind.BEND, *bend))

    def add(self, candidate: Candidate, at: Point) -> None:
        """Add a block with its top left at ``at``, insert it into a wire there, and select it."""
        name, change, _ = changes.dropping(self._context.view, candidate, at)
        self._add(candidate, name, change)

    def put(self, candidate: Candidate) -> None:
        """Add a block where there is room, beside the selected one, and bring it into view."""
        context = self._context
        name, change = changes.placing(context.view, candidate, self._vacancy(), None)
        self._add(candidate, name, change)
        bounds = context.view.scene.bounds_of([name])
        if bounds is not None:
            context.camera.reveal(bounds)

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Open the search box for a block at ``at``, at the end of a wire from ``port``.

        Without ``at`` the place is chosen: at the end of the wire, in the selected wire, where the
        pointer has just been, or beside the selected block.
        """
        mouse, adder = self._context.mouse, self._context.adder
        pointer, mouse.pointer = mouse.pointer, None
        if at is not None:
            adder.open(at, port)
        elif port is not None:
            adder.open_for_port(port)
        elif (wire := self._context.view.selection.wire) is not None:
            adder.open_for_wire(wire)
        else:
            adder.open_at(self._vacancy(pointer))

    def rename(self) -> None:
        """Edit the name or text of the one selected item, or else of the focused one."""
        view, field = self._context.view, self._context.inline_editor
        for items in (view.selection, changes.focused(view)):
            if len(items.blocks) == 1:
                return field.edit_name(*items.blocks)
            if len(items.notes) == 1 and not items.blocks:
                return field.edit_note(*items.notes)

    def inspect(self, name: str) -> None:
        """Select a block and request its fields."""
        self._context.selection.select([name])
        self._context.widget.inspectRequested.emit(name)

    def _add(self, candidate: Candidate, name: str, change: Change) -> None:
        """Make the change that adds a block, and room for it, and select it."""
        context = self._context
        context.favourites.use(candidate.kind)
        context.request(make_space(context.view.scene, change, [name]))
        context.selection.select([name])

    def _vacancy(self, near: QPointF | None = None) -> Floats:
        """A corner (2,) for a new block: near a widget point, the selection or the middle."""
        view = self._context.view
        corner = changes.beside(view) if near is None else None
        if corner is None:
            at = near or QRectF(self._context.widget.rect()).center()
            corner = view.camera.to_scene(np.array(at.toTuple()))
        return changes.free_corner(view.scene, corner)
