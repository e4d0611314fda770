"""What is selected in the hand: blocks, notes and bends, with what the frames among them hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt

from app.canvas.input.frames import carried, moved_notes, moving
from app.canvas.input.gestures import GRID, Gesture, Host
from app.canvas.input.splicing import free_ports, splicing, wire_under
from app.canvas.scene.geometry import REACH
from runtime.diagram import MoveBlocks

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats, Scene
    from runtime.diagram import Change


class Drag(Gesture):
    """Moves what is selected; the corner ``grabbed`` (2,) keeps to the grid, the rest its distance.

    A single block without wires is put into the wire that it is let go on.
    """

    cursor = Qt.CursorShape.SizeAllCursor

    def __init__(self, host: Host, start: QPointF, grabbed: Floats) -> None:
        super().__init__(host, start)
        scene = host.view.scene
        self._scene: Scene = scene
        self._load = carried(scene, host.view.picked)
        bends = self._load.bends
        self._wires = np.union1d(scene.wires_of(self._load.blocks), scene.bend_wire[bends])
        self._corners: Floats = scene.rects[self._load.blocks, :2].copy()
        self._points: Floats = scene.bends[bends].copy()
        self._grabbed: Floats = grabbed.copy()
        alone = len(self._corners) == 1 and not (self._load.notes or len(bends))
        self._name = scene.names[self._load.blocks[0]] if alone else ""
        self._inward, self._outward = free_ports(scene, self._name) if alone else ("", "")
        self._shift = np.zeros(2)

    def move(self, at: QPointF) -> None:
        shift = np.round((self._grabbed + self.shift(at)) / GRID) * GRID - self._grabbed
        if not np.array_equal(shift, self._shift):
            self._shift = shift
            self._place(shift)
            self._mark_wire()

    def finish(self, at: QPointF) -> None:
        shift, wires = self._shift, list(self.host.view.marks)
        self.cancel()
        if shift.any():
            move = moving(self._scene, self._load, shift)
            self.host.ask(self._splicing(move, wires[0]) if wires else move)

    def cancel(self) -> None:
        self.host.view.marks = {}
        self._place(np.zeros(2))
        self.host.view.held_notes = {}

    def _mark_wire(self) -> None:
        """Mark the wire that a block without wires would be put into, if it were let go."""
        view, scene = self.host.view, self._scene
        if not (self._inward and self._outward):
            return
        wire = wire_under(scene, scene.rects[self._load.blocks[0]], self._name)
        if wire is not None and wire not in view.marks:
            wire = wire if self._splicing(MoveBlocks({}, page=scene.page_name), wire) else None
        marks = {} if wire is None else {wire: "accent"}
        if marks != view.marks:
            view.marks = marks
            self.host.redraw()

    def _splicing(self, move: MoveBlocks, wire: str) -> Change | None:
        return splicing(self._scene, move, self._name, self._inward, self._outward, wire)

    def _place(self, shift: Floats) -> None:
        load, before = self._load, self._area()
        self._scene.place(load.blocks, self._corners + shift, load.bends, self._points + shift)
        if load.notes:
            self.host.view.held_notes = moved_notes(load.notes, shift)
            self.host.redraw()
        else:
            self.host.redraw(before.united(self._area()))

    def _area(self) -> QRectF:
        """Where the blocks and all wires that follow are, in widget px."""
        rects, bounds = self._scene.rects[self._load.blocks], self._scene.wire_bounds[self._wires]
        low = np.vstack([rects[:, :2] - REACH, bounds[:, :2]])
        high = np.vstack([rects[:, :2] + rects[:, 2:] + REACH, bounds[:, 2:]])
        if not len(low):
            return QRectF()
        camera = self.host.view.camera
        corners = np.array([low.min(axis=0), high.max(axis=0)])
        left, top, right, bottom = camera.to_widget(corners).ravel().tolist()
        return QRectF(left, top, right - left, bottom - top).adjusted(-8, -8, 8, 8)
