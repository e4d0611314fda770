"""Draws wires from several selected outputs to the inputs of one block, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.input.gestures.base import Gesture
from gradwire.app.canvas.paint.wires.open_wire import draw_open_wire
from gradwire.app.canvas.scene.hits import SNAP, block_near, port_at
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import Batch, Connect, PortName, apply, ports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.runtime.diagram import Diagram


class DrawBundle(Gesture):
    """Wires with open ends, one from each of the outputs ``ports``."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: CanvasContext, start: QPointF, ports: Sequence[int]) -> None:
        super().__init__(context, start)
        self._ports = ports
        self._at = start
        self._over: tuple[int | None, int | None] = (None, None)
        self._wires: list[Connect] = []
        context.view = replace(context.view, near_port=None)
        context.hint(self._goal())

    def move(self, at: QPointF) -> None:
        self._at = at
        over = self._target(at)
        if over != self._over:
            self._over = over
            self._wires = self._connections(*over)
            ends = tuple(self._end(wire) for wire in self._wires)
            self.context.view = replace(self.context.view, fitting_ports=ends)
            self.context.hint(self._explanation())
        self.context.redraw()

    def finish(self, at: QPointF) -> None:
        self.move(at)
        wires, explanation = tuple(self._wires), self._explanation()
        self.cancel()
        if wires:
            label = f"Connect {len(wires)} outputs to {wires[0].target.block}"
            self.context.request(Batch(label, wires))
        self.context.hint(explanation)

    def cancel(self) -> None:
        self.context.view = replace(self.context.view, fitting_ports=())
        self.context.hint("")
        self.context.redraw()

    def paint(self, painter: QPainter) -> None:
        view = self.context.view
        ends = {wire.source: self._end(wire) for wire in self._wires}
        for port in self._ports:
            end = np.array([self._at.x(), self._at.y()])
            if (target := ends.get(view.scene.port_name(port))) is not None:
                end = view.camera.to_widget(view.scene.port_points(np.array([target])))[0]
            draw_open_wire(painter, view, port, end)

    def _target(self, at: QPointF) -> tuple[int | None, int | None]:
        """The block below or beside a point, and the input there from which on they are wired."""
        scene, camera = self.context.view.scene, self.context.view.camera
        port = port_at(scene, camera, at.x(), at.y(), SNAP, scene.port_is_input)
        if port is not None:
            return int(scene.port_block[port]), port
        return block_near(scene, camera, at.x(), at.y(), SNAP), None

    def _connections(self, block: int | None, first: int | None) -> list[Connect]:
        if block is None:
            return []
        scene = self.context.view.scene
        sources = [scene.port_name(port) for port in self._ports]
        start = "" if first is None else scene.port_name(first).port
        return connections(scene, sources, scene.names[block], start)

    def _end(self, wire: Connect) -> int:
        """The input of a planned wire; of a term that is yet to come, the last one there is."""
        scene = self.context.view.scene
        port = scene.port(wire.target.block, wire.target.port, is_input=True)
        if port is not None:
            return port
        block = scene.index[wire.target.block]
        return int(scene.first_port[block]) + len(scene.slots[block].inputs) - 1

    def _goal(self) -> str:
        text = editor.tr("Drop on a block to connect {0} outputs to its inputs, in order.")
        return text.format(len(self._ports))

    def _explanation(self) -> str:
        """What would be wired, or which outputs the block has no input for."""
        block, _ = self._over
        if block is None:
            return self._goal()
        scene = self.context.view.scene
        wired = {wire.source for wire in self._wires}
        sources = [scene.port_name(port) for port in self._ports]
        missing = [str(source) for source in sources if source not in wired]
        if not missing:
            return ""
        text = editor.tr("{0} has no free input that fits {1}.")
        return text.format(scene.names[block], ", ".join(missing))


def bundle(scene: Scene, selection: Selection, pressed: int) -> list[int]:
    """The outputs that are dragged together with the ``pressed`` one, from top to bottom.

    The first output of every selected block, and ``pressed`` itself; it alone unless its block is
    selected with others.
    """
    block = int(scene.port_block[pressed])
    if scene.names[block] not in selection.blocks:
        return [pressed]
    chosen = [scene.index[name] for name in selection.blocks if name in scene.index]
    chosen.sort(key=lambda i: (float(scene.rects[i, 1]), float(scene.rects[i, 0])))
    return [port for i in chosen for port in _first_output(scene, i, pressed)]


def _first_output(scene: Scene, block: int, pressed: int) -> Iterator[int]:
    if scene.port_block[pressed] == block:
        yield pressed
    elif scene.slots[block].outputs:
        yield int(scene.first_port[block]) + len(scene.slots[block].inputs)


def connections(
    scene: Scene, sources: Sequence[PortName], block: str, first: str = ""
) -> list[Connect]:
    """Wires from ``sources``, in order, each to the next free input of a block that it fits.

    From the input ``first`` on, if it is given; inputs with literals come last. Outputs that fit
    none are left out.
    """
    diagram, page = scene.diagram, scene.page_name
    found: list[Connect] = []
    for source in sources:
        for port in _free_inputs(diagram, page, block, first):
            wire = Connect(source, PortName(block, port), page=page)
            try:
                diagram = apply(diagram, wire).after
            except ChangeError:
                continue
            found.append(wire)
            break
    return found


def _free_inputs(diagram: Diagram, page: str, block: str, first: str) -> list[str]:
    own, here = ports(diagram, page, block), diagram.pages[page]
    names = [*own.inputs, *own.free]
    names = names[names.index(first) :] if first in names else names
    literals = here.blocks[block].literals
    free = [port for port in names if PortName(block, port) not in here.wires]
    return sorted(free, key=lambda port: port in literals)
