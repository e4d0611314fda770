"""Dragging the selection: blocks, notes and bends, with the contents of frames among them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt

from gradwire.app.canvas.input.changes import moving_in
from gradwire.app.canvas.input.frames import move_change, move_set, moved_notes
from gradwire.app.canvas.input.gestures.base import GRID, Gesture
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.input.splicing import free_ports, splice, wire_under
from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.scene.geometry import OVERHANG
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import MoveBlocks

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.runtime.diagram import Change


class DragSelection(Gesture):
    """Moves the selection; the corner ``grabbed`` (2,) snaps to the grid, the rest follows.

    A single block without wires is inserted into the wire that it is dropped on; a Variable moves
    into the block that it alone drives and that may own it.
    """

    cursor = Qt.CursorShape.SizeAllCursor

    def __init__(self, context: CanvasContext, start: QPointF, grabbed: Floats) -> None:
        super().__init__(context, start)
        scene = context.view.scene
        self._scene: Scene = scene
        self._moved = move_set(scene, context.view.selection)
        bends = self._moved.bends
        self._wires = np.union1d(scene.wires_of(self._moved.blocks), scene.bend_wire[bends])
        self._corners: Floats = scene.rects[self._moved.blocks, :2].copy()
        self._points: Floats = scene.bends[bends].copy()
        self._grabbed: Floats = grabbed.copy()
        alone = len(self._corners) == 1 and not (self._moved.notes or len(bends))
        self._name = scene.names[self._moved.blocks[0]] if alone else ""
        self._inward, self._outward = free_ports(scene, self._name) if alone else ("", "")
        self._shift = np.zeros(2)

    def move(self, at: QPointF) -> None:
        shift = np.round((self._grabbed + self.shift(at)) / GRID) * GRID - self._grabbed
        if not np.array_equal(shift, self._shift):
            self._shift = shift
            self._place(shift)
            self._mark_wire()
            inward = moving_in(self.context.view, self._name, at) is not None
            self.context.hint(editor.tr("Release to move it into the block.") if inward else "")

    def finish(self, at: QPointF) -> None:
        shift, wires = self._shift, list(self.context.view.marks)
        moved_in = moving_in(self.context.view, self._name, at) if shift.any() else None
        if shift.any() and moved_in is None and not wires and self._moves_blocks_alone():
            self._drop()
            return
        self.cancel()
        if moved_in is not None:
            self.context.request(moved_in)
        elif shift.any():
            move = move_change(self._scene, self._moved, shift)
            joined = self._splice(move, wires[0]) if wires else None
            self.context.request(make_space(self._scene, joined, [self._name]) if joined else move)

    def cancel(self) -> None:
        self.context.view = replace(self.context.view, marks={})
        self._place(np.zeros(2))
        self.context.show(dragged_notes={})

    def _moves_blocks_alone(self) -> bool:
        return not (self._moved.notes or len(self._moved.bends))

    def _drop(self) -> None:
        """Leave the blocks where they are now, where hardly anything must be painted again."""
        page = self._scene.page
        self.context.request(move_change(self._scene, self._moved, np.zeros(2)))
        if self._scene.page is page:  # nothing has changed
            self.cancel()

    def _mark_wire(self) -> None:
        """Mark the wire that a block without wires would be inserted into if it were dropped."""
        view, scene = self.context.view, self._scene
        if not (self._inward and self._outward):
            return
        wire = wire_under(scene, scene.rects[self._moved.blocks[0]], self._name)
        if wire is not None and wire not in view.marks:
            wire = wire if self._splice(MoveBlocks({}, page=scene.page_name), wire) else None
        marks = {} if wire is None else {wire: "accent"}
        if marks != view.marks:
            self.context.show(marks=marks)

    def _splice(self, move: MoveBlocks, wire: str) -> Change | None:
        return splice(self._scene, move, self._name, self._inward, self._outward, wire)

    def _place(self, shift: Floats) -> None:
        moved, before = self._moved, self._area()
        self._scene.place(moved.blocks, self._corners + shift, moved.bends, self._points + shift)
        if moved.notes:
            notes = moved_notes(moved.notes, shift)
            self.context.show(dragged_notes=notes)
        else:
            self.context.redraw(before.united(self._area()))

    def _area(self) -> QRectF:
        """The area of the moved blocks and of all wires that follow, in widget px."""
        rects, bounds = self._scene.rects[self._moved.blocks], self._scene.wire_bounds[self._wires]
        low = np.vstack([rects[:, :2] - OVERHANG, bounds[:, :2]])
        high = np.vstack([rects[:, :2] + rects[:, 2:] + OVERHANG, bounds[:, 2:]])
        if not len(low):
            return QRectF()
        camera = self.context.view.camera
        corners = np.array([low.min(axis=0), high.max(axis=0)])
        return box_between(*camera.to_widget(corners).ravel().tolist()).adjusted(-8, -8, 8, 8)
