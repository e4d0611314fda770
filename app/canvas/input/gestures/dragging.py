"""Dragging the selection: blocks, notes and bends, with the contents of frames among them.

With Alt, blocks are lifted out of their wires: what led through them leads past them afterwards. A
view is pulled by its lower right corner.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt

from gradwire.app.canvas.input.changes import free_ports, moving_in, splice, wire_under
from gradwire.app.canvas.input.frames import GRIP, move_change, move_set, moved_notes
from gradwire.app.canvas.input.gestures.base import GRID, Gesture
from gradwire.app.canvas.input.gestures.cutting import cut_change
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.paint.wires.lanes import draw_open_wire
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.canvas.scene.geometry import OVERHANG
from gradwire.app.services.translation import editor
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import (
    LEAST_SIZE,
    MOST_SIZE,
    Batch,
    Connect,
    MoveBlocks,
    PortName,
    Size,
    StyleBlocks,
    can_connect,
    ports,
)
from gradwire.runtime.diagram import PLAIN as USUAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.camera import Camera
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


class LiftSelection(DragSelection):
    """Moves the selection out of its wires, and shows the wires that will lead past it."""

    def __init__(self, context: CanvasContext, start: QPointF, grabbed: Floats) -> None:
        super().__init__(context, start, grabbed)
        names = [self._scene.names[i] for i in self._moved.blocks.tolist()]
        self._cut, self._healed = healing(self._scene, names)
        self._label = _label(names)

    def finish(self, at: QPointF) -> None:
        shift = self._shift
        self.cancel()
        if shift.any():
            moved = move_change(self._scene, self._moved, shift)
            rewired = _rewiring(self._scene, self._cut, self._healed)
            self.context.request(Batch(self._label, (*rewired, moved)))

    def paint(self, painter: QPainter) -> None:
        view, scene = self.context.view, self._scene
        for wire in self._healed:
            start = scene.port(wire.source.block, wire.source.port, is_input=False)
            end = scene.port(wire.target.block, wire.target.port, is_input=True)
            if start is not None and end is not None:
                there = view.camera.to_widget(scene.port_points(np.array([end])))[0]
                draw_open_wire(painter, view, start, there)

    def _mark_wire(self) -> None:
        """Mark the wires that will be gone: those that are cut and those that are replaced."""
        gone = [*self._cut, *(str(wire.target) for wire in self._healed)]
        marks = dict.fromkeys(gone, "error")
        if marks != self.context.view.marks:
            self.context.show(marks=marks)


def lift(scene: Scene, names: Collection[str]) -> Change | None:
    """Take blocks out of their wires where they are; None if they have none."""
    rewired = _rewiring(scene, *healing(scene, names))
    return Batch(_label(sorted(names)), rewired) if rewired else None


def _rewiring(scene: Scene, cut: list[str], healed: list[Connect]) -> tuple[Change, ...]:
    return (*healed, cut_change(scene, cut)) if cut else tuple(healed)


def _label(names: Sequence[str]) -> str:
    return f"Lift {', '.join(names[:3])}{', …' if names[3:] else ''} out"


def healing(scene: Scene, names: Collection[str]) -> tuple[list[str], list[Connect]]:
    """Keys of the wires to cut, and the wires to connect, so that blocks have no outer wires.

    A wire from one of the blocks is replaced by one from what drives its first input that fits.
    Where none does, the wire is cut.
    """
    chosen, page = frozenset(names), scene.page
    inward = [t for t, s in page.wires.items() if t.block in chosen and s.block not in chosen]
    outward = [t for t, s in page.wires.items() if t.block not in chosen and s.block in chosen]
    healed: list[Connect] = []
    cut = [str(target) for target in inward]
    for target in outward:
        for source in _drivers(scene, page.wires[target].block, chosen):
            if can_connect(scene.diagram, scene.page_name, source, target) is None:
                healed.append(Connect(source, target, page=scene.page_name))
                break
        else:
            cut.append(str(target))
    return cut, healed


def _drivers(scene: Scene, block: str, chosen: Collection[str]) -> Iterator[PortName]:
    """The outputs of other blocks that drive a block, directly or through ``chosen`` ones.

    In the order of its ports.
    """
    pending, seen = [block], {block}
    while pending:
        here = pending.pop()
        inside = []
        for port in ports(scene.diagram, scene.page_name, here).inputs:
            source = scene.page.wires.get(PortName(here, port))
            if source is None:
                continue
            if source.block not in chosen:
                yield source
            elif source.block not in seen:
                seen.add(source.block)
                inside.append(source.block)
        pending += reversed(inside)


def view_grip_at(scene: Scene, camera: Camera, x: float, y: float) -> int | None:
    """The view whose lower right corner is at widget (x, y); None below zoom :data:`PLAIN`."""
    if camera.zoom < PLAIN:
        return None
    px, py = camera.to_scene(np.array([x, y])).tolist()
    inside, outside = GRIP / camera.zoom, 2.0 / camera.zoom
    blocks = scene.blocks_in(np.array([px - outside, py - outside, px + inside, py + inside]))
    left, top, width, height = scene.rects[blocks].T
    right, down = left + width - px, top + height - py
    near = (right <= inside) & (right >= -outside) & (down <= inside) & (down >= -outside)
    for block in reversed(blocks[near].tolist()):
        if isinstance(scene.blocks[block], ViewBlock) and not scene.is_collapsed[block]:
            return int(block)
    return None


class ResizeView(Gesture):
    """Moves the lower right corner of a view, on the grid; what it comes to cover makes room."""

    cursor = Qt.CursorShape.SizeFDiagCursor

    def __init__(self, context: CanvasContext, start: QPointF, block: int) -> None:
        super().__init__(context, start)
        scene = context.view.scene
        self._name, self._page = scene.names[block], scene.page_name
        self._style = scene.page.styles.get(self._name, USUAL)
        self._before: Floats = scene.rects[block, 2:].copy()
        self._size: Size | None = None

    def move(self, at: QPointF) -> None:
        wanted = np.round((self._before + self.shift(at)) / GRID) * GRID
        size = Size(*np.clip(wanted, LEAST_SIZE, MOST_SIZE).tolist())
        if size != self._size:
            self._size = size
            self.context.previews.put(self._change(size))

    def finish(self, at: QPointF) -> None:
        size = self._size
        self.cancel()
        if size is not None and not np.array_equal(size, self._before):
            scene = self.context.view.scene
            self.context.request(make_space(scene, self._change(size), [self._name]))

    def cancel(self) -> None:
        if self._size is not None:
            self.context.previews.put(None)

    def _change(self, size: Size) -> Change:
        styles = {self._name: self._style._replace(size=size)}
        label = editor.tr("Resize {0}").format(self._name)
        return Batch(label, (StyleBlocks(styles, self._page),))
