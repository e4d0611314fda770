"""Lifting blocks out of their wires: what led through them leads past them afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.input.frames import move_change
from gradwire.app.canvas.input.gestures.cutting import cut_change
from gradwire.app.canvas.input.gestures.dragging import DragSelection
from gradwire.app.canvas.paint.wires.open_wire import draw_open_wire
from gradwire.runtime.diagram import Batch, Connect, PortName, can_connect, ports

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.runtime.diagram import Change


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
