"""The dialog of the start after a crash: what was not saved, to recover or to discard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.panels import labels
from app.services.plain_text import tooltip

if TYPE_CHECKING:
    from app.services.journal import Entry

_ENTRY = Qt.ItemDataRole.UserRole
_Role = QDialogButtonBox.ButtonRole


class Recovery(QDialog):
    """Lists entries; each goes from the list once it is recovered or discarded.

    Closed before that, the rest stays in the journal and is offered again.
    """

    recovered = Signal(object)
    """An Entry to open."""
    discarded = Signal(object)
    """An Entry that is not wanted."""

    def __init__(self, entries: Sequence[Entry], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Recover unsaved diagrams"))
        self.list = self._filled(entries)
        buttons = QDialogButtonBox(self)
        self.recover_button = buttons.addButton(self.tr("&Recover"), _Role.AcceptRole)
        self.discard_button = buttons.addButton(self.tr("&Discard"), _Role.DestructiveRole)
        later = buttons.addButton(self.tr("&Later"), _Role.RejectRole)
        self.recover_button.clicked.connect(self._recover)
        self.discard_button.clicked.connect(self._discard)
        later.clicked.connect(self.reject)
        self.list.itemSelectionChanged.connect(self._enable)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addWidget(
            labels.body(
                self.tr("Gradwire ended before these were saved. What is recovered opens as it "
                        "was; undo leads back to the file.")
            )
        )  # fmt: skip
        column.addWidget(self.list)
        column.addWidget(buttons)
        self.resize(640, 320)
        self.list.selectAll()

    def _filled(self, entries: Sequence[Entry]) -> QTreeWidget:
        shown = QTreeWidget(self)
        shown.setAccessibleName(self.tr("Unsaved diagrams"))
        shown.setHeaderLabels([self.tr("Title"), self.tr("File"), self.tr("Last change")])
        shown.setRootIsDecorated(False)
        shown.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        shown.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        shown.header().setStretchLastSection(False)
        shown.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        for entry in entries:
            moment = QDateTime.fromMSecsSinceEpoch(round(1000 * entry.time.timestamp()))
            time = QLocale().toString(moment, QLocale.FormatType.ShortFormat)
            title = entry.diagram.title or self.tr("Untitled")
            item = QTreeWidgetItem([title, str(entry.path or self.tr("never saved")), time])
            item.setToolTip(1, tooltip(item.text(1)))
            item.setData(0, _ENTRY, entry)
            shown.addTopLevelItem(item)
        for section in (0, 2):
            shown.resizeColumnToContents(section)
        return shown

    def _recover(self) -> None:
        for entry in self._taken():
            self.recovered.emit(entry)
        self._end()

    def _discard(self) -> None:
        for entry in self._taken():
            self.discarded.emit(entry)
        self._end()

    def _taken(self) -> list[Entry]:
        """The selected entries, which leave the list."""
        items = self.list.selectedItems()
        for item in items:
            self.list.takeTopLevelItem(self.list.indexOfTopLevelItem(item))
        return [item.data(0, _ENTRY) for item in items]

    def _end(self) -> None:
        if self.list.topLevelItemCount() == 0:
            self.accept()

    def _enable(self) -> None:
        chosen = bool(self.list.selectedItems())
        self.recover_button.setEnabled(chosen)
        self.discard_button.setEnabled(chosen)
