"""Draws a wire from a port to a matching one, and shows the reason if a port does not match.

From several selected outputs, it draws wires to the inputs of one block, in order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.input.changes import moving_out
from gradwire.app.canvas.input.gestures.base import Gesture
from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.paint.wires.lanes import draw_open_wire, open_wire
from gradwire.app.canvas.scene.hits import SNAP, block_near, port_at
from gradwire.app.services.theme import BODY, font, scaled
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import Batch, Connect, Disconnect, PortName, apply, can_connect, ports

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Flags, Floats
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.runtime.diagram import Diagram

_MAX_PORTS = 400
"""Largest number of highlighted ports; the nearest are highlighted."""
_SLICE = 0.004
"""Seconds to check ports before events are handled again."""


class DrawWire(Gesture):
    """A wire with one open end. ``taken`` is the target of the wire whose end is drawn, if any.

    The open end snaps to the nearest port, or on a block to the first free port that it fits. An
    own variable whose input it begins at moves out to where it ends.
    """

    cursor = Qt.CursorShape.CrossCursor

    def __init__(
        self, context: CanvasContext, start: QPointF, port: int, taken: PortName | None
    ) -> None:
        super().__init__(context, start)
        scene = context.view.scene
        self._fixed = port
        self._name = scene.port_name(port)
        self._from_output = not scene.port_is_input[port]
        self._taken = taken
        self._at = start
        self._over: int | None = None
        self._block: int | None = None
        self._answers: dict[int, str | None] = {}
        """By port, why the wire can't end there; None if it can."""
        self._unchecked = self._candidates()
        self._timer = QTimer()
        self._timer.timeout.connect(self._check_some)
        hidden = None if taken is None else str(taken)
        context.view = replace(context.view, hidden_wire=hidden, near_port=None)
        self._check_some()
        self._timer.start(0)
        context.redraw()

    def move(self, at: QPointF) -> None:
        before = self._area()
        self._at = at
        over, block = self._target(at)
        if (over, block) != (self._over, self._block):
            self._over, self._block = over, block
            refusal = self._refused()
            self.context.hint(refusal or "")
            near = None if refusal else over
            self.context.view = replace(self.context.view, near_port=near)
        self.context.redraw(before.united(self._area()))

    def finish(self, at: QPointF) -> None:
        self.move(at)
        over, refusal = self._over, self._refused()
        beside = over is not None or self._is_beside(at)
        self.cancel()
        page = self.context.view.scene.page_name
        if refusal is not None:
            self.context.hint(refusal)
        elif over is not None:
            self._connect(*self._ends(over))
        elif self._taken is not None:
            self.context.request(Disconnect(self._taken, page=page))
        elif not beside:
            moved_out = moving_out(self.context.view, self._fixed, at)
            if moved_out is None:
                self.context.edits.quick_add(at, self._fixed)
            self.context.request(moved_out)

    def _connect(self, source: PortName, target: PortName) -> None:
        """Request the wire between two ports, in place of the one that was taken."""
        scene, taken = self.context.view.scene, self._taken
        page = scene.page_name
        if taken == target and scene.page.wires.get(target) == source:
            return
        connect = Connect(source, target, page=page)
        if taken is None or taken == target:
            self.context.request(connect)
        else:
            changes = (connect, Disconnect(taken, page=page))
            self.context.request(Batch(f"Move wire to {target}", changes))

    def cancel(self) -> None:
        self._timer.stop()
        self.context.show(hidden_wire=None, near_port=None, fitting_ports=())

    def paint(self, painter: QPainter) -> None:
        refusal = self._refused()
        colour = "error" if refusal else "accent"
        draw_open_wire(painter, self.context.view, self._fixed, self._open_end(), colour)
        if refusal:
            self._paint_refusal(painter, refusal)

    def _target(self, at: QPointF) -> tuple[int | None, int | None]:
        """The port that the open end belongs to at a point, and the block whose body is there."""
        scene, camera = self.context.view.scene, self.context.view.camera
        facing = self._facing()
        port = port_at(scene, camera, at.x(), at.y(), SNAP, facing)
        if port is None:
            port = port_at(scene, camera, at.x(), at.y(), among=~facing)
        if port is not None:
            return None if port == self._fixed else port, None
        block = block_near(scene, camera, at.x(), at.y(), SNAP)
        if block is None or block == scene.port_block[self._fixed]:
            return None, None
        free = self._free_ports(block)
        return next((p for p in free if self._refusal(p) is None), free[0] if free else None), block

    def _is_beside(self, at: QPointF) -> bool:
        """Whether a menu at a point would cover a port or a block."""
        scene, camera = self.context.view.scene, self.context.view.camera
        near = block_near(scene, camera, at.x(), at.y(), SNAP)
        return near is not None or port_at(scene, camera, at.x(), at.y(), SNAP) is not None

    def _facing(self) -> Flags:
        """Which ports have the other direction."""
        return np.asarray(self.context.view.scene.port_is_input == self._from_output)

    def _free_ports(self, block: int) -> list[int]:
        """The ports of a block that the wire could end at and that no other wire drives."""
        scene = self.context.view.scene
        ports = np.flatnonzero(self._facing() & (scene.port_block == block)).tolist()
        return [p for p in ports if not scene.is_driven[p] or scene.port_name(p) == self._taken]

    def _refused(self) -> str | None:
        """Why the wire can't end at its current place; None if it can, or if nothing is there."""
        if self._over is not None:
            return self._refusal(self._over)
        if self._block is None:
            return None
        name, inputs = self.context.view.scene.names[self._block], self._from_output
        if inputs and self._facing()[self.context.view.scene.port_block == self._block].any():
            return f"All inputs of {name} are wired. Drop on one of them to replace its wire."
        return f"{name} has no {'input' if inputs else 'output'}."

    def _ends(self, port: int) -> tuple[PortName, PortName]:
        other = self.context.view.scene.port_name(port)
        return (self._name, other) if self._from_output else (other, self._name)

    def _refusal(self, port: int) -> str | None:
        if port not in self._answers:
            scene = self.context.view.scene
            self._answers[port] = can_connect(scene.diagram, scene.page_name, *self._ends(port))
        return self._answers[port]

    def _candidates(self) -> Iterator[int]:
        """Ports of the other direction, the nearest to the start first."""
        view = self.context.view
        points = view.camera.to_widget(view.scene.port_points())
        away = np.hypot(*(points - (self.start.x(), self.start.y())).T)
        facing = np.flatnonzero(self._facing())
        yield from facing[np.argsort(away[facing])][:_MAX_PORTS].tolist()

    def _check_some(self) -> None:
        """Check ports for a few milliseconds; continue at the next call."""
        until = time.perf_counter() + _SLICE
        for port in self._unchecked:
            self._refusal(port)
            if time.perf_counter() > until:
                break
        else:
            self._timer.stop()
        facing = self._facing()
        fitting = [p for p, why in self._answers.items() if why is None and facing[p]]
        self.context.show(fitting_ports=tuple(fitting))

    def _open_end(self) -> Floats:
        """Where the wire ends (2,), in widget px: at the pointer, or at the port it snaps to."""
        view = self.context.view
        if view.near_port is None:
            return np.array([self._at.x(), self._at.y()])
        points = view.scene.port_points(np.array([view.near_port]))
        return np.asarray(view.camera.to_widget(points)[0])

    def _area(self) -> QRectF:
        """The area of the open wire and of the reason beside it."""
        points = open_wire(self.context.view, self._fixed, self._open_end()).flatten(8)[0]
        corners = *points.min(axis=0).tolist(), *points.max(axis=0).tolist()
        box = box_between(*corners).adjusted(-24, -24, 24, 24)
        return box.united(QRectF(self._at.x() - 400.0, self._at.y() - 60.0, 800.0, 120.0))

    def _paint_refusal(self, painter: QPainter, why: str) -> None:
        theme = self.context.view.theme
        used = font(scaled(BODY))
        flags = int(Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap)
        text = QFontMetricsF(used).boundingRect(QRectF(0, 0, 320, 200), flags, why)
        box = text.translated(self._at + QPointF(16.0, 16.0)).adjusted(-8, -5, 8, 5)
        room = painter.window()
        box.moveRight(min(box.right(), room.right() - 4.0))
        box.moveBottom(min(box.bottom(), room.bottom() - 4.0))
        painter.setPen(QPen(QColor(theme.error), 1.0))
        painter.setBrush(QColor(theme.field))
        painter.drawRoundedRect(box, 4.0, 4.0)
        painter.setFont(used)
        painter.setPen(QColor(theme.ink))
        painter.drawText(box.adjusted(8, 5, -8, -5), flags, why)


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
