"""Handles the keys of the canvas by the methods that the table of bindings names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.canvas.input.gestures.base import GRID
from gradwire.app.canvas.input.gestures.cutting import clear_marks, toggle_mark
from gradwire.app.canvas.input.gestures.dragging import lift
from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.scene.focus import Direction, Focus, FocusKind, port_number
from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.context import CanvasContext


class Keys:
    """Handles each key of the table by one method; a method that returns False passes it on."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._held: dict[int, str] = {}
        self._bound = _bound_keys({row.method: row.keys for row in KEYS})

    def rebind(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Use other keys: for each method as many as the table has for it, in the same order."""
        self._bound = _bound_keys(keys)

    def press(self, event: QKeyEvent) -> bool:
        """Handle a key press; False if the canvas does not use the key."""
        found = self._bound.get(_pressed(event))
        if found is None:
            is_number = bool(event.text()) and event.text() in _BEGINNINGS
            return is_number and self._context.numbers.edit(event.text())
        self._held[event.key()] = found.method
        return getattr(self, found.method)(found.in_place_of(event)) is not False

    def release(self, event: QKeyEvent) -> None:
        """Handle a key release."""
        if event.isAutoRepeat():
            return
        match self._held.pop(event.key(), ""):
            case "space":
                self._context.mouse.hold_space(held=False)
            case "preview_cuts":
                self._context.explaining.preview_cuts(on=False)

    def release_all(self) -> None:
        """Treat all keys as released, since the canvas has lost the focus."""
        self._held.clear()
        self._context.mouse.hold_space(held=False)
        self._context.explaining.preview_cuts(on=False)

    # Moving

    def go(self, event: QKeyEvent) -> None:
        """Move the selection by a step of the grid; or the focus, if a wire is open.

        A number that has the keys is changed instead.
        """
        if self._use_number(event):
            return
        if (
            not self._context.view.selection.has_items
            or self._context.keyboard_focus.wire is not None
        ):
            self.move_focus(event)
        else:
            dx, dy = _direction(event)
            self._context.edits.nudge(dx * GRID, dy * GRID)

    def move_focus(self, event: QKeyEvent) -> None:
        """Move the focus, or change a number by large steps."""
        if not self._use_number(event):
            self._context.keyboard_focus.move(_direction(event))

    def nudge(self, event: QKeyEvent) -> None:
        """Move the selection by one scene unit, or else the focus; or fine steps of a number."""
        if self._use_number(event):
            return
        if not self._context.view.selection.has_items:
            self.move_focus(event)
        else:
            self._context.edits.nudge(*map(float, _direction(event)))

    def resize(self, event: QKeyEvent) -> None:
        """Resize notes by a step of the grid."""
        dx, dy = _direction(event)
        self._context.edits.resize_notes(dx * GRID, dy * GRID)

    def jump(self, event: QKeyEvent) -> None:
        """Focus the leftmost block, or the rightmost; of several, the highest."""
        scene = self._context.view.scene
        side = -1.0 if event.key() == Qt.Key.Key_End else 1.0
        places = zip(scene.rects[:, :2].tolist(), scene.names, strict=True)
        found = min(((side * x, y, name) for (x, y), name in places), default=None)
        if found is not None:
            self._context.keyboard_focus.focus_on(Focus(FocusKind.BLOCK, found[2]))

    def next_note(self, event: QKeyEvent) -> bool:
        """Focus the next note, or the previous one; False without notes."""
        view = self._context.view
        notes, focus = list(view.scene.page.notes), view.focus
        if not notes:
            return False
        step = -1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if focus is not None and focus.kind is FocusKind.NOTE:
            place = notes.index(focus.name) + step
        else:
            place = min(step, 0)
        self._context.keyboard_focus.focus_on(Focus(FocusKind.NOTE, notes[place % len(notes)]))
        return True

    def scroll(self, event: QKeyEvent) -> None:
        """Scroll by three quarters of the canvas."""
        rect, back = self._context.widget.rect(), event.key() == Qt.Key.Key_PageUp
        step = 0.75 if back else -0.75
        aside = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        by = (step * rect.width(), 0.0) if aside else (0.0, step * rect.height())
        self._context.camera.set(self._context.view.camera.panned(*by))

    # Selecting

    def select_focused(self, event: QKeyEvent) -> None:
        """Toggle whether the focused item, or a focused port's block, is selected."""
        keyboard_focus = self._context.keyboard_focus
        if self._context.view.focus is None:
            keyboard_focus.show()
        focus = self._context.view.focus
        if focus is not None and focus.kind in (FocusKind.INPUT, FocusKind.OUTPUT):
            keyboard_focus.focus_on(Focus(FocusKind.BLOCK, PortName.parse(focus.name).block))
        view = self._context.view
        item = changes.focused(view)
        if not item.has_items:
            self._context.hint(editor.tr("A focused wire is already selected."))
        else:
            self._context.selection.set(view.selection.toggled(item))

    def select_all(self, event: QKeyEvent) -> None:
        """Select every block and note."""
        self._context.selection.select_all()

    def leave(self, event: QKeyEvent) -> None:
        """End what is active first: gesture, marks, wire, explanation, run, selection, focus."""
        context, keyboard_focus = self._context, self._context.keyboard_focus
        if self._context.mouse.cancel() or clear_marks(context) or keyboard_focus.drop_wire():
            return
        if (
            context.overlays.leave_explanation()
            or context.numbers.leave()
            or context.computing.cancel()
        ):
            return
        if context.view.selection.has_items or not keyboard_focus.clear():
            context.selection.set(NOTHING)

    # Editing

    def space(self, event: QKeyEvent) -> None:
        """Begin or end a wire at the focus, or at the one selected block.

        While the key is held without a focus, the mouse pans.
        """
        if event.isAutoRepeat():
            return
        view, keyboard_focus = self._context.view, self._context.keyboard_focus
        had_focus = view.focus is not None
        if not had_focus and len(view.selection.blocks) == 1:
            keyboard_focus.show()
        if not (keyboard_focus.act() and had_focus):
            self._context.mouse.hold_space(held=True)

    def add(self, event: QKeyEvent) -> None:
        """Offer blocks to add, at the end of the open wire if there is one."""
        port = self._context.keyboard_focus.wire
        if self._context.mouse.gesture is None:
            self._context.keyboard_focus.drop_wire()
            self._context.edits.quick_add(None, port)

    def insert(self, event: QKeyEvent) -> None:
        """Insert the selected block into the selected wire."""
        change = changes.insertion(self._context.view)
        if change is None:
            self._context.hint(
                editor.tr("Select a block without wires, go to a wire, and press the key again.")
            )
            return
        view = self._context.view
        self._context.request(make_space(view.scene, change, view.selection.blocks))

    def lift(self, event: QKeyEvent) -> None:
        """Take the selected blocks out of their wires, which then lead past them."""
        view = self._context.view
        names = view.selection.blocks or changes.focused(view).blocks
        self._context.request(lift(view.scene, names))

    def bend(self, event: QKeyEvent) -> None:
        """Add a bend to the selected wire."""
        self._context.edits.bend_wire()

    def rename(self, event: QKeyEvent) -> None:
        """Edit a name or a note."""
        self._context.edits.rename()

    def delete(self, event: QKeyEvent) -> None:
        """Remove the selection, or else the focused item."""
        self._context.edits.delete_selection()

    def mark_cut(self, event: QKeyEvent) -> None:
        """Toggle whether the selected wire is marked for a cut."""
        if self._context.view.selection.wire is None:
            self._context.hint(
                editor.tr("Go to a wire with the arrow keys, and press the key again.")
            )
        elif self._context.mouse.gesture is None:
            count = toggle_mark(self._context, self._context.view.selection.wire)
            self._context.hint(editor.tr("Marked wires: {0}. Delete cuts them.").format(count))

    # Explaining

    def why(self, event: QKeyEvent) -> bool:
        """Explain the selected wire, the focused port, or a block; False without any."""
        context, view = self._context, self._context.view
        port = None if view.focus is None else port_number(view.scene, view.focus)
        if view.selection.wire is not None:
            context.explaining.explain(view.selection.wire)
        elif port is not None:
            context.explaining.explain_port(port)
        elif len(view.selection.blocks or changes.focused(view).blocks) == 1:
            context.explaining.explain_block(
                *(view.selection.blocks or changes.focused(view).blocks)
            )
        else:
            return False
        return True

    def trace(self, event: QKeyEvent) -> None:
        """Trace the selected wire."""
        self._context.explaining.toggle_trace()

    def preview_cuts(self, event: QKeyEvent) -> None:
        """Preview cuts until the key goes up."""
        self._context.explaining.preview_cuts(on=True)

    def enter(self, event: QKeyEvent) -> bool:
        """Type the number that has the keys, open the focused item, or the one selected block.

        False without any.
        """
        if self._context.numbers.edit():
            return True
        view = self._context.view
        if view.focus is None and len(view.selection.blocks) == 1:
            self._context.keyboard_focus.show()
        return self._context.keyboard_focus.enter()

    def next_number(self, event: QKeyEvent) -> bool:
        """Give the keys to the next number of the selected or focused block; False without any."""
        view = self._context.view
        names = view.selection.blocks or changes.focused(view).blocks
        if len(names) != 1:
            return False
        (name,) = names
        self._context.selection.select([name])
        back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        return self._context.numbers.go(-1 if back else 1, name)

    def _use_number(self, event: QKeyEvent) -> bool:
        """Let an arrow key change the active number, or go to the next; False without one."""
        numbers, (dx, dy) = self._context.numbers, _direction(event)
        if self._context.view.number is None:
            return False
        return numbers.go(dx) if dx else numbers.step(-dy, event.modifiers())

    def menu(self, event: QKeyEvent) -> None:
        """Show the menu of the focused item."""
        self.show_menu()

    def show_menu(self) -> None:
        """Show the menu of the selection, or else of the focused item, which is then selected."""
        context, view = self._context, self._context.view
        if not view.selection.has_items and view.selection.wire is None:
            context.selection.set(changes.focused(view))
        elif view.focus is None:
            context.keyboard_focus.show()
        context.widget.menuRequested.emit(context.keyboard_focus.centre().toPoint())

    def bookmark(self, event: QKeyEvent) -> None:
        """Go to the bookmark with the number of the key."""
        self._context.widget.bookmarkRequested.emit(event.key() - Qt.Key.Key_0)

    def sheet(self, event: QKeyEvent) -> None:
        """Show all keys."""
        self._context.widget.sheetRequested.emit()


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


class _BoundKey(NamedTuple):
    """A method, and the key of the table that the pressed key stands for."""

    method: str
    key: QKeyCombination

    def in_place_of(self, event: QKeyEvent) -> QKeyEvent:
        """The event as if the key of the table had been pressed."""
        key, held = self.key.key(), self.key.keyboardModifiers()
        return QKeyEvent(event.type(), key, held, event.text(), event.isAutoRepeat())


def _bound_keys(keys: Mapping[str, tuple[str, ...]]) -> dict[QKeySequence, _BoundKey]:
    """Keys by what the user presses; ``keys`` has them by method, in the order of the table."""
    return {
        QKeySequence(name): _BoundKey(row.method, _combination(default))
        for row in KEYS
        for name, default in zip(keys[row.method], row.keys, strict=True)
        if name
    }


def _combination(name: str) -> QKeyCombination:
    combination: QKeyCombination = QKeySequence(name)[0]  # type: ignore[index]  # not in Qt's stubs
    return combination


def _pressed(event: QKeyEvent) -> QKeySequence:
    """The key with its modifiers; regardless of the keypad, and of how ``?`` is typed."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if event.key() == Qt.Key.Key_Question:
        held &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(held.value | event.key())
