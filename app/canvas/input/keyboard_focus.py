"""The keyboard on the canvas: a focus that walks along wires, and wires drawn without a mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF

from app.canvas.input.gestures import Host
from app.canvas.paint.open_wire import draw_loose_wire
from app.canvas.scene.focus import (
    Focus,
    Kind,
    Step,
    ahead,
    area,
    exists,
    nearest_block,
    port_focus,
    port_number,
    step,
)
from app.canvas.scene.geometry import Bend
from app.canvas.state.spoken import told
from blocks.library.pages import Page as PageBlock
from runtime.diagram import Connect, can_connect
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from app.canvas.scene.geometry import Floats

_TRIES = 60
"""Ports that are asked whether the wire fits, at most, for one key."""


class Grounds(Host, Protocol):
    """The canvas as walking sees it."""

    def select_wire(self, key: str | None) -> None:
        """Select a wire, or none."""

    def enter_page(self, name: str) -> None:
        """Show the page that a block stands for."""

    def inspect(self, name: str) -> None:
        """Show a block's fields."""

    def start_note(self, name: str) -> None:
        """Open the field of a note's text."""

    def rect(self) -> QRect:
        """The widget's own rectangle."""

    def see(self, bounds: Floats) -> None:
        """Pan as far as it takes to see a part of the page."""

    def announce(self, focus: Focus) -> None:
        """Tell assistive technology where the focus is."""


