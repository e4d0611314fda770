"""Handles the keys of the canvas by the methods that the table of bindings names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import Qt

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.canvas.input.bound_keys import bound_keys, pressed
from gradwire.app.canvas.input.gestures.base import GRID, Host
from gradwire.app.canvas.input.gestures.cutting import clear_marks, toggle_mark
from gradwire.app.canvas.input.gestures.lifting import lift
from gradwire.app.canvas.input.room import with_room
from gradwire.app.canvas.scene.focus import Direction, Focus, FocusKind, port_number
from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtCore import QPointF, QRect
    from PySide6.QtGui import QKeyEvent

    from gradwire.app.canvas.computing import Computing
    from gradwire.app.canvas.input.keyboard_focus import KeyboardFocus
    from gradwire.app.canvas.input.mouse import Mouse
    from gradwire.app.canvas.input.numbers import Numbers


class KeyHost(Host, Protocol):
    """What keys need from the canvas."""

    keyboard_focus: KeyboardFocus
    numbers: Numbers
    computing: Computing

    def rect(self) -> QRect:
        """The rectangle of the widget."""

    def rename(self) -> None:
        """Edit the name or text of the selected or focused item."""

    def select_wire(self, key: str | None) -> None:
        """Select a wire, or none."""

    def bend_wire(self) -> None:
        """Add a bend to the selected wire."""

    def delete_selection(self) -> None:
        """Remove the selection."""

    def select_all(self) -> None:
        """Select every block and note."""

    def nudge(self, dx: float, dy: float) -> None:
        """Move the selection."""

    def resize_notes(self, dx: float, dy: float) -> None:
        """Resize notes."""

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Offer blocks to add, at a point or where there is room."""

    def show_menu(self, at: QPointF) -> None:
        """Show the menu of the selection."""

    def show_sheet(self) -> None:
        """Show the sheet of all keys."""

    def go_to_bookmark(self, number: int) -> None:
        """Go to a bookmark, given by its number from 1 on."""

    def explain(self, wire: str) -> None:
        """Explain why a wire carries gradient or not."""

    def explain_port(self, port: int) -> None:
        """Show the contributions at a port."""

    def explain_block(self, name: str) -> None:
        """Show the route of a variable."""

    def leave_explanation(self) -> bool:
        """Hide the route, or end the trial; False if there is neither."""

    def preview_cuts(self, *, on: bool) -> None:
        """Turn previews of cutting the wire under the pointer on or off."""

    def toggle_trace(self) -> None:
        """Trace the selected wire, or stop tracing."""


