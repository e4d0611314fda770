"""Handles the mouse: which gesture a press begins, and what a click does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.input.frames import ResizeNote, grip_at
from gradwire.app.canvas.input.gestures.base import Gesture, Lasso, Pan, RubberBand
from gradwire.app.canvas.input.gestures.cutting import CutWires, clear_marks
from gradwire.app.canvas.input.gestures.dragging import (
    DragSelection,
    LiftSelection,
    ResizeView,
    view_grip_at,
)
from gradwire.app.canvas.input.gestures.wiring import DrawBundle, DrawWire, bundle
from gradwire.app.canvas.scene.focus import port_focus
from gradwire.app.canvas.state.view_state import NOTHING, Selection
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import PortName

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QWheelEvent

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.document.numbers import NumberCell

CLICK_DISTANCE = 3.0
"""How far the pointer may move during a click, widget px."""
_BESIDE = 12.0
"""How far apart the clicks of a double click are at most, unless the canvas moves, widget px."""
_PORT_SEEN = 5.0
"""From the centre of a port to its edge as it is painted, about, widget px."""
_WHEEL = 1.0015
_ADDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class Mouse:
    """Turns events into gestures and commands. ``gesture`` is the active one, or None."""

    def __init__(self, context: CanvasContext) -> None:
        self.context = context
        self.gesture: Gesture | None = None
        self._prepared: tuple[QPointF, Callable[[QPointF], Gesture]] | None = None
        self._click: Callable[[], None] | None = None
        self._space = False
        self.pointer: QPointF | None = None
        """Where the pointer is on the canvas; None if it is elsewhere."""
        self.pressed: QPointF | None = None
        """Where a button last went down."""

    def press(self, event: QMouseEvent) -> None:
        """Handle a press: prepare the click or gesture for the item there."""
        at = self.pressed = event.position()
        left = event.button() == Qt.MouseButton.LeftButton
        if self.gesture is not None or (left and self.context.explaining.try_cut()):
            return
        self._prepared = self._click = None  # from another button that is still down
        self.context.keyboard_focus.clear()
        self.context.numbers.leave()
        self.context.explaining.trace(None)
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._start(Pan(self.context, at))
        elif event.button() == Qt.MouseButton.RightButton:
            self._press_right(at)
        elif left and event.modifiers() & _ADDING == _ADDING:
            self._prepared = (at, lambda start: CutWires(self.context, start))
        elif left and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self._press_alt(at, adding=bool(event.modifiers() & _ADDING))
        elif left:
            self._press_left(at, adding=bool(event.modifiers() & _ADDING))

    def move(self, event: QMouseEvent) -> None:
        """Continue the gesture, or begin the one that was prepared."""
        at = self.pointer = event.position()
        if self._prepared is not None:
            start, begin = self._prepared
            if (at - start).manhattanLength() <= CLICK_DISTANCE:
                return
            self._prepared = self._click = None
            self._start(begin(start))
        if self.gesture is not None:
            self.gesture.modifiers = event.modifiers()
            self.gesture.move(at)
        elif not event.buttons():
            self._hover(at)

    def release(self, event: QMouseEvent) -> None:
        """Finish the gesture, or carry out the click."""
        click, self._click, self._prepared = self._click, None, None
        gesture, self.gesture = self.gesture, None
        if gesture is not None:
            gesture.modifiers = event.modifiers()
            gesture.finish(event.position())
            self._hover(event.position())
        elif click is not None:
            click()

    def double_click(self, event: QMouseEvent) -> None:
        """Type a number or expression, enter a page, show a derivative, edit a name or a note, bend
        a wire, or add.
        """
        at, context = self._clicked_twice(event.position()), self.context
        scene, places = context.view.scene, context.places
        if self._port_at(at) is not None:
            return
        block, note = places.block_at(at), places.note_at(at)
        if (number := context.numbers.at(at)) is not None:
            context.inline_editor.edit_number(number)
        elif block is not None and isinstance(scene.blocks[block], PageBlock):
            context.widget.pageEntered.emit(scene.names[block])
        elif (name := context.explaining.symbol_at(at)) is not None:
            self._show_derivative(name, at)
        elif block is not None:
            context.inline_editor.edit_at(scene.names[block], at)
        elif places.bend_at(at) is not None:
            self._press_left(at, adding=False)
        elif (wire := places.wire_at(at)) is not None:
            self._bend(at, scene.wire_keys[wire])
        elif note is not None:
            context.inline_editor.edit_note(note)
        else:
            context.edits.quick_add(at)

    def _clicked_twice(self, at: QPointF) -> QPointF:
        """Where a double click is meant: at the first of its clicks, where a bar that this brought
        has moved the canvas under the pointer.
        """
        first = self.pressed
        has_moved = first is not None and (at - first).manhattanLength() > _BESIDE
        return first if first is not None and has_moved else at

    def _show_derivative(self, name: str, at: QPointF) -> None:
        """Show a derivative; the first click on the symbol of a stop is taken back."""
        if self.context.explaining.is_on_stop(at):
            self.context.widget.stopTried.emit(name)
        self.context.widget.derivativeRequested.emit(name)

    def _bend(self, at: QPointF, wire: str) -> None:
        """Add a bend to a wire, ready to be dragged."""
        context = self.context
        context.overlays.leave_explanation()
        context.selection.select_wire(wire)
        context.edits.bend_wire(at)
        if (bend := context.places.bend_at(at)) is not None:
            corner = context.view.scene.bends[bend]
            self._prepared = (at, lambda start: DragSelection(context, start, corner))

    def leave(self) -> None:
        """The pointer leaves the canvas."""
        self.pointer = None
        self.context.numbers.hover(None)
        self.context.explaining.trace(None)

    def cancel(self) -> bool:
        """Cancel the gesture; False if none was active or prepared."""
        gesture, self.gesture = self.gesture, None
        active = gesture is not None or self._prepared is not None
        self._prepared = self._click = None
        if gesture is not None:
            gesture.cancel()
        self.context.show_cursor(Qt.CursorShape.ArrowCursor)
        return active

    def hold_space(self, *, held: bool) -> None:
        """While the space bar is held, the left button pans."""
        if held != self._space:
            self._space = held
            shape = Qt.CursorShape.OpenHandCursor if held else Qt.CursorShape.ArrowCursor
            self.context.show_cursor(shape)

    def wheel(self, event: QWheelEvent) -> None:
        """Zoom about the pointer; two fingers on a touchpad pan, with Ctrl they zoom.

        On the number that has the keys the wheel changes it.
        """
        turned = event.angleDelta().y() or event.angleDelta().x()
        if self.context.numbers.wheel(event.position(), turned, event.modifiers()):
            return
        pixels = event.pixelDelta()
        zooming = pixels.isNull() or event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if zooming:
            turned = event.angleDelta().y() or pixels.y()
            self.context.camera.zoom_at(_WHEEL**turned, event.position())
        else:
            self.context.camera.set(self.context.view.camera.panned(pixels.x(), pixels.y()))

    def _press_left(self, at: QPointF, *, adding: bool) -> None:
        context = self.context
        scene, camera, places = context.view.scene, context.view.camera, context.places
        if (port := self._port_at(at)) is not None:
            self._prepared = (at, lambda start: self._draw_wire(start, port))
            self._click = lambda: context.explaining.explain_port(port)
        elif (pulled := view_grip_at(scene, camera, at.x(), at.y())) is not None:
            self._ensure_selected(Selection(frozenset({scene.names[pulled]})))
            self._prepared = (at, lambda start: ResizeView(context, start, pulled))
        elif (block := places.block_at(at)) is not None:
            self._press_block(at, block, adding=adding)
        elif (grip := grip_at(scene, camera, at.x(), at.y())) is not None:
            context.selection.set(Selection(notes=frozenset({grip})))
            self._prepared = (at, lambda start: ResizeNote(context, start, grip))
        elif (bend := places.bend_at(at)) is not None:
            item = Selection(bends=frozenset({scene.bend_name(bend)}))
            self._press_item(at, item, scene.bends[bend], adding=adding)
        elif (wire := places.wire_at(at)) is not None:
            context.selection.set(Selection(wire=scene.wire_keys[wire]))
            context.explaining.explain(scene.wire_keys[wire])
        elif (note := places.note_at(at)) is not None:
            corner = np.array(scene.page.notes[note].at)
            self._press_item(at, Selection(notes=frozenset({note})), corner, adding=adding)
        else:
            kept = self._kept(adding=adding)
            self._prepared = (at, lambda start: RubberBand(context, start, kept))
            self._click = lambda: context.selection.set(kept.without_wire())

    def _port_at(self, at: QPointF) -> int | None:
        """The port at a point; beside the port itself, a number of the face comes first."""
        places = self.context.places
        port = places.port_at(at)
        if port is None or places.port_at(at, _PORT_SEEN) is not None:
            return port
        return port if self.context.numbers.at(at) is None else None

    def _press_alt(self, at: QPointF, *, adding: bool) -> None:
        """Prepare to lift a block out of its wires, or a lasso where there is none."""
        context = self.context
        scene, block = context.view.scene, None if adding else context.places.block_at(at)
        if block is None:
            kept = self._kept(adding=adding)
            self._prepared = (at, lambda start: Lasso(context, start, kept))
            return
        corner = scene.rects[block, :2]
        self._ensure_selected(Selection(frozenset({scene.names[block]})))
        self._prepared = (at, lambda start: LiftSelection(context, start, corner))

    def _press_right(self, at: QPointF) -> None:
        """Prepare the context menu of the item or port there, or a cut."""
        context = self.context
        scene, places = context.view.scene, context.places
        block, wire = places.block_at(at), places.wire_at(at)
        bend, note = places.bend_at(at), places.note_at(at)
        port = places.port_at(at)
        if port is None and block is not None:
            self._ensure_selected(Selection(frozenset({scene.names[block]})))
        elif port is None and bend is not None:
            self._ensure_selected(Selection(bends=frozenset({scene.bend_name(bend)})))
        elif port is None and wire is not None:
            context.selection.set(Selection(wire=scene.wire_keys[wire]))
        elif port is None and note is not None:
            self._ensure_selected(Selection(notes=frozenset({note})))
        background = all(item is None for item in (block, wire, bend, note))
        self._prepared = (at, lambda start: CutWires(context, start))
        self._click = lambda: self._show_menu(at, port, background=background)

    def _show_menu(self, at: QPointF, port: int | None, *, background: bool) -> None:
        """Show the menu of a port, of what is selected, or of the page."""
        if port is not None:
            self.context.keyboard_focus.focus_on(port_focus(self.context.view.scene, port))
        elif background:
            self.context.selection.set(NOTHING)
        self.context.widget.menuRequested.emit(at.toPoint())

    def _press_block(self, at: QPointF, block: int, *, adding: bool) -> None:
        scene = self.context.view.scene
        name = scene.names[block]
        number = self.context.numbers.at(at)
        if number is not None:
            self._press_number(at, number, adding=adding)
            return
        self._press_item(at, Selection(frozenset({name})), scene.rects[block, :2], adding=adding)
        if not adding and self.context.explaining.is_on_stop(at):
            self._click = lambda: self.context.widget.stopTried.emit(name)

    def _press_number(self, at: QPointF, number: NumberCell, *, adding: bool) -> None:
        """Select the block, ready for its number to be dragged; a click gives it the keys.

        With Shift or Ctrl, which make the drag fine or coarse, only a click selects.
        """
        context, item = self.context, Selection(frozenset({number.block}))

        def click() -> None:
            if adding:
                context.selection.set(context.view.selection.without_wire().toggled(item))
            else:
                context.selection.set(item)
                context.numbers.click(number, at)

        if not adding:
            self._ensure_selected(item)
        self._prepared = (at, lambda start: context.numbers.drag(number, start))
        self._click = click

    def _press_item(self, at: QPointF, item: Selection, corner: Floats, *, adding: bool) -> None:
        """Select an item, ready to be dragged with the rest of the selection."""
        context, selection = self.context, self.context.view.selection
        if adding:
            context.selection.set(selection.without_wire().toggled(item))
        elif not selection.includes(item):
            context.selection.set(item)
        else:
            self._click = lambda: context.selection.set(item)
        if context.view.selection.includes(item):
            self._prepared = (at, lambda start: DragSelection(context, start, corner))

    def _ensure_selected(self, item: Selection) -> None:
        """Select an item unless the selection includes it."""
        if not self.context.view.selection.includes(item):
            self.context.selection.set(item)

    def _kept(self, *, adding: bool) -> Selection:
        """What stays selected while a rubber band or lasso is drawn: the wire at least."""
        selection = self.context.view.selection
        return selection if adding else Selection(wire=selection.wire)

    def _draw_wire(self, start: QPointF, port: int) -> Gesture:
        """Draw a new wire from ``port``, or take off the one that ends there.

        At the start of the selected wire that wire is taken off; at an output of one of several
        selected blocks, wires are drawn from all of them.
        """
        view, scene = self.context.view, self.context.view.scene
        name = scene.port_name(port)
        chosen = None if view.selection.wire is None else PortName.parse(view.selection.wire)
        if chosen is not None and scene.page.wires.get(chosen) == name:
            end = scene.port(chosen.block, chosen.port, is_input=True)
            if end is not None and not scene.port_is_input[port]:
                return DrawWire(self.context, start, end, chosen)
        if not scene.port_is_input[port]:
            outputs = bundle(scene, view.selection, port)
            if len(outputs) > 1:
                return DrawBundle(self.context, start, outputs)
        source = scene.page.wires.get(name) if scene.port_is_input[port] else None
        origin = None if source is None else scene.port(source.block, source.port, is_input=False)
        if origin is None:
            return DrawWire(self.context, start, port, None)
        return DrawWire(self.context, start, origin, name)

    def _start(self, gesture: Gesture) -> None:
        clear_marks(self.context)
        self.gesture = gesture
        self.context.show_cursor(gesture.cursor)

    def _hover(self, at: QPointF) -> None:
        view = self.context.view
        port = self._port_at(at)
        if port != view.near_port:
            self.context.show(near_port=port)
        bend = self.context.places.bend_at(at)
        self.context.explaining.trace(None if port is not None else self._wire_below(at))
        number = self.context.numbers.at(at) if port is None else None
        self.context.numbers.hover(number)
        if self._space:
            return
        shape = Qt.CursorShape.CrossCursor if port is not None else Qt.CursorShape.ArrowCursor
        if port is None and bend is not None:
            shape = Qt.CursorShape.SizeAllCursor
        elif number is not None:
            shape = Qt.CursorShape.SizeHorCursor
        elif port is None and self._is_on_grip(at):
            shape = Qt.CursorShape.SizeFDiagCursor
        self.context.show_cursor(shape)

    def _is_on_grip(self, at: QPointF) -> bool:
        """Whether a corner that resizes a view or a note is there."""
        place = (self.context.view.scene, self.context.view.camera, at.x(), at.y())
        return view_grip_at(*place) is not None or (
            self.context.places.block_at(at) is None and grip_at(*place) is not None
        )

    def _wire_below(self, at: QPointF) -> str | None:
        """Key of the wire under the pointer; None if a block covers it."""
        places = self.context.places
        wire = None if places.block_at(at) is not None else places.wire_at(at)
        return None if wire is None else self.context.view.scene.wire_keys[wire]
