"""Fields that open on the canvas to edit a name, a number, an expression or a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from gradwire.app.services.theme import BODY, font, scaled

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent

_WIDE = 260
"""The least width of a field for an expression, if there is room."""
_COMMIT = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class LineEdit(QLineEdit):
    """A name, number or expression. Return or a click elsewhere accepts it, Esc drops it.

    ``accept(text)`` returns whether it is valid; if it is not, the field stays open.
    """

    def __init__(
        self,
        parent: QWidget,
        text: str,
        label: str,
        place: QRectF,
        zoom: float,
        accept: Callable[[str], bool],
    ) -> None:
        super().__init__(text, parent)
        self._accept: Callable[[str], bool] | None = accept
        self.fault: int | None = None
        """Where the text is wrong, if ``accept`` says so; all of it is selected otherwise."""
        self.setFont(_scaled(zoom))
        self.setAccessibleName(label)
        height = max(place.height(), float(self.sizeHint().height()))
        width = max(place.width(), 120.0)
        top = place.center().y() - height / 2.0
        self.setGeometry(QRectF(place.left(), top, width, height).toAlignedRect())
        self.selectAll()
        self.show()
        self.setFocus()

    def widen(self) -> None:
        """Make the field as wide as its text, within its parent."""
        wanted = self.fontMetrics().horizontalAdvance(self.text()) + 60
        parent = self.parentWidget()
        room = wanted if parent is None else parent.width() - self.x() - 8
        self.resize(max(self.width(), min(max(wanted, _WIDE), room)), self.height())

    def close_field(self, *, take: bool) -> None:
        """Accept the text or drop it, once."""
        accept, self._accept = self._accept, None
        if accept is None:
            return
        if take and not accept(self.text()):
            self._accept = accept
            if self.fault is None:
                self.selectAll()
            else:
                self.setSelection(min(self.fault, len(self.text()) - 1), 1)
            return
        _discard(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in _COMMIT:
            self.close_field(take=True)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_field(take=False)
        else:
            super().keyPressEvent(event)
        event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.close_field(take=True)
            self.close_field(take=False)


class NoteEdit(QPlainTextEdit):
    """The text of a note. Esc, Ctrl+Return or a click elsewhere ends it: what was typed stays."""

    def __init__(
        self, parent: QWidget, text: str, place: QRectF, zoom: float, accept: Callable[[str], None]
    ) -> None:
        super().__init__(text, parent)
        self._accept: Callable[[str], None] | None = accept
        self.setFont(_scaled(zoom))
        self.setAccessibleName(self.tr("Note"))
        self.setGeometry(place.toAlignedRect())
        self.show()
        self.setFocus()

    def close_field(self, *, take: bool) -> None:
        """Accept the text, or drop it because its note is gone, once."""
        accept, self._accept = self._accept, None
        if accept is None:
            return
        if take:
            accept(self.toPlainText())
        _discard(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        held = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() == Qt.Key.Key_Escape or (event.key() in _COMMIT and held):
            self.close_field(take=True)
        else:
            super().keyPressEvent(event)
        event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self.close_field(take=True)


def _discard(field: QWidget) -> None:
    """Remove a field, and return the keyboard to its parent."""
    below = field.parentWidget()
    if below is not None and field.hasFocus():
        below.setFocus()
    field.deleteLater()
    field.hide()


def _scaled(zoom: float) -> QFont:
    used = font(BODY)
    used.setPixelSize(max(scaled(BODY), round(BODY * zoom)))
    return used
