"""The doctor's findings about the whole diagram, by cause: culprits, and below them victims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QFrame, QHeaderView, QTreeWidget, QTreeWidgetItem

from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import LIGHT, Theme, follow_theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.runtime.flow import Cause, Victim

    _Row: TypeAlias = tuple[str, str, tuple[Victim, ...]]

_VICTIM = Qt.ItemDataRole.UserRole
"""Role of the key of a victim."""


class FindingsTree(QTreeWidget):
    """A row per culprit with its victims below; a click or Enter requests the place of a row.

    Rows have a mark with the name of the culprit, and a sentence.
    """

    causeRequested = Signal(object)
    """The Cause."""
    victimRequested = Signal(str)
    """Key of a wire or variable, or path of a block."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.causes: tuple[Cause, ...] = ()
        self._rows: list[_Row] = []
        self._theme = LIGHT
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        self.setAccessibleName(self.tr("Doctor"))
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        self.clicked.connect(self._request)
        self.activated.connect(self._request)
        follow_theme(self)

    def show_causes(self, causes: Sequence[Cause], placeholder: str = "") -> None:
        """Show causes, or ``placeholder`` if there are none.

        Rows that would be the same stay, so that a press on one is not lost and an open one not
        closed when another run finds what the last one did.
        """
        before, self._rows = self._rows, [_row_of(cause) for cause in causes]
        self.causes = tuple(causes)
        if causes and self._rows == before:
            return
        self.clear()
        for name, sentence, victims in self._rows:
            row = _item(name, sentence)
            row.addChildren([_item(found.key, found.sentence, found.key) for found in victims])
            self.addTopLevelItem(row)
        if not causes and placeholder:
            self.addTopLevelItem(QTreeWidgetItem(["", placeholder]))
        self.set_theme(self._theme)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        for number, cause in enumerate(self.causes):
            colour = theme.error if cause.is_error else theme.warning
            if (row := self.topLevelItem(number)) is not None:
                row.setForeground(0, QBrush(QColor(colour)))

    def _request(self, index: QModelIndex) -> None:
        key = index.siblingAtColumn(0).data(_VICTIM)
        if key is not None:
            self.victimRequested.emit(key)
        elif self.causes:
            self.causeRequested.emit(self.causes[index.row()])


def _row_of(cause: Cause) -> _Row:
    return f"{'✕' if cause.is_error else '△'} {cause.culprit}", cause.sentence, cause.victims


def _item(name: str, sentence: str, victim: str | None = None) -> QTreeWidgetItem:
    row = QTreeWidgetItem([name, sentence])
    row.setData(0, _VICTIM, victim)
    row.setToolTip(1, tooltip(sentence))
    row.setData(0, Qt.ItemDataRole.AccessibleTextRole, f"{name}: {sentence}")
    row.setData(1, Qt.ItemDataRole.AccessibleTextRole, sentence)
    return row
