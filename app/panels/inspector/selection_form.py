"""What the inspector shows of several blocks: links to them, and their formula or Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.panels import labels
from runtime.formulas.writing import formula_of, python_of

if TYPE_CHECKING:
    from runtime.diagram import Diagram

_MOST_LINKS = 50
"""Links to blocks that are shown at most."""
_MOST_WRITTEN = 400
"""Blocks that are written as text at most."""


class SelectionForm(QWidget):
    """Links to the selected blocks, and the text that computes the same."""

    blockRequested = Signal(str)

    def __init__(self, diagram: Diagram, page: str, names: list[str]) -> None:
        super().__init__()
        self._diagram, self._page, self.names = diagram, page, names
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 2, 12, 12)
        column.addWidget(labels.body(self.tr("{0} blocks selected").format(len(names))))
        more = "" if len(names) <= _MOST_LINKS else " …"
        links = labels.rich(", ".join(map(labels.link, names[:_MOST_LINKS])) + more)
        links.linkActivated.connect(self.blockRequested)
        column.addWidget(links)
        column.addWidget(labels.caption(self.tr("Select a single block to edit its parameters.")))
        self.language = QComboBox()
        self.language.addItems([self.tr("Formula"), self.tr("Python")])
        self.language.setAccessibleName(self.tr("Language of the text"))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.text.setAccessibleName(self.tr("The selected blocks as text"))
        self.copy = QPushButton(self.tr("Copy"))
        self.copy.clicked.connect(self._copy)
        row = QHBoxLayout()
        row.addWidget(self.language, 1)
        row.addWidget(self.copy)
        column.addLayout(row)
        column.addWidget(self.text)
        column.addStretch(1)
        self.language.currentIndexChanged.connect(self._write)
        self._write()

    def show_selection(self, diagram: Diagram, page: str) -> None:
        """The same blocks of a changed diagram."""
        self._diagram, self._page = diagram, page
        self._write()

    def _write(self) -> None:
        is_short = len(self.names) <= _MOST_WRITTEN
        self.copy.setEnabled(is_short)
        if not is_short:
            self.text.setPlainText(self.tr("Too many blocks are selected to be written as text."))
            return
        write = python_of if self.language.currentIndex() else formula_of
        self.text.setPlainText(write(self._diagram, self._page, self.names))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
