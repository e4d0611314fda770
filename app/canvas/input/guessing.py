"""Guessing on the canvas: a brush for the states of wires, and fields for numbers of blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QObject, QPointF, QRectF, Qt, Signal

from gradwire.app.canvas.input.entry.inline_edit import LineEdit
from gradwire.app.canvas.paint.overlays import block_chip, wire_chip
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QMouseEvent

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.state.marks import GuessMarks

_TYPED = "0123456789.-+nN"
"""Keys that a number, or None, begins with."""
Key = Qt.Key


class Guessing(QObject):
    """Takes mouse and keys of one canvas as long as questions are open."""

    painted = Signal(str, int)
    """Key of a wire, and the number of the brush from 1 on; 0 for the one that is chosen."""
    cleared = Signal(str)
    """Key of a wire whose guess is taken back."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        self._marks: GuessMarks | None = None
        self._is_painting = False
        self._field: LineEdit | None = None
        self.accept: Callable[[str, str], bool] = lambda block, text: False
        """Takes what was typed for a block; False if it is no answer."""

    @property
    def is_active(self) -> bool:
        """Whether questions are open."""
        return self._marks is not None and self._marks.is_open

    def set_marks(self, marks: GuessMarks | None) -> None:
        """Ask for this; None ends asking."""
        self._marks = marks
        widget = self._context.widget
        widget.removeEventFilter(self)
        if self.is_active:
            widget.installEventFilter(self)  # in front of the other filters of the canvas
        else:
            self.close()

    def close(self) -> None:
        """Close the field if one is open; its text is dropped."""
        field, self._field = self._field, None
        if field is not None:
            field.close_field(take=False)

    def type(self, block: str, text: str = "") -> None:
        """Open the field for the number of a block, with ``text`` typed already if there is any."""
        marks, context = self._marks, self._context
        if marks is None or block not in marks.blocks:
            return
        self.close()
        guess = marks.blocks[block]
        box = block_chip(context.view, block, guess)
        place = QRectF(box.center().x() - 60.0, box.top(), 120.0, box.height())
        label = editor.tr("Gradient of {0}: a number, or None").format(block)
        field = LineEdit(
            context.widget, guess.typed, label, place, 1.0, lambda new: self._take(block, new)
        )
        field.setPlaceholderText(editor.tr("number or None"))
        field.installEventFilter(self)
        self._field = field
        if text:
            field.setText(text)

    def go(self, by: int) -> None:
        """Select the next question, or the previous one, in the order of the page."""
        assert self._marks is not None
        stops = [*self._marks.wires, *self._marks.blocks]
        here = self._current()
        place = stops.index(here) + by if here in stops else (0 if by > 0 else -1)
        stop = stops[place % len(stops)]
        is_wire = stop in self._marks.wires
        chosen = Selection(wire=stop) if is_wire else Selection(blocks=frozenset({stop}))
        self._context.selection.set(chosen)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is not self._context.widget:
            return self._filter_field(event)
        match event.type():
            case QEvent.Type.MouseButtonPress | QEvent.Type.MouseButtonDblClick:
                return self._press(cast("QMouseEvent", event))
            case QEvent.Type.MouseMove if self._is_painting:
                self._paint(cast("QMouseEvent", event).position())
                return True
            case QEvent.Type.MouseButtonRelease if self._is_painting:
                self._is_painting = False
                return True
            case QEvent.Type.KeyPress:
                return self._key(cast("QKeyEvent", event))
            case QEvent.Type.ShortcutOverride:
                key = cast("QKeyEvent", event)
                if self._uses(key):
                    event.accept()
                    return True
        return False

    def _filter_field(self, event: QEvent) -> bool:
        """Tab accepts what is typed and goes to the next question."""
        if event.type() != QEvent.Type.KeyPress or self._field is None:
            return False
        key = Key(cast("QKeyEvent", event).key())
        if key not in (Key.Key_Tab, Key.Key_Backtab):
            return False
        field = self._field
        field.close_field(take=True)
        if self._field is None:
            self._context.widget.setFocus()
            self.go(-1 if key == Key.Key_Backtab else 1)
        return True

    def _take(self, block: str, text: str) -> bool:
        if not self.accept(block, text):
            self._context.hint(editor.tr("Type a number such as -2.5, or None."))
            return False
        self._field = None
        return True

    # ---- mouse --------------------------------------------------------------------------------

    def _press(self, event: QMouseEvent) -> bool:
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        self.close()
        at = event.position()
        if (block := self._block_at(at)) is not None:
            self._context.selection.set(Selection(blocks=frozenset({block})))
            self.type(block)
            return True
        if self._wire_at(at) is None:
            return False
        self._is_painting = True
        self._paint(at)
        return True

    def _paint(self, at: QPointF) -> None:
        wire = self._wire_at(at)
        if wire is not None:
            self._context.selection.set(Selection(wire=wire))
            self.painted.emit(wire, 0)

    def _block_at(self, at: QPointF) -> str | None:
        """The block whose chip is at a point."""
        assert self._marks is not None
        view = self._context.view
        known = ((n, g) for n, g in self._marks.blocks.items() if n in view.scene.index)
        return next((n for n, g in known if block_chip(view, n, g).contains(at)), None)

    def _wire_at(self, at: QPointF) -> str | None:
        """The wire in question at a point, or whose chip is there."""
        assert self._marks is not None
        view, asked = self._context.view, self._marks.wires
        for key, guess in asked.items():
            is_shown = guess.text and key in view.scene.wire_index
            if is_shown and wire_chip(view, key, guess).contains(at):
                return key
        wire = self._context.places.wire_at(at)
        below = None if wire is None else view.scene.wire_keys[wire]
        return below if below in asked else None

    # ---- keys ---------------------------------------------------------------------------------

    def _uses(self, event: QKeyEvent) -> bool:
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.KeypadModifier,
        )
        key, here = Key(event.key()), self._current()
        if key in (Key.Key_Tab, Key.Key_Backtab):
            return True
        if not plain or here is None or self._marks is None:
            return False
        if here in self._marks.wires:
            is_brush = Key.Key_1 <= key <= Key.Key_9
            return is_brush or key in (Key.Key_Delete, Key.Key_Backspace)
        is_open = key in (Key.Key_Return, Key.Key_Enter)
        return is_open or (bool(event.text()) and event.text() in _TYPED)

    def _key(self, event: QKeyEvent) -> bool:
        if not self._uses(event):
            return False
        key, here = Key(event.key()), self._current()
        assert self._marks is not None
        if key in (Key.Key_Tab, Key.Key_Backtab):
            self.go(-1 if key == Key.Key_Backtab else 1)
        elif here is not None and here in self._marks.blocks:
            self.type(here, event.text().strip())
        elif here is not None and key in (Key.Key_Delete, Key.Key_Backspace):
            self.cleared.emit(here)
        elif here is not None:
            self.painted.emit(here, int(key) - int(Key.Key_0))
        return True

    def _current(self) -> str | None:
        """The selected wire or block, if there is a question about it."""
        assert self._marks is not None
        selection = self._context.view.selection
        if selection.wire in self._marks.wires:
            return selection.wire
        names = [name for name in selection.blocks if name in self._marks.blocks]
        return names[0] if len(names) == 1 else None
