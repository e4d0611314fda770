"""The form of the diagram itself, shown while no block is selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.training.form import TrainingForm
from gradwire.app.panels.layouts import line_edit, make_column
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import Diagram, SetTitle
from gradwire.runtime.flow import EXAMPLE, parse_contracts

if TYPE_CHECKING:
    from PySide6.QtGui import QFocusEvent


class DiagramForm(QWidget):
    """Title, description, contracts and training of the diagram.

    Invalid contracts stay in their field with the error under it.
    """

    committed = Signal(object)
    """A SetTitle or a SetTraining."""
    draftChanged = Signal(object)
    """The text of invalid contracts; None once they are valid."""

    def __init__(self, diagram: Diagram, draft: str | None = None) -> None:
        super().__init__()
        self._diagram = diagram
        self._draft = draft
        name = self.tr("Title of the diagram")
        self.title_line = line_edit(self, self.tr("Untitled"), name)
        self.title_line.editingFinished.connect(self._commit)
        self.text = _Text(self)
        self.text.setPlaceholderText(self.tr("What it shows, and where it comes from"))
        self.text.setAccessibleName(self.tr("Description of the diagram"))
        self.text.left.connect(self._commit)
        self.contracts = _Text(self)
        self.contracts.setPlaceholderText(EXAMPLE)
        self.contracts.setAccessibleName(self.tr("Contracts of the diagram"))
        self.contracts.setToolTip(
            self.tr("What gradients must and must not do, one per line; the doctor checks them.")
        )
        self.contracts.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.contracts.left.connect(self._commit_contracts)
        self._error = labels.error()
        self.training = TrainingForm(diagram)
        self.training.committed.connect(self.committed)
        make_column(
            self,
            labels.heading(self.tr("Title")), self.title_line,
            labels.heading(self.tr("Description")), (self.text, 3),
            labels.heading(self.tr("Contracts")), (self.contracts, 1), self._error,
            labels.heading(self.tr("Training")), self.training,
            labels.caption(self.tr("Select a block to see and edit its parameters.")),
            margins=(12, 2, 12, 12), spacing=4,
        )  # fmt: skip
        self.show_diagram(diagram)
        if draft is not None:
            self.contracts.setPlainText(draft)
            self._show_fault(draft)

    def show_diagram(self, diagram: Diagram) -> None:
        """Show another diagram; text being edited stays if its original is the same."""
        if diagram.title != self._diagram.title or not self.title_line.isModified():
            self.title_line.setText(diagram.title)
            self.title_line.setCursorPosition(0)
        self.text.show_text(diagram.description)
        if diagram.contracts != self._diagram.contracts:
            self._keep(None)
        if self._draft is None:
            self.contracts.show_text("\n".join(diagram.contracts))
        self.training.show_diagram(diagram)
        self._diagram = diagram

    def _commit(self) -> None:
        title, text = self.title_line.text().strip(), self.text.toPlainText().strip()
        if (title, text) != (self._diagram.title, self._diagram.description):
            self.committed.emit(SetTitle(title, text))

    def _commit_contracts(self) -> None:
        text = self.contracts.toPlainText()
        lines = tuple(line.strip() for line in text.splitlines() if line.strip())
        self._keep(None if lines == self._diagram.contracts or not _fault(text) else text)
        if self._draft is None and lines != self._diagram.contracts:
            self.committed.emit(SetTitle(contracts=lines))

    def _keep(self, draft: str | None) -> None:
        if draft != self._draft:
            self._draft = draft
            self.draftChanged.emit(draft)
        self._show_fault(draft)

    def _show_fault(self, draft: str | None) -> None:
        labels.show_or_hide(self._error, _fault(draft or ""))


def _fault(text: str) -> str | None:
    """The error in a text of contracts, if any."""
    try:
        parse_contracts(text)
    except FileError as error:
        return str(error)
    return None


class _Text(QPlainTextEdit):
    """Several lines of text; emits ``left`` when it loses the focus, also by Tab."""

    left = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()  # the default would make the form scroll

    def show_text(self, text: str) -> None:
        """Show another text, unless this one is being edited."""
        if text != self.toPlainText() and not self.hasFocus():
            self.setPlainText(text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()
