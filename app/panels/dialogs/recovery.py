"""The dialog after a crash: unsaved diagrams to recover or discard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QDateTime, QLocale, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialogButtonBox,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from gradwire.app.services.journal import JournalEntry

_ENTRY = Qt.ItemDataRole.UserRole
_Role = QDialogButtonBox.ButtonRole


class Recovery(Dialog):
    """Lists entries; each is removed from the list when it is recovered or discarded.

    Entries that remain when it is closed stay in the journal and are offered again.
    """

    recovered = Signal(object)
    """An Entry to recover."""
    discarded = Signal(object)
    """An Entry to discard."""

    def __init__(self, entries: Sequence[JournalEntry], parent: QWidget) -> None:
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
        about = labels.body(
            self.tr("Gradwire closed before these diagrams were saved. Recover them to go "
                    "on where you left off; undo returns to the saved file.")
        )  # fmt: skip
        make_column(self, about, self.list, buttons, margins=None, spacing=12)
        self.resize(640, 320)
        self.list.selectAll()

    def _filled(self, entries: Sequence[JournalEntry]) -> QTreeWidget:
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
        for entry in self._take_selected():
            self.recovered.emit(entry)
        self._close_if_empty()

    def _discard(self) -> None:
        for entry in self._take_selected():
            self.discarded.emit(entry)
        self._close_if_empty()

    def _take_selected(self) -> list[JournalEntry]:
        """Remove the selected entries from the list and return them."""
        items = self.list.selectedItems()
        for item in items:
            self.list.takeTopLevelItem(self.list.indexOfTopLevelItem(item))
        return [item.data(0, _ENTRY) for item in items]

    def _close_if_empty(self) -> None:
        if self.list.topLevelItemCount() == 0:
            self.accept()

    def _enable(self) -> None:
        chosen = bool(self.list.selectedItems())
        self.recover_button.setEnabled(chosen)
        self.discard_button.setEnabled(chosen)
