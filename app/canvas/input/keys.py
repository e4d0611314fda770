"""The keyboard on the canvas: one table of keys, which the canvas obeys and the sheet shows.

Texts stand here in English; translations have them under the context ``keys``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence

from app.canvas.input import changes
from app.canvas.input.cutting import mark, unmark
from app.canvas.input.gestures import GRID, Host
from app.canvas.scene.focus import Focus, Kind, port_number
from app.canvas.state.view_state import Picked
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from PySide6.QtCore import QPointF, QRect
    from PySide6.QtGui import QKeyEvent

    from app.canvas.input.keyboard_focus import Walking
    from app.canvas.input.mouse import Hand


@dataclass(frozen=True, slots=True)
class CanvasKey:
    """Keys (portable names), the method of :class:`Keys` that they call, and what it does.

    Where a menu tells of the same keys, ``text`` is empty. ``shown`` stands for the names.
    """

    keys: tuple[str, ...]
    does: str
    text: str = ""
    shown: str = ""


def _arrows(held: str = "") -> tuple[str, ...]:
    return tuple(f"{held}{name}" for name in ("Left", "Right", "Up", "Down"))


KEYS: tuple[CanvasKey, ...] = (
    CanvasKey(_arrows(), "go",
              "Go from block to port to block along the wires; move what is selected", "Arrows"),
    CanvasKey(_arrows("Ctrl+"), "walk",
              "Go on although something is selected", "Ctrl + arrows"),
    CanvasKey(_arrows("Shift+"), "nudge",
              "Move what is selected by one px", "Shift + arrows"),
    CanvasKey(_arrows("Ctrl+Shift+"), "resize",
              "Make the selected notes, or the one with the focus, larger or smaller",
              "Ctrl + Shift + arrows"),
    CanvasKey(("Home", "End"), "jump", "Go to the first block, or to the last", "Home, End"),
    CanvasKey(("N", "Shift+N"), "next_note",
              "Go to the next note or frame, or to the one before", "N, Shift + N"),
    CanvasKey(("PgUp", "PgDown", "Shift+PgUp", "Shift+PgDown"), "scroll",
              "Move the page up and down; with Shift, to the sides", "Page Up, Page Down"),
    CanvasKey(("S",), "pick",
              "Select the block or note with the focus besides the others, or no more"),
    CanvasKey(("Space",), "space",
              "Begin a wire where the focus or the selection is, or end it there; held, the mouse "
              "moves the page"),
    CanvasKey(("Tab",), "add",
              "Add a block by typing: at the wire's end, into the selected wire, where the pointer "
              "has just been, or beside the selected block"),
    CanvasKey(("I",), "insert",
              "Put the selected block, which has no wires, into the wire with the focus"),
    CanvasKey(("B",), "bend", "Bend the selected wire: S takes the reroute point, arrows move it"),
    CanvasKey(("W",), "why",
              "Why: the route from the loss to the selected wire, or to the variable; on a port, "
              "Σ: what adds up there"),
    CanvasKey(("T",), "trace",
              "Show the selected wire from end to end, all else dimmed, or no more"),
    CanvasKey(("X",), "hold_cut",
              "While held: what a cut of the wire under the pointer would change", "X held"),
    CanvasKey(("Return", "Enter"), "enter",
              "Show the fields of a block, enter a page, write a note", "Enter"),
    CanvasKey(("F2",), "rename",
              "Write the name of the block with the focus, or the text of the note"),
    CanvasKey(("Del", "Backspace"), "delete",
              "Remove the marked wires, what is selected, or else what has the focus; what a frame "
              "holds stays", "Delete"),
    CanvasKey(("C",), "mark_cut",
              "Mark the wire with the focus for a cut, or no more; Delete cuts all marked ones"),
    CanvasKey(("Ctrl+A",), "select_all"),
    CanvasKey(("M",), "menu", "Show the menu of what has the focus"),
    CanvasKey(("Esc",), "leave",
              "Drop what is in the hand, then the selection, then the focus; from a panel, come "
              "back"),
    CanvasKey(("?",), "sheet", "This sheet"),
)  # fmt: skip
"""Every key that the canvas itself obeys."""


class Keyed(Host, Protocol):
    """The canvas as its keys see it."""

    walking: Walking

    def rect(self) -> QRect:
        """The widget's own rectangle."""

    def rename(self) -> None:
        """Open the field of what is selected or has the focus."""

    def select_wire(self, key: str | None) -> None:
        """Select a wire, or none."""

    def bend_wire(self) -> None:
        """Ask for a bend in the selected wire."""

    def delete_selection(self) -> None:
        """Ask to remove what is selected."""

    def select_all(self) -> None:
        """Select every block and note."""

    def nudge(self, dx: float, dy: float) -> None:
        """Ask to move what is selected."""

    def resize_notes(self, dx: float, dy: float) -> None:
        """Ask to make notes larger."""

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Let a block be chosen, for this place or for where there is room."""

    def show_menu(self, at: QPointF) -> None:
        """Ask for the menu of what is selected."""

    def show_sheet(self) -> None:
        """Ask for the sheet of all keys."""

    def explain(self, wire: str) -> None:
        """Ask why a wire carries its gradient or not."""

    def explain_port(self, port: int) -> None:
        """Ask what adds up at a port."""

    def explain_block(self, name: str) -> None:
        """Ask for the route of a variable."""

    def leave_explanation(self) -> bool:
        """Leave the route or the trial that is shown; False if there is none."""

    def hold_cut(self, *, held: bool) -> None:
        """Show what cuts would change, or no more."""

    def toggle_trace(self) -> None:
        """Show the selected wire from end to end, or all again."""


class Keys:
    """Obeys the table. Each row calls the method of its name; False passes the key on."""

    def __init__(self, canvas: Keyed, hand: Hand) -> None:
        self._canvas = canvas
        self._hand = hand

    def press(self, event: QKeyEvent) -> bool:
        """A key went down; False if it means nothing here."""
        row = _rows().get(_pressed(event))
        return row is not None and getattr(self, row.does)(event) is not False

    def release(self, event: QKeyEvent) -> None:
        """A key went up."""
        if event.isAutoRepeat():
            return
        if event.key() == Qt.Key.Key_Space:
            self._hand.hold_space(held=False)
        elif event.key() == Qt.Key.Key_X:
            self._canvas.hold_cut(held=False)

    def let_go(self) -> None:
        """The window lost the keyboard: no key is held any more."""
        self._hand.hold_space(held=False)
        self._canvas.hold_cut(held=False)

    # Going about

    def go(self, event: QKeyEvent) -> None:
        """Walk, or move what is selected by a step of the grid, unless a wire is in the hand."""
        if self._canvas.view.picked == Picked() or self._canvas.walking.wire is not None:
            self.walk(event)
        else:
            dx, dy = _direction(event)
            self._canvas.nudge(dx * GRID, dy * GRID)

    def walk(self, event: QKeyEvent) -> None:
        """Move the focus."""
        self._canvas.walking.walk(_direction(event))

    def nudge(self, event: QKeyEvent) -> None:
        """Move what is selected by one; walk where nothing is."""
        if self._canvas.view.picked == Picked():
            self.walk(event)
        else:
            self._canvas.nudge(*map(float, _direction(event)))

    def resize(self, event: QKeyEvent) -> None:
        """Move the lower right corner of notes by a step of the grid."""
        dx, dy = _direction(event)
        self._canvas.resize_notes(dx * GRID, dy * GRID)

    def jump(self, event: QKeyEvent) -> None:
        """Put the focus on the leftmost block, or the rightmost; of several, the highest."""
        scene = self._canvas.view.scene
        side = -1.0 if event.key() == Qt.Key.Key_End else 1.0
        places = zip(scene.rects[:, :2].tolist(), scene.names, strict=True)
        found = min(((side * x, y, name) for (x, y), name in places), default=None)
        if found is not None:
            self._canvas.walking.go(Focus(Kind.BLOCK, found[2]))

    def next_note(self, event: QKeyEvent) -> bool:
        """Put the focus on a note after another; False without notes."""
        view = self._canvas.view
        notes, focus = list(view.scene.page.notes), view.focus
        if not notes:
            return False
        step = -1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        if focus is not None and focus.kind is Kind.NOTE:
            place = notes.index(focus.name) + step
        else:
            place = min(step, 0)
        self._canvas.walking.go(Focus(Kind.NOTE, notes[place % len(notes)]))
        return True

    def scroll(self, event: QKeyEvent) -> None:
        """Move the page by three quarters of what is seen."""
        rect, back = self._canvas.rect(), event.key() == Qt.Key.Key_PageUp
        step = 0.75 if back else -0.75
        aside = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        by = (step * rect.width(), 0.0) if aside else (0.0, step * rect.height())
        self._canvas.look(self._canvas.view.camera.panned(*by))

    # Choosing

    def pick(self, event: QKeyEvent) -> None:
        """Select what has the focus (a port's block) besides the others, or take it out."""
        view, walking = self._canvas.view, self._canvas.walking
        if view.focus is None:
            walking.show()
        focus = view.focus
        if focus is not None and focus.kind in (Kind.INPUT, Kind.OUTPUT):
            walking.go(Focus(Kind.BLOCK, PortName.parse(focus.name).block))
        item = changes.focused(view)
        if item == Picked():
            self._canvas.hint(_tr("A wire with the focus is selected already."))
        else:
            self._canvas.select(*view.picked.toggled(item))

    def select_all(self, event: QKeyEvent) -> None:
        """Select every block and note."""
        self._canvas.select_all()

    def leave(self, event: QKeyEvent) -> None:
        """Let go of one thing: what is in the hand, marks, the wire, the selection, the focus."""
        canvas, walking = self._canvas, self._canvas.walking
        if self._hand.cancel() or unmark(canvas) or walking.drop_wire():
            return
        if canvas.leave_explanation():
            return
        if canvas.view.picked != Picked() or not walking.leave():
            canvas.select(())
            canvas.select_wire(None)

    # Building

    def space(self, event: QKeyEvent) -> None:
        """Begin or end a wire at the focus, or at the one selected block.

        Besides, the mouse moves the page as long as the bar is held.
        """
        if event.isAutoRepeat():
            return
        view, walking = self._canvas.view, self._canvas.walking
        walked = view.focus is not None
        if not walked and len(view.selected) == 1:
            walking.show()
        if not (walking.act() and walked):
            self._hand.hold_space(held=True)

    def add(self, event: QKeyEvent) -> None:
        """Look for a block, for the wire in the hand where there is one."""
        port = self._canvas.walking.wire
        if self._hand.gesture is None:
            self._canvas.walking.drop_wire()
            self._canvas.quick_add(None, port)

    def insert(self, event: QKeyEvent) -> None:
        """Put the selected block into the selected wire."""
        change = changes.insertion(self._canvas.view)
        if change is None:
            self._canvas.hint(
                _tr("Select a block without wires, go to a wire with Ctrl + arrows, press I.")
            )
        self._canvas.ask(change)

    def bend(self, event: QKeyEvent) -> None:
        """Lead the selected wire through one more point."""
        self._canvas.bend_wire()

    def rename(self, event: QKeyEvent) -> None:
        """Open the field of a name or a note."""
        self._canvas.rename()

    def delete(self, event: QKeyEvent) -> None:
        """Remove what is selected, else what has the focus."""
        self._canvas.delete_selection()

    def mark_cut(self, event: QKeyEvent) -> None:
        """Mark the selected wire besides the others, or no more."""
        if self._canvas.view.wire is None:
            self._canvas.hint(_tr("Go to a wire with the arrows: C marks it for a cut."))
        elif self._hand.gesture is None:
            count = mark(self._canvas, self._canvas.view.wire)
            self._canvas.hint(_tr("Marked for a cut: {0}. Delete cuts them.").format(count))

    # Result

    def why(self, event: QKeyEvent) -> bool:
        """Explain a wire, the port with the focus, or a block; False without any."""
        canvas, view = self._canvas, self._canvas.view
        port = None if view.focus is None else port_number(view.scene, view.focus)
        if view.wire is not None:
            canvas.explain(view.wire)
        elif port is not None:
            canvas.explain_port(port)
        elif len(view.selected or changes.focused(view).blocks) == 1:
            canvas.explain_block(*(view.selected or changes.focused(view).blocks))
        else:
            return False
        return True

    def trace(self, event: QKeyEvent) -> None:
        """Show a wire from end to end."""
        self._canvas.toggle_trace()

    def hold_cut(self, event: QKeyEvent) -> None:
        """Show what a cut would change until the key goes up."""
        self._canvas.hold_cut(held=True)

    def enter(self, event: QKeyEvent) -> bool:
        """Open what has the focus, or else the one selected block; False without either."""
        view = self._canvas.view
        if view.focus is None and len(view.selected) == 1:
            self._canvas.walking.show()
        return self._canvas.walking.enter()

    def menu(self, event: QKeyEvent) -> None:
        """Show what can be done."""
        self._canvas.show_menu(self._canvas.walking.place())

    def sheet(self, event: QKeyEvent) -> None:
        """Show all keys."""
        self._canvas.show_sheet()


_DIRECTIONS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


def _direction(event: QKeyEvent) -> tuple[int, int]:
    return _DIRECTIONS[Qt.Key(event.key())]


@cache
def _rows() -> dict[QKeySequence, CanvasKey]:
    return {QKeySequence(name): row for row in KEYS for name in row.keys}


def _pressed(event: QKeyEvent) -> QKeySequence:
    """The key with what is held; where it lies doesn't matter, nor how one types a ``?``."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if event.key() == Qt.Key.Key_Question:
        held &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(held.value | event.key())


def _tr(text: str) -> str:
    return QCoreApplication.translate("keys", text)
