"""Editing a name, number, expression or note in place: one field of a canvas at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from gradwire.app.canvas.input import changes
from gradwire.app.canvas.paint.blocks.numbers import number_box, only_number
from gradwire.app.services.theme import BODY, font, scaled
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.formulas.content import content_of
from gradwire.blocks.formulas.notation import one_line
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram import FOOT, HEADER, ROW, SetParameters

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.document.numbers import NumberCell

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


class InlineEditor:
    """Opens and closes the field of one canvas."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._field: LineEdit | NoteEdit | None = None

    def close(self) -> None:
        """Close the field if one is open; its text is dropped."""
        field, self._field = self._field, None
        if field is not None:
            field.close_field(take=False)

    def edit_name(self, block: str) -> None:
        """Open a field on a face for the name of the block."""
        context = self._context
        if block not in context.view.scene.index:
            return
        self.close()
        zoom = context.view.camera.zoom
        box = QRectF(context.places.block_rect(block))
        box.setHeight(HEADER * zoom)
        label = editor.tr("Name of block {0}").format(block)
        self._field = LineEdit(
            context.widget, block, label, box, zoom, lambda new: self._rename(block, new)
        )

    def edit_at(self, block: str, at: QPointF) -> None:
        """Edit what is at a point of a face: below the name the expression, or the only number, or
        else the name.
        """
        view = self._context.view
        top = self._context.places.block_rect(block).top()
        is_formula = isinstance(view.scene.page.blocks[block], Formula)
        number = only_number(view, view.scene.index[block])
        is_below = at.y() > top + HEADER * view.camera.zoom
        if is_formula and is_below:
            self.edit_expression(block)
        elif number is not None and is_below:
            self.edit_number(number)
        else:
            self.edit_name(block)

    def edit_number(self, number: NumberCell, text: str = "") -> None:
        """Open a field on a face for a number, with ``text`` typed already if there is any."""
        context = self._context
        box = number_box(context.view, number)
        if box is None:
            return
        self.close()
        before = str(Tensor(context.numbers.value(number)).to_json())
        label = editor.tr("Number of block {0}").format(number.block)
        self._field = LineEdit(
            context.widget,
            before,
            label,
            box,
            context.view.camera.zoom,
            lambda new: new == before or self._set_number(number, new),
        )
        if text:
            self._field.setText(text)

    def edit_expression(self, block: str) -> None:
        """Open a field on the face of a Formula block for its expression, in one line."""
        context = self._context
        formula = context.view.scene.page.blocks.get(block)
        if not isinstance(formula, Formula):
            return
        self.close()
        zoom, before = context.view.camera.zoom, one_line(formula.expression)
        box = QRectF(context.places.block_rect(block))
        box.setTop(box.bottom() - (ROW + FOOT) * zoom)
        label = editor.tr("Expression of block {0}").format(block)
        self._field = LineEdit(
            context.widget,
            before,
            label,
            box,
            zoom,
            lambda new: new == before or self._set_expression(block, new),
        )
        self._field.widen()

    def edit_note(self, name: str) -> None:
        """Open a field in place of a note for its text."""
        self.close()
        context, view = self._context, self._context.view
        if view.annotations.hides_notes and not view.scene.page.notes[name].frame:
            return
        note, zoom = view.scene.page.notes[name], view.camera.zoom
        left, top = view.camera.to_widget(np.array(note.at)).tolist()
        box = QRectF(left, top, note.width * zoom, note.height * zoom)

        def accept(text: str) -> None:
            context.request(changes.rewording(context.view, name, text))

        self._field = NoteEdit(context.widget, note.text, box, zoom, accept)

    def _set_number(self, number: NumberCell, text: str) -> bool:
        context = self._context
        try:
            change = context.numbers.typed(number, text)
        except ValueError:
            context.hint(editor.tr("{0} is not a number that fits here.").format(text))
            return False
        self._field = None
        context.request(change)
        return True

    def _set_expression(self, block: str, text: str) -> bool:
        context, field = self._context, self._field
        try:
            content_of(text)
        except FormulaError as error:
            context.hint(str(error))
            if isinstance(field, LineEdit):
                field.fault = error.offset
            return False
        self._field = None
        scene = context.view.scene
        context.request(SetParameters(block, {"expression": text}, page=scene.page_name))
        return True

    def _rename(self, old: str, new: str) -> bool:
        context = self._context
        try:
            change = changes.renaming(context.view, old, new)
        except ChangeError as error:
            context.hint(str(error))
            return False
        chosen = context.view.selection.blocks
        self._field = None
        context.request(change)
        if old in chosen:
            context.selection.select((chosen - {old}) | {new})
        return True