class Keys:
    """Handles each key of the table by one method; a method that returns False passes it on."""

    def __init__(self, canvas: KeyHost, mouse: Mouse) -> None:
        self._canvas = canvas
        self._mouse = mouse
        self._held: dict[int, str] = {}
        self._bound = bound_keys({row.method: row.keys for row in KEYS})

    def rebind(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Use other keys: for each method as many as the table has for it, in the same order."""
        self._bound = bound_keys(keys)

    def press(self, event: QKeyEvent) -> bool:
        """Handle a key press; False if the canvas does not use the key."""
        found = self._bound.get(pressed(event))
        if found is None:
            is_number = bool(event.text()) and event.text() in _BEGINNINGS
            return is_number and self._canvas.numbers.edit(event.text())
        self._held[event.key()] = found.method
        return getattr(self, found.method)(found.in_place_of(event)) is not False

    def release(self, event: QKeyEvent) -> None:
        """Handle a key release."""
        if event.isAutoRepeat():
            return
        match self._held.pop(event.key(), ""):
            case "space":
                self._mouse.hold_space(held=False)
            case "preview_cuts":
                self._canvas.preview_cuts(on=False)

    def release_all(self) -> None:
        """Treat all keys as released, since the canvas has lost the focus."""
        self._held.clear()
        self._mouse.hold_space(held=False)
        self._canvas.preview_cuts(on=False)

    # Moving

    def go(self, event: QKeyEvent) -> None:
        """Move the selection by a step of the grid; or the focus, if a wire is open.

        A number that has the keys is changed instead.
        """
        if self._use_number(event):
            return
        if (
            not self._canvas.view.selection.has_items
            or self._canvas.keyboard_focus.wire is not None
        ):
            self.move_focus(event)
        else:
            dx, dy = _direction(event)
            self._canvas.nudge(dx * GRID, dy * GRID)

    def move_focus(self, event: QKeyEvent) -> None:
        """Move the focus, or change a number by large steps."""
        if not self._use_number(event):
            self._canvas.keyboard_focus.move(_direction(event))

    def nudge(self, event: QKeyEvent) -> None:
        """Move the selection by one scene unit, or else the focus; or fine steps of a number."""
        if self._use_number(event):
            return
        if not self._canvas.view.selection.has_items:
            self.move_focus(event)
        else:
            self._canvas.nudge(*map(float, _direction(event)))

    def resize(self, event: QKeyEvent) -> None:
        """Resize notes by a step of the grid."""
        dx, dy = _direction(event)
        self._canvas.resize_notes(dx * GRID, dy * GRID)

    def jump(self, event: QKeyEvent) -> None:
        """Focus the leftmost block, or the rightmost; of several, the highest."""
        scene = self._canvas.view.scene
        side = -1.0 if event.key() == Qt.Key.Key_End else 1.0
        places = zip(scene.rects[:, :2].tolist(), scene.names, strict=True)
        found = min(((side * x, y, name) for (x, y), name in places), default=None)
        if found is not None:
            self._canvas.keyboard_focus.focus_on(Focus(FocusKind.BLOCK, found[2]))

    def next_note(self, event: QKeyEvent) -> bool:
        """Focus the next note, or the previous one; False without notes."""
        view = self._canvas.view
        notes, focus = list(view.scene.page.notes), view.focus
        if not notes:
            return False
        step = -1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if focus is not None and focus.kind is FocusKind.NOTE:
            place = notes.index(focus.name) + step
        else:
            place = min(step, 0)
        self._canvas.keyboard_focus.focus_on(Focus(FocusKind.NOTE, notes[place % len(notes)]))
        return True

    def scroll(self, event: QKeyEvent) -> None:
        """Scroll by three quarters of the canvas."""
        rect, back = self._canvas.rect(), event.key() == Qt.Key.Key_PageUp
        step = 0.75 if back else -0.75
        aside = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        by = (step * rect.width(), 0.0) if aside else (0.0, step * rect.height())
        self._canvas.set_camera(self._canvas.view.camera.panned(*by))

    # Selecting

    def select_focused(self, event: QKeyEvent) -> None:
        """Toggle whether the focused item, or a focused port's block, is selected."""
        keyboard_focus = self._canvas.keyboard_focus
        if self._canvas.view.focus is None:
            keyboard_focus.show()
        focus = self._canvas.view.focus
        if focus is not None and focus.kind in (FocusKind.INPUT, FocusKind.OUTPUT):
            keyboard_focus.focus_on(Focus(FocusKind.BLOCK, PortName.parse(focus.name).block))
        view = self._canvas.view
        item = changes.focused(view)
        if not item.has_items:
            self._canvas.hint(editor.tr("A focused wire is already selected."))
        else:
            self._canvas.set_selection(view.selection.toggled(item))

    def select_all(self, event: QKeyEvent) -> None:
        """Select every block and note."""
        self._canvas.select_all()

    def leave(self, event: QKeyEvent) -> None:
        """End what is active first: gesture, marks, wire, explanation, run, selection, focus."""
        canvas, keyboard_focus = self._canvas, self._canvas.keyboard_focus
        if self._mouse.cancel() or clear_marks(canvas) or keyboard_focus.drop_wire():
            return
        if canvas.leave_explanation() or canvas.numbers.leave() or canvas.computing.cancel():
            return
        if canvas.view.selection.has_items or not keyboard_focus.clear():
            canvas.set_selection(NOTHING)

    # Editing

    def space(self, event: QKeyEvent) -> None:
        """Begin or end a wire at the focus, or at the one selected block.

        While the key is held without a focus, the mouse pans.
        """
        if event.isAutoRepeat():
            return
        view, keyboard_focus = self._canvas.view, self._canvas.keyboard_focus
        had_focus = view.focus is not None
        if not had_focus and len(view.selection.blocks) == 1:
            keyboard_focus.show()
        if not (keyboard_focus.act() and had_focus):
            self._mouse.hold_space(held=True)

    def add(self, event: QKeyEvent) -> None:
        """Offer blocks to add, at the end of the open wire if there is one."""
        port = self._canvas.keyboard_focus.wire
        if self._mouse.gesture is None:
            self._canvas.keyboard_focus.drop_wire()
            self._canvas.quick_add(None, port)

    def insert(self, event: QKeyEvent) -> None:
        """Insert the selected block into the selected wire."""
        change = changes.insertion(self._canvas.view)
        if change is None:
            self._canvas.hint(
                editor.tr("Select a block without wires, go to a wire, and press the key again.")
            )
            return
        view = self._canvas.view
        self._canvas.request(with_room(view.scene, change, view.selection.blocks))

    def lift(self, event: QKeyEvent) -> None:
        """Take the selected blocks out of their wires, which then lead past them."""
        view = self._canvas.view
        names = view.selection.blocks or changes.focused(view).blocks
        self._canvas.request(lift(view.scene, names))

    def bend(self, event: QKeyEvent) -> None:
        """Add a bend to the selected wire."""
        self._canvas.bend_wire()

    def rename(self, event: QKeyEvent) -> None:
        """Edit a name or a note."""
        self._canvas.rename()

    def delete(self, event: QKeyEvent) -> None:
        """Remove the selection, or else the focused item."""
        self._canvas.delete_selection()

    def mark_cut(self, event: QKeyEvent) -> None:
        """Toggle whether the selected wire is marked for a cut."""
        if self._canvas.view.selection.wire is None:
            self._canvas.hint(
                editor.tr("Go to a wire with the arrow keys, and press the key again.")
            )
        elif self._mouse.gesture is None:
            count = toggle_mark(self._canvas, self._canvas.view.selection.wire)
            self._canvas.hint(editor.tr("Marked wires: {0}. Delete cuts them.").format(count))

    # Explaining

    def why(self, event: QKeyEvent) -> bool:
        """Explain the selected wire, the focused port, or a block; False without any."""
        canvas, view = self._canvas, self._canvas.view
        port = None if view.focus is None else port_number(view.scene, view.focus)
        if view.selection.wire is not None:
            canvas.explain(view.selection.wire)
        elif port is not None:
            canvas.explain_port(port)
        elif len(view.selection.blocks or changes.focused(view).blocks) == 1:
            canvas.explain_block(*(view.selection.blocks or changes.focused(view).blocks))
        else:
            return False
        return True

    def trace(self, event: QKeyEvent) -> None:
        """Trace the selected wire."""
        self._canvas.toggle_trace()

    def preview_cuts(self, event: QKeyEvent) -> None:
        """Preview cuts until the key goes up."""
        self._canvas.preview_cuts(on=True)

    def enter(self, event: QKeyEvent) -> bool:
        """Type the number that has the keys, open the focused item, or the one selected block.

        False without any.
        """
        if self._canvas.numbers.edit():
            return True
        view = self._canvas.view
        if view.focus is None and len(view.selection.blocks) == 1:
            self._canvas.keyboard_focus.show()
        return self._canvas.keyboard_focus.enter()

    def next_number(self, event: QKeyEvent) -> bool:
        """Give the keys to the next number of the selected or focused block; False without any."""
        view = self._canvas.view
        names = view.selection.blocks or changes.focused(view).blocks
        if len(names) != 1:
            return False
        (name,) = names
        self._canvas.select([name])
        back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        return self._canvas.numbers.go(-1 if back else 1, name)

    def _use_number(self, event: QKeyEvent) -> bool:
        """Let an arrow key change the active number, or go to the next; False without one."""
        numbers, (dx, dy) = self._canvas.numbers, _direction(event)
        if self._canvas.view.number is None:
            return False
        return numbers.go(dx) if dx else numbers.step(-dy, event.modifiers())

    def menu(self, event: QKeyEvent) -> None:
        """Show the menu of the focused item."""
        self.show_menu()

    def show_menu(self) -> None:
        """Show the menu of the selection, or else of the focused item, which is then selected."""
        canvas, view = self._canvas, self._canvas.view
        if not view.selection.has_items and view.selection.wire is None:
            canvas.set_selection(changes.focused(view))
        elif view.focus is None:
            canvas.keyboard_focus.show()
        canvas.show_menu(canvas.keyboard_focus.centre())

    def bookmark(self, event: QKeyEvent) -> None:
        """Go to the bookmark with the number of the key."""
        self._canvas.go_to_bookmark(event.key() - Qt.Key.Key_0)

    def sheet(self, event: QKeyEvent) -> None:
        """Show all keys."""
        self._canvas.show_sheet()


_BEGINNINGS = "0123456789.-"
"""Keys that a number begins with."""
_DIRECTIONS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


def _direction(event: QKeyEvent) -> Direction:
    return _DIRECTIONS[Qt.Key(event.key())]
