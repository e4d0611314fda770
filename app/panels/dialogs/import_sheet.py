"""How to import a model, asked before it is read; and what an import has to say afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QDialogButtonBox,
    QFormLayout,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QTableWidget,
    QTableWidgetItem,
)

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.plain_text import tooltip, window_title
from gradwire.app.services.translation import editor
from gradwire.runtime.interchange import ImportOptions, parse_shape

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from gradwire.runtime.interchange import Imported, Remark, RemarkKind

_LINES = 3
"""Lines of the field for shapes."""


class ImportSheet(Dialog):
    """Chooses the options of an import; what is left empty is found in the model."""

    def __init__(self, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.path = path
        self.setWindowTitle(window_title(self.tr("Import {0}").format(path.name)))
        self.loss = QLineEdit(self)
        self.loss.setPlaceholderText(self.tr("the only output, if it is one number"))
        self.training = QCheckBox(self.tr("BatchNorm, Dropout and the like as in training"), self)
        self.shapes = QPlainTextEdit(self)
        self.shapes.setPlaceholderText(self.tr("x = 2, 3, 224, 224"))
        self.shapes.setTabChangesFocus(True)
        self.shapes.setFixedHeight(self.fontMetrics().lineSpacing() * _LINES + 14)
        self.mistake = labels.error()
        self._arrange()

    @property
    def options(self) -> ImportOptions:
        """The chosen options; raises ValueError where shapes are none."""
        lines = filter(str.strip, self.shapes.toPlainText().splitlines())
        return ImportOptions(
            dict(map(parse_shape, lines)), self.loss.text().strip(), self.training.isChecked()
        )

    def accept(self) -> None:
        """Close the sheet, unless something on it is wrong."""
        try:
            _ = self.options
        except ValueError as error:
            labels.show_or_hide(self.mistake, self.tr("{0} is no shape.").format(error))
            self.shapes.setFocus()
            return
        super().accept()

    def _arrange(self) -> None:
        form = QFormLayout()
        for text, field in (
            (self.tr("&Loss"), self.loss),
            (self.tr("&Training"), self.training),
            (self.tr("&Shapes of inputs"), self.shapes),
        ):
            form.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        start = buttons.addButton(self.tr("&Import"), QDialogButtonBox.ButtonRole.AcceptRole)
        start.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        text = self.tr("Shapes are needed only where the model leaves lengths open.")
        make_column(self, form, self.mistake, labels.caption(text), buttons, margins=None)
        self.resize(460, 0)


_PLACE = Qt.ItemDataRole.UserRole
_WIDTH, _AROUND, _HIGHEST, _AWAY = 800, 150, 420, 36
"""Width, height without the remarks, largest height, and distance from the window's corner, px."""
_WIDEST = 170
"""Width that a column may take at first, px."""


_KINDS: dict[RemarkKind, str] = {
    "cut": editor.noop("stops gradient"),
    "lost": editor.noop("lost"),
    "specialised": editor.noop("for this input"),
    "unrolled": editor.noop("unrolled"),
    "checked": editor.noop("compared"),
    "note": editor.noop("note"),
}


def kind_text(kind: RemarkKind) -> str:
    """What a remark is about, in a few words."""
    return editor.tr(_KINDS[kind])


class ImportReport(Dialog):
    """Stays open beside the window; a click on a remark shows its block."""

    blockRequested = Signal(str)
    """The path of a block."""

    def __init__(self, name: str, imported: Imported, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(window_title(self.tr("Imported from {0}").format(name)))
        self.summary = labels.body(self._summary(imported))
        self.table = self._table(imported.remarks)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        make_column(self, self.summary, (self.table, 1), buttons, margins=None)
        self._stand_aside(parent)

    def _stand_aside(self, parent: QWidget | None) -> None:
        """Be as high as the remarks, at most, at the lower right of the window."""
        self.resize(_WIDTH, _HIGHEST)
        self.ensurePolished()
        rows = self.table.verticalHeader().length()
        self.resize(_WIDTH, min(rows + _AROUND, _HIGHEST))
        if parent is not None:
            corner = parent.mapToGlobal(parent.rect().bottomRight())
            self.move(corner - QPoint(self.width() + _AWAY, self.height() + 2 * _AWAY))

    def _summary(self, imported: Imported) -> str:
        pages = imported.diagram.pages.values()
        losses = [name for name, block in imported.diagram.main.blocks.items() if block.head]
        return self.tr("Blocks: {0}. Pages: {1}. Parameters: {2}. Loss: {3}.").format(
            f"{sum(len(page.blocks) for page in pages):,}",
            f"{len(pages):,}",
            f"{len(imported.parameters):,}",
            ", ".join(losses) or self.tr("none"),
        )

    def _table(self, remarks: tuple[Remark, ...]) -> QTableWidget:
        table = QTableWidget(len(remarks), 4, self)
        table.setHorizontalHeaderLabels(
            [self.tr("About"), self.tr("Block"), self.tr("Written at"), self.tr("What")]
        )
        table.setAccessibleName(self.tr("Remarks"))
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.setTabKeyNavigation(False)  # or Tab would not lead out of it
        table.verticalHeader().hide()
        rows = [(kind_text(each.kind), each.block, each.written, each.text) for each in remarks]
        for row, texts in enumerate(rows):
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                item.setData(_PLACE, remarks[row].block)
                item.setToolTip(tooltip(text))
                table.setItem(row, column, item)
        header = table.horizontalHeader()
        for column in range(3):
            table.resizeColumnToContents(column)
            table.setColumnWidth(column, min(table.columnWidth(column), _WIDEST))
        for column in (1, 2):
            table.setColumnHidden(column, not any(texts[column] for texts in rows))
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        table.setVisible(bool(remarks))
        table.itemClicked.connect(self._request)
        table.itemActivated.connect(self._request)
        return table

    def _request(self, item: QTableWidgetItem) -> None:
        if path := item.data(_PLACE):
            self.blockRequested.emit(path)