class Walking:
    """Moves ``view.focus``, and holds the wire that Space began."""

    def __init__(self, canvas: Grounds) -> None:
        self._canvas = canvas
        self._from: Focus | None = None

    @property
    def wire(self) -> int | None:
        """The port that the wire in the hand comes from."""
        scene = self._canvas.view.scene
        return None if self._from is None else port_number(scene, self._from)

    def follow(self) -> None:
        """The page changed: forget what is no longer there."""
        view = self._canvas.view
        if view.focus is not None and view.focus.kind is Kind.BEND:
            wire = Focus(Kind.WIRE, view.focus.name)
            view.focus = view.focus if exists(view.scene, view.focus) else wire
        if view.focus is not None and not exists(view.scene, view.focus):
            view.focus = None
        if self._from is not None and not exists(view.scene, self._from):
            self._from = None

    def show(self) -> None:
        """Put the focus where it begins: on what is selected, or in the middle."""
        self.go(self._begin())

    def walk(self, by: Step) -> None:
        """An arrow key; the first one shows where the focus is."""
        view = self._canvas.view
        if view.focus is None:
            self.show()
        elif self._from is not None:
            self.go(self._next_port(by))
        else:
            self.go(step(view.scene, view.focus, by))

    def go(self, focus: Focus | None) -> None:
        """Put the focus there, and bring it into view."""
        view = self._canvas.view
        if focus is None:
            return
        view.focus = focus
        self._canvas.select_wire(focus.name if focus.kind is Kind.WIRE else None)
        self._canvas.see(area(view.scene, focus))
        self._canvas.hint(told(view.facts, focus))
        self._canvas.announce(focus)
        self._canvas.redraw()

    def act(self) -> bool:
        """Space: begin a wire at the focus, or end it there; False where there is no focus."""
        view = self._canvas.view
        if view.focus is None:
            return False
        if self._from is None:
            self._from = self._wire_end(view.focus)
            self._canvas.hint(_how_on(self._from))
        else:
            self._connect(view.focus)
        self._canvas.redraw()
        return True

    def enter(self) -> bool:
        """Enter: a block's fields or page, a note's text, a bend taken; False without a focus."""
        focus, canvas = self._canvas.view.focus, self._canvas
        if focus is None:
            return False
        if focus.kind is Kind.BLOCK:
            if isinstance(canvas.view.scene.page.blocks[focus.name], PageBlock):
                canvas.enter_page(focus.name)
            else:
                canvas.inspect(focus.name)
        elif focus.kind is Kind.NOTE:
            canvas.start_note(focus.name)
        elif focus.kind is Kind.WIRE:
            canvas.select_wire(focus.name)
        elif focus.kind is Kind.BEND:
            canvas.select((), (), {Bend(focus.name, focus.number)})
        else:
            canvas.inspect(PortName.parse(focus.name).block)
        return True

    def drop_wire(self) -> bool:
        """Let go of the wire in the hand; False if there was none."""
        held, self._from = self._from is not None, None
        if held:
            self._canvas.hint("")
        self._canvas.redraw()
        return held

    def leave(self) -> bool:
        """Show no focus any more; False if none was shown."""
        self.drop_wire()
        shown, self._canvas.view.focus = self._canvas.view.focus is not None, None
        self._canvas.redraw()
        return shown

    def place(self) -> QPointF:
        """The middle of what has the focus, or of the canvas, in widget px."""
        view = self._canvas.view
        if view.focus is None:
            return QRectF(self._canvas.rect()).center()
        left, top, right, bottom = area(view.scene, view.focus).tolist()
        middle = view.camera.to_widget(np.array([(left + right) / 2, (top + bottom) / 2]))
        return QPointF(*middle.tolist())

    def paint(self, painter: QPainter) -> None:
        """Draw the wire in the hand."""
        if self.wire is not None:
            at = self.place()
            end = np.array([at.x(), at.y()])
            draw_loose_wire(painter, self._canvas.view, self.wire, end, "accent")

    def _begin(self) -> Focus | None:
        view = self._canvas.view
        if view.wire is not None:
            return Focus(Kind.WIRE, view.wire)
        for name in view.scene.names if view.selected else ():
            if name in view.selected:
                return Focus(Kind.BLOCK, name)
        middle = self.place()
        return nearest_block(view.scene, view.camera.to_scene(np.array(middle.toTuple())))

    def _wire_end(self, focus: Focus) -> Focus | None:
        """Where a wire begun at ``focus`` comes from."""
        scene = self._canvas.view.scene
        if focus.kind is Kind.BLOCK:
            found = step(scene, focus, (1, 0))
            return found if found.kind is Kind.OUTPUT else None
        if focus.kind in (Kind.WIRE, Kind.BEND):
            return Focus(Kind.OUTPUT, str(scene.page.wires[PortName.parse(focus.name)]))
        return focus if focus.kind in (Kind.INPUT, Kind.OUTPUT) else None

    def _connect(self, focus: Focus) -> None:
        """End the wire at a port, or at the first port of a block that it fits."""
        scene, wire = self._canvas.view.scene, self.wire
        assert wire is not None
        facing = np.flatnonzero(scene.port_is_input != scene.port_is_input[wire])
        if focus.kind is Kind.BLOCK:
            ends = facing[scene.port_block[facing] == scene.index[focus.name]].tolist()
        else:
            end = port_number(scene, focus)
            ends = [] if end is None else [end]
        reasons = [self._refusal(end) for end in ends]
        if None in reasons:
            change = self._joining(ends[reasons.index(None)])
            self.drop_wire()
            self._canvas.ask(change)
        elif reasons:
            self._canvas.hint(reasons[0] or "")

    def _joining(self, end: int) -> Connect:
        scene, wire = self._canvas.view.scene, self.wire
        assert wire is not None
        pair = (scene.port_name(wire), scene.port_name(end))
        if scene.port_is_input[wire]:
            pair = pair[::-1]
        return Connect(*pair, page=scene.page_name)

    def _refusal(self, end: int) -> str | None:
        scene, change = self._canvas.view.scene, self._joining(end)
        return can_connect(scene.diagram, scene.page_name, change.source, change.target)

    def _next_port(self, by: Step) -> Focus | None:
        """The next port in a direction where the wire in the hand fits."""
        scene, wire = self._canvas.view.scene, self.wire
        assert wire is not None
        here = self._canvas.view.camera.to_scene(np.array(self.place().toTuple()))
        facing = np.flatnonzero(scene.port_is_input != scene.port_is_input[wire])
        for _ in range(_TRIES):
            found = ahead(scene.port_points(facing), here, by)
            if found is None:
                return None
            if self._refusal(int(facing[found])) is None:
                return port_focus(scene, int(facing[found]))
            facing = np.delete(facing, found)
        return None


def _how_on(begun: Focus | None) -> str:
    """What can be done with a wire in the hand."""
    if begun is None:
        return _tr("No wire begins here: go to a port with the arrows.")
    return _tr(
        "Wire from {0}: the arrows go to ports that it fits, Space ends it there, Tab adds a block "
        "at its end, Esc drops it."
    ).format(begun.name)


def _tr(text: str) -> str:
    return QCoreApplication.translate("walking", text)
