"""The mouse, told apart: which gesture a press begins, and what a click asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np
from PySide6.QtCore import QPointF, Qt

from app.canvas.input.cutting import Cut, unmark
from app.canvas.input.dragging import Drag
from app.canvas.input.frames import ResizeNote, grip_at
from app.canvas.input.gestures import Gesture, Host, Lasso, Pan, RubberBand
from app.canvas.input.wiring import Wiring
from app.canvas.scene.hits import bend_at, block_at, note_at, port_at, wire_at
from app.canvas.state.view_state import Picked
from blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QWheelEvent

    from app.canvas.input.keyboard_focus import Walking
    from app.canvas.scene.geometry import Floats

CLICK = 3.0
"""How far the pointer may wander in a click, widget px."""
_WHEEL = 1.0015
_ADDING = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.ControlModifier


class Commands(Host, Protocol):
    """What input may ask of the canvas, besides what a gesture may."""

    walking: Walking

    def select_wire(self, key: str | None) -> None:
        """Select a wire, or none."""

    def leave_explanation(self) -> bool:
        """Leave the route or the trial that is shown; False if there is none."""

    def bend_wire(self, at: QPointF | None = None) -> None:
        """Ask for a bend in the selected wire, and select that."""

    def start_rename(self, name: str) -> None:
        """Open the field of a block's name."""

    def start_note(self, name: str) -> None:
        """Open the field of a note's text."""

    def enter_page(self, name: str) -> None:
        """Show the page that a block stands for."""

    def zoom_at(self, factor: float, at: QPointF) -> None:
        """Zoom with the point under ``at`` kept there."""

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Let a block be chosen, for this place or for where there is room."""

    def explain(self, wire: str) -> None:
        """Ask why a wire carries its gradient or not."""

    def explain_port(self, port: int) -> None:
        """Ask what adds up at a port."""

    def try_cut(self) -> bool:
        """Try a cut on the wire under the pointer, if the key for it is held."""

    def on_stop(self, at: QPointF) -> bool:
        """Whether the sign of a StopGradient is there."""

    def try_stop(self, name: str) -> None:
        """Try a StopGradient open, or closed again."""

    def trace(self, wire: str | None) -> None:
        """Soon show a wire from end to end, or none at once."""

    def show_menu(self, at: QPointF) -> None:
        """Ask for the menu of what is selected."""

    def show_cursor(self, cursor: Qt.CursorShape) -> None:
        """Give the pointer another shape."""


class Hand:
    """Turns events into gestures and commands. ``gesture`` is the one going on, or None."""

    def __init__(self, canvas: Commands) -> None:
        self.canvas = canvas
        self.gesture: Gesture | None = None
        self._begin: tuple[QPointF, Callable[[QPointF], Gesture]] | None = None
        self._click: Callable[[], None] | None = None
        self._space = False
        self.pointer: QPointF | None = None
        """Where the pointer is over the canvas, if it is."""
        self.pressed: QPointF | None = None
        """Where a button went down last."""

    def press(self, event: QMouseEvent) -> None:
        """A button went down: begin, or be ready to begin, what lies there."""
        at = self.pressed = event.position()
        left = event.button() == Qt.MouseButton.LeftButton
        if self.gesture is not None or (left and self.canvas.try_cut()):
            return
        self._begin = self._click = None  # of a button that is still down
        self.canvas.walking.leave()
        self.canvas.trace(None)
        if event.button() == Qt.MouseButton.MiddleButton or (left and self._space):
            self._start(Pan(self.canvas, at))
        elif event.button() == Qt.MouseButton.RightButton:
            self._press_right(at)
        elif left and event.modifiers() & _ADDING == _ADDING:
            self._begin = (at, lambda start: Cut(self.canvas, start))
        elif left and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            kept = self.canvas.view.picked if event.modifiers() & _ADDING else Picked()
            self._begin = (at, lambda start: Lasso(self.canvas, start, kept))
        elif left:
            self._press_left(at, adding=bool(event.modifiers() & _ADDING))

    def move(self, event: QMouseEvent) -> None:
        """The pointer moved: on with the gesture, or begin the one that was ready."""
        at = self.pointer = event.position()
        if self._begin is not None:
            start, begin = self._begin
            if (at - start).manhattanLength() <= CLICK:
                return
            self._begin = self._click = None
            self._start(begin(start))
        if self.gesture is not None:
            self.gesture.move(at)
        elif not event.buttons():
            self._hover(at)

    def release(self, event: QMouseEvent) -> None:
        """A button went up: the gesture ends, or it was a click."""
        click, self._click, self._begin = self._click, None, None
        gesture, self.gesture = self.gesture, None
        if gesture is not None:
            gesture.finish(event.position())
            self._hover(event.position())
        elif click is not None:
            click()

    def double_click(self, event: QMouseEvent) -> None:
        """Enter a page, write a name or a note, bend a wire, or add a block on the background."""
        at, canvas = event.position(), self.canvas
        scene, camera = canvas.view.scene, canvas.view.camera
        if port_at(scene, camera, at.x(), at.y()) is not None:
            return
        block = block_at(scene, camera, at.x(), at.y())
        note = note_at(scene, camera, at.x(), at.y())
        if block is not None and isinstance(scene.blocks[block], PageBlock):
            canvas.enter_page(scene.names[block])
        elif block is not None:
            canvas.start_rename(scene.names[block])
        elif bend_at(scene, camera, at.x(), at.y()) is not None:
            self._press_left(at, adding=False)
        elif (wire := wire_at(scene, camera, at.x(), at.y(), canvas.view.strands)) is not None:
            self._bend(at, scene.wire_keys[wire])
        elif note is not None:
            canvas.start_note(note)
        else:
            canvas.quick_add(at)

    def _bend(self, at: QPointF, wire: str) -> None:
        """Put a bend into a wire, and take it into the hand."""
        canvas = self.canvas
        canvas.leave_explanation()
        canvas.select_wire(wire)
        canvas.bend_wire(at)
        if (bend := bend_at(canvas.view.scene, canvas.view.camera, at.x(), at.y())) is not None:
            corner = canvas.view.scene.bends[bend]
            self._begin = (at, lambda start: Drag(canvas, start, corner))

    def cancel(self) -> bool:
        """Drop what is in the hand, as if it had never been taken; False if there was nothing."""
        gesture, self.gesture = self.gesture, None
        held = gesture is not None or self._begin is not None
        self._begin = self._click = None
        if gesture is not None:
            gesture.cancel()
        self.canvas.show_cursor(Qt.CursorShape.ArrowCursor)
        return held

    def hold_space(self, *, held: bool) -> None:
        """While the space bar is held, the left button moves the page."""
        if held != self._space:
            self._space = held
            shape = Qt.CursorShape.OpenHandCursor if held else Qt.CursorShape.ArrowCursor
            self.canvas.show_cursor(shape)

    def wheel(self, event: QWheelEvent) -> None:
        """Zoom at the pointer; a touchpad's two fingers pan, with Ctrl they zoom."""
        pixels = event.pixelDelta()
        zooming = pixels.isNull() or event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if zooming:
            turned = event.angleDelta().y() or pixels.y()
            self.canvas.zoom_at(_WHEEL**turned, event.position())
        else:
            self.canvas.look(self.canvas.view.camera.panned(pixels.x(), pixels.y()))

    def _press_left(self, at: QPointF, *, adding: bool) -> None:
        canvas = self.canvas
        scene, camera, x, y = canvas.view.scene, canvas.view.camera, at.x(), at.y()
        if (port := port_at(scene, camera, x, y)) is not None:
            self._begin = (at, lambda start: self._wiring(start, port))
            self._click = lambda: canvas.explain_port(port)
        elif (block := block_at(scene, camera, x, y)) is not None:
            self._press_block(at, block, adding=adding)
        elif (grip := grip_at(scene, camera, x, y)) is not None:
            self._choose(Picked(notes=frozenset({grip})))
            self._begin = (at, lambda start: ResizeNote(canvas, start, grip))
        elif (bend := bend_at(scene, camera, x, y)) is not None:
            item = Picked(bends=frozenset({scene.bend_name(bend)}))
            self._press_item(at, item, scene.bends[bend], adding=adding)
        elif (wire := wire_at(scene, camera, x, y, canvas.view.strands)) is not None:
            self._choose(Picked(), wire=scene.wire_keys[wire])
            canvas.explain(scene.wire_keys[wire])
        elif (note := note_at(scene, camera, x, y)) is not None:
            corner = np.array(scene.page.notes[note].at)
            self._press_item(at, Picked(notes=frozenset({note})), corner, adding=adding)
        else:
            kept = canvas.view.picked if adding else Picked()
            self._begin = (at, lambda start: RubberBand(canvas, start, kept))
            self._click = lambda: self._choose(kept)

    def _press_right(self, at: QPointF) -> None:
        """The menu of what lies there, or a cut from there on."""
        canvas = self.canvas
        scene, camera, x, y = canvas.view.scene, canvas.view.camera, at.x(), at.y()
        block = block_at(scene, camera, x, y)
        wire = wire_at(scene, camera, x, y, canvas.view.strands)
        if block is not None:
            self._choose_more(Picked(frozenset({scene.names[block]})))
        elif (bend := bend_at(scene, camera, x, y)) is not None:
            self._choose_more(Picked(bends=frozenset({scene.bend_name(bend)})))
        elif wire is not None:
            self._choose(Picked(), wire=scene.wire_keys[wire])
        elif (note := note_at(scene, camera, x, y)) is not None:
            self._choose_more(Picked(notes=frozenset({note})))
        self._begin = (at, lambda start: Cut(canvas, start))
        self._click = lambda: canvas.show_menu(at)

    def _press_block(self, at: QPointF, block: int, *, adding: bool) -> None:
        scene = self.canvas.view.scene
        name = scene.names[block]
        self._press_item(at, Picked(frozenset({name})), scene.rects[block, :2], adding=adding)
        if not adding and self.canvas.on_stop(at):
            self._click = lambda: self.canvas.try_stop(name)

    def _press_item(self, at: QPointF, item: Picked, corner: Floats, *, adding: bool) -> None:
        """Select one thing and be ready to move it, with all else that is selected."""
        canvas, picked = self.canvas, self.canvas.view.picked
        if adding:
            self._choose(picked.toggled(item))
        elif not picked.holds(item):
            self._choose(item)
        else:
            self._click = lambda: self._choose(item)
        if canvas.view.picked.holds(item):
            self._begin = (at, lambda start: Drag(canvas, start, corner))

    def _choose_more(self, item: Picked) -> None:
        """Select one thing, unless it is selected, perhaps with others."""
        if not self.canvas.view.picked.holds(item):
            self._choose(item)

    def _choose(self, picked: Picked, *, wire: str | None = None) -> None:
        self.canvas.select(*picked)
        self.canvas.select_wire(wire)

    def _wiring(self, start: QPointF, port: int) -> Gesture:
        """A new wire from ``port``, or the one that ends there taken off it."""
        scene = self.canvas.view.scene
        name = scene.port_name(port)
        source = scene.page.wires.get(name) if scene.port_is_input[port] else None
        origin = None if source is None else scene.port(source.block, source.port, is_input=False)
        if origin is None:
            return Wiring(self.canvas, start, port, None)
        return Wiring(self.canvas, start, origin, name)

    def _start(self, gesture: Gesture) -> None:
        unmark(self.canvas)
        self.gesture = gesture
        self.canvas.show_cursor(gesture.cursor)

    def _hover(self, at: QPointF) -> None:
        view = self.canvas.view
        port = port_at(view.scene, view.camera, at.x(), at.y())
        if port != view.near_port:
            view.near_port = port
            self.canvas.redraw()
        bend = bend_at(view.scene, view.camera, at.x(), at.y())
        self.canvas.trace(None if port is not None else self._wire_below(at))
        if self._space:
            return
        over = Qt.CursorShape.CrossCursor if port is not None else Qt.CursorShape.ArrowCursor
        if port is None and bend is not None:
            over = Qt.CursorShape.SizeAllCursor
        elif port is None and grip_at(view.scene, view.camera, at.x(), at.y()) is not None:
            over = Qt.CursorShape.SizeFDiagCursor
        self.canvas.show_cursor(over)

    def _wire_below(self, at: QPointF) -> str | None:
        """Key of the wire under the pointer, unless a block lies over it."""
        scene, camera = self.canvas.view.scene, self.canvas.view.camera
        if block_at(scene, camera, at.x(), at.y()) is not None:
            return None
        wire = wire_at(scene, camera, at.x(), at.y(), self.canvas.view.strands)
        return None if wire is None else scene.wire_keys[wire]
