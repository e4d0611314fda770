"""The keyboard focus of the canvas: moves along wires, and draws wires without a mouse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gradwire.app.canvas.accessibility import announce
from gradwire.app.canvas.paint.wires.lanes import draw_open_wire
from gradwire.app.canvas.scene.focus import (
    Direction,
    Focus,
    FocusKind,
    exists,
    focus_bounds,
    move_focus,
    nearest_block,
    next_point,
    port_focus,
    port_number,
)
from gradwire.app.canvas.scene.geometry import Bend
from gradwire.app.canvas.state.tooltips import describe
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.services.translation import editor
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import Connect, PortName, can_connect

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext


_MAX_TRIED = 60
"""Ports that are tried for one key press."""


class KeyboardFocus:
    """Moves ``view.focus``, and draws the open wire that Space begins."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._from: Focus | None = None

    @property
    def wire(self) -> int | None:
        """The port that the open wire comes from; None without one."""
        scene = self._context.view.scene
        return None if self._from is None else port_number(scene, self._from)

    def update(self) -> None:
        """Drop a focus that is no longer on the page; from a bend, go to its wire."""
        view, focus = self._context.view, self._context.view.focus
        if focus is not None and focus.kind is FocusKind.BEND and not exists(view.scene, focus):
            focus = Focus(FocusKind.WIRE, focus.name)
        if focus is not None and not exists(view.scene, focus):
            focus = None
        self._context.view = replace(view, focus=focus)
        if self._from is not None and not exists(view.scene, self._from):
            self._from = None

    def show(self) -> None:
        """Show the focus: on the selection, or else in the middle of the canvas."""
        self.focus_on(self._start())

    def move(self, by: Direction) -> None:
        """Handle an arrow key; the first one shows the focus."""
        view = self._context.view
        if view.focus is None:
            self.show()
        elif self._from is not None:
            self.focus_on(self._next_port(by))
        else:
            self.focus_on(move_focus(view.scene, view.focus, by))

    def focus_on(self, focus: Focus | None) -> None:
        """Move the focus and bring it into view; nothing happens for None."""
        if focus is None:
            return
        self._context.view = replace(self._context.view, focus=focus)
        self._context.selection.select_wire(focus.name if focus.kind is FocusKind.WIRE else None)
        view = self._context.view
        self._context.camera.reveal(focus_bounds(view.scene, focus))
        self._context.hint(describe(view.annotations, focus, computing=view.computing))
        announce(self._context.widget, focus)
        self._context.redraw()

    def act(self) -> bool:
        """Begin a wire at the focus, or end it there; False without a focus."""
        view = self._context.view
        if view.focus is None:
            return False
        if self._from is None:
            self._from = self._wire_end(view.focus)
            self._context.hint(_wire_hint(self._from))
        else:
            self._connect(view.focus)
        self._context.redraw()
        return True

    def enter(self) -> bool:
        """Open the focused block, page or note, select a wire or bend; False without a focus."""
        focus, context = self._context.view.focus, self._context
        if focus is None:
            return False
        if focus.kind is FocusKind.BLOCK:
            if isinstance(context.view.scene.page.blocks[focus.name], PageBlock):
                context.widget.pageEntered.emit(focus.name)
            else:
                context.edits.inspect(focus.name)
        elif focus.kind is FocusKind.NOTE:
            context.inline_editor.edit_note(focus.name)
        elif focus.kind is FocusKind.WIRE:
            context.selection.select_wire(focus.name)
        elif focus.kind is FocusKind.BEND:
            context.selection.set(Selection(bends=frozenset({Bend(focus.name, focus.number)})))
        else:
            context.edits.inspect(PortName.parse(focus.name).block)
        return True

    def drop_wire(self) -> bool:
        """Drop the open wire; False if there was none."""
        had_wire, self._from = self._from is not None, None
        if had_wire:
            self._context.hint("")
        self._context.redraw()
        return had_wire

    def clear(self) -> bool:
        """Hide the focus; False if it was not shown."""
        self.drop_wire()
        was_shown = self._context.view.focus is not None
        self._context.show(focus=None)
        return was_shown

    def centre(self) -> QPointF:
        """The middle of the focused item, or else of the canvas, in widget px."""
        view = self._context.view
        if view.focus is None:
            return QRectF(self._context.widget.rect()).center()
        left, top, right, bottom = focus_bounds(view.scene, view.focus).tolist()
        middle = view.camera.to_widget(np.array([(left + right) / 2, (top + bottom) / 2]))
        return QPointF(*middle.tolist())

    def paint(self, painter: QPainter) -> None:
        """Draw the open wire."""
        if self.wire is not None:
            at = self.centre()
            end = np.array([at.x(), at.y()])
            draw_open_wire(painter, self._context.view, self.wire, end)

    def _start(self) -> Focus | None:
        view = self._context.view
        if view.selection.wire is not None:
            return Focus(FocusKind.WIRE, view.selection.wire)
        for name in view.scene.names if view.selection.blocks else ():
            if name in view.selection.blocks:
                return Focus(FocusKind.BLOCK, name)
        middle = self.centre()
        return nearest_block(view.scene, view.camera.to_scene(np.array(middle.toTuple())))

    def _wire_end(self, focus: Focus) -> Focus | None:
        """The port that a wire begun at ``focus`` comes from; None if there is none."""
        scene = self._context.view.scene
        if focus.kind is FocusKind.BLOCK:
            found = move_focus(scene, focus, (1, 0))
            return found if found.kind is FocusKind.OUTPUT else None
        if focus.kind in (FocusKind.WIRE, FocusKind.BEND):
            return Focus(FocusKind.OUTPUT, str(scene.page.wires[PortName.parse(focus.name)]))
        return focus if focus.kind in (FocusKind.INPUT, FocusKind.OUTPUT) else None

    def _connect(self, focus: Focus) -> None:
        """End the wire at the focused port, or at the first port of the block that it fits."""
        scene, wire = self._context.view.scene, self.wire
        assert wire is not None
        facing = np.flatnonzero(scene.port_is_input != scene.port_is_input[wire])
        if focus.kind is FocusKind.BLOCK:
            ends = facing[scene.port_block[facing] == scene.index[focus.name]].tolist()
        else:
            end = port_number(scene, focus)
            ends = [] if end is None else [end]
        reasons = [self._refusal(end) for end in ends]
        if None in reasons:
            change = self._change(ends[reasons.index(None)])
            self.drop_wire()
            self._context.request(change)
        elif reasons:
            self._context.hint(reasons[0] or "")

    def _change(self, end: int) -> Connect:
        scene, wire = self._context.view.scene, self.wire
        assert wire is not None
        pair = (scene.port_name(wire), scene.port_name(end))
        if scene.port_is_input[wire]:
            pair = pair[::-1]
        return Connect(*pair, page=scene.page_name)

    def _refusal(self, end: int) -> str | None:
        scene, change = self._context.view.scene, self._change(end)
        return can_connect(scene.diagram, scene.page_name, change.source, change.target)

    def _next_port(self, by: Direction) -> Focus | None:
        """The next port in a direction that the open wire fits."""
        scene, wire = self._context.view.scene, self.wire
        assert wire is not None
        here = self._context.view.camera.to_scene(np.array(self.centre().toTuple()))
        facing = np.flatnonzero(scene.port_is_input != scene.port_is_input[wire])
        for _ in range(_MAX_TRIED):
            found = next_point(scene.port_points(facing), here, by)
            if found is None:
                return None
            if self._refusal(int(facing[found])) is None:
                return port_focus(scene, int(facing[found]))
            facing = np.delete(facing, found)
        return None


def _wire_hint(begun: Focus | None) -> str:
    """The hint for the open wire."""
    if begun is None:
        return editor.tr("No wire can begin here. Go to a port with the arrow keys.")
    return editor.tr(
        "Wire from {0}: arrow keys go to matching ports, Space connects, Tab adds a block at the "
        "end, Esc cancels."
    ).format(begun.name)
