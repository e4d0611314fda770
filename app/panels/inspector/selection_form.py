"""What the inspector shows of several blocks: links, their common parameters, their formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QStatusTipEvent
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.fields import ValueField, field_for
from gradwire.app.panels.inspector.inputs import QuietComboBox
from gradwire.app.panels.inspector.rows import let_drag, name_label
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
from gradwire.app.services.background import JobRunner, at_once
from gradwire.app.services.plain_text import tooltip
from gradwire.blocks.block import Block, Opaque
from gradwire.runtime.formulas import formula_of, python_of

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gradwire.runtime.diagram import Diagram

_MOST_LINKS = 50
"""Links to blocks that are shown at most."""
_MOST_WRITTEN = 400
"""Blocks that are written as text at most."""


class SelectionForm(QWidget):
    """Links to the selected blocks, the parameters that all have, and the text of the blocks."""

    committed = Signal(str, object)
    """A parameter, and its new value for all blocks as JSON data."""
    previewed = Signal(str, object)
    """A parameter, and its value while it is dragged; None takes the drag back."""
    blockRequested = Signal(str)

    def __init__(
        self, diagram: Diagram, page: str, names: list[str], runner: JobRunner = at_once
    ) -> None:
        super().__init__()
        self._diagram, self.page, self.names = diagram, page, names
        self.fields: dict[str, ValueField] = {}
        self.errors: dict[str, QLabel] = {}
        count = labels.body(self.tr("{0} blocks selected").format(len(names)))
        more = "" if len(names) <= _MOST_LINKS else " …"
        links = labels.rich(", ".join(map(labels.link, names[:_MOST_LINKS])) + more)
        links.linkActivated.connect(self.blockRequested)
        self.language = QuietComboBox()
        self.language.addItems([self.tr("Formula"), self.tr("Python")])
        self.language.setAccessibleName(self.tr("Language of the text"))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName(self.tr("The selected blocks as text"))
        self.copy = push_button(self, self.tr("Copy"), self._copy)
        parameters = make_column(None)
        self._add_parameters(parameters, runner)
        language = make_row(None, (self.language, 1), self.copy)
        parts = count, links, parameters, language, self.text, STRETCH
        make_column(self, *parts, margins=(12, 2, 12, 12))
        self.language.currentIndexChanged.connect(self._write)
        self.show_selection(diagram)

    def fits(self, diagram: Diagram, page: str, names: list[str]) -> bool:
        """Whether the form has the fields of these blocks."""
        if (page, names) != (self.page, self.names):
            return False
        return common_parameters(_blocks(diagram, page, names)).keys() == self.fields.keys()

    def show_selection(self, diagram: Diagram) -> None:
        """Show the same blocks of a changed diagram; a refused text stays in its field."""
        self._diagram = diagram
        blocks = _blocks(diagram, self.page, self.names)
        for name, field in self.fields.items():
            if self.errors[name].text():
                continue
            values = [getattr(block, name) for block in blocks]
            if all(value == values[0] for value in values):
                field.show_value(values[0])
            else:
                field.show_mixed()
        self._write()

    def show_error(self, parameter: str, reason: str) -> None:
        """Show under a field why its value was refused; an empty reason clears the error."""
        labels.show_or_hide(self.errors[parameter], reason)

    def _add_parameters(self, column: QVBoxLayout, runner: JobRunner) -> None:
        parameters = common_parameters(_blocks(self._diagram, self.page, self.names))
        if not parameters:
            column.addWidget(labels.caption(self.tr("The blocks have no parameter in common.")))
            return
        column.addWidget(labels.heading(self.tr("Common parameters")))
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        column.addLayout(grid)
        for name, info in parameters.items():
            self._add_field(grid, name, field_for(info.annotation, runner))
            if info.description:
                self.fields[name].setToolTip(tooltip(info.description))

    def _add_field(self, grid: QGridLayout, name: str, field: ValueField) -> None:
        self.fields[name], self.errors[name] = field, labels.error()
        label, row = name_label(name.replace("_", " "), field), grid.rowCount()
        grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(field, row, 1)
        grid.addWidget(self.errors[name], row + 1, 1)
        let_drag(label, field, lambda value: self.previewed.emit(name, value))
        field.committed.connect(lambda value: self.committed.emit(name, value))
        field.failed.connect(lambda reason: self.show_error(name, reason))
        field.draftChanged.connect(lambda text: self.show_error(name, ""))

    def _write(self) -> None:
        is_short = len(self.names) <= _MOST_WRITTEN
        self.copy.setEnabled(is_short)
        if not is_short:
            self.text.setPlainText(self.tr("Too many blocks are selected to be written as text."))
            return
        write = python_of if self.language.currentIndex() else formula_of
        self.text.setPlainText(write(self._diagram, self.page, self.names))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
        QApplication.sendEvent(self, QStatusTipEvent(self.tr("Copied.")))


def common_parameters(blocks: list[Block]) -> dict[str, FieldInfo]:
    """The parameters of the same name and type that all blocks have, in the order of the first."""
    if not blocks or any(isinstance(block, Opaque) for block in blocks):
        return {}
    kinds = [type(block).parameters() for block in {type(one): one for one in blocks}.values()]
    return {
        name: info
        for name, info in kinds[0].items()
        if all(name in kind and kind[name].annotation == info.annotation for kind in kinds)
    }


def _blocks(diagram: Diagram, page: str, names: list[str]) -> list[Block]:
    return [diagram.pages[page].blocks[name] for name in names]
