"""The palette: every block of the registry by family, to search and to drag onto the canvas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QEvent,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QLineEdit,
    QToolTip,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from app.canvas import BLOCK_MIME
from app.canvas.choices import matches, rank
from app.panels import formula
from app.panels.rows import BLOCK_ROLE, BlockRows

if TYPE_CHECKING:
    from app.theme import Theme
    from blocks.block import Block
    from blocks.registry import Registry

_Index = QModelIndex | QPersistentModelIndex


class PaletteModel(QStandardItemModel):
    """Families with their block classes; a block can be dragged, a family can't."""

    def __init__(self, registry: Registry, parent: QObject | None = None) -> None:
        super().__init__(parent)
        for family, classes in registry.families().items():
            head = QStandardItem(family.replace("_", " "))
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.appendRows([_row(cls) for cls in classes])
            self.appendRow(head)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole:
            cls = super().data(index, BLOCK_ROLE)
            return tooltip(cls) if cls else None
        return super().data(index, role)

    def mimeTypes(self) -> list[str]:
        return [BLOCK_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        mime = QMimeData()
        for index in indexes:
            if cls := self.data(index, BLOCK_ROLE):
                mime.setData(BLOCK_MIME, cls.type_name().encode())
        return mime


class Search(QSortFilterProxyModel):
    """Blocks whose name, family or summary has every word that is looked for, best name first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self.setRecursiveFilteringEnabled(True)
        self.setDynamicSortFilter(True)

    def look_for(self, text: str) -> None:
        """Keep what matches ``text``; an empty text keeps everything, in library order."""
        self._words = text.casefold().split()
        self.invalidate()
        self.sort(0 if self._words else -1)

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        cls = self._block(self.sourceModel().index(row, 0, parent))
        return cls is not None and all(matches(word, cls, cls.type_name()) for word in self._words)

    def lessThan(self, left: _Index, right: _Index) -> bool:
        return self._rank(left) < self._rank(right)

    def _rank(self, index: _Index) -> tuple[int, int]:
        """How well the row matches (0 best), then where it stands in the library."""
        cls = self._block(index)
        if cls is None:  # a family is as good as the best of its blocks
            model = self.sourceModel()
            rows = range(model.rowCount(index))
            inner = (self._rank(model.index(row, 0, index))[0] for row in rows)
            return min(inner, default=9), index.row()
        return rank(self._words, cls.type_name()), index.row()

    def _block(self, index: _Index) -> type[Block] | None:
        found: type[Block] | None = index.data(BLOCK_ROLE)
        return found


class Palette(QWidget):
    """Search line over the tree. Drag a block out, double-click it or press Enter on it."""

    blockChosen = Signal(str)
    """Type name of a block to add where the canvas is looking."""

    def __init__(self, registry: Registry, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search_line = QLineEdit(self)
        self.search_line.setPlaceholderText(self.tr("Search blocks"))
        self.search_line.setAccessibleName(self.tr("Search blocks"))
        self.search_line.setClearButtonEnabled(True)
        self.search_line.textChanged.connect(self._look_for)
        self.search_line.installEventFilter(self)
        self.tree = QTreeView(self)
        self._rows = BlockRows(self.tree)
        self._search = Search(self)
        self._search.setSourceModel(PaletteModel(registry, self))
        self._set_up_tree()
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 0)
        column.setSpacing(8)
        column.addWidget(self.search_line)
        column.addWidget(self.tree)

    def set_theme(self, theme: Theme) -> None:
        """Take the tints of ``theme``."""
        self._rows.set_theme(theme)
        self.tree.viewport().update()

    def focus_search(self) -> None:
        """Put the cursor into the search line, its text selected."""
        self.search_line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search_line.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
                self.tree.setFocus()
                self.tree.event(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._choose(self.tree.currentIndex())
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.search_line.clear()
                return True
        return super().eventFilter(watched, event)

    def _set_up_tree(self) -> None:
        tree = self.tree
        tree.setModel(self._search)
        tree.setItemDelegate(self._rows)
        tree.setHeaderHidden(True)
        tree.setAccessibleName(self.tr("Blocks"))
        tree.setFrameShape(tree.Shape.NoFrame)
        tree.setIndentation(0)
        tree.setDragEnabled(True)
        tree.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        tree.setExpandsOnDoubleClick(False)
        tree.expandAll()
        tree.clicked.connect(self._fold)
        tree.activated.connect(self._choose)

    def _look_for(self, text: str) -> None:
        self._search.look_for(text)
        self.tree.expandAll()
        family = self._search.index(0, 0)
        first = self._search.index(0, 0, family)
        self.tree.setCurrentIndex(first if text.strip() else QModelIndex())
        self.tree.scrollToTop()

    def _choose(self, index: QModelIndex) -> None:
        if cls := index.data(BLOCK_ROLE):
            self.blockChosen.emit(cls.type_name())

    def _fold(self, index: QModelIndex) -> None:
        if index.data(BLOCK_ROLE) is None:
            self.tree.setExpanded(index, not self.tree.isExpanded(index))


def tooltip(cls: type[Block]) -> str:
    """Summary of the block, over its formula."""
    parts = [f"<p><b>{cls.type_name()}</b> — {_plain(cls.summary())}</p>"]
    if cls.formula:
        picture = formula.data_uri(cls.formula, QToolTip.palette().toolTipText().color().name())
        shown = f'<img src="{picture}">' if picture else f"<code>{_plain(cls.formula)}</code>"
        parts.append(f"<p>{shown}</p>")
    return "".join(parts)


def _row(cls: type[Block]) -> QStandardItem:
    item = QStandardItem(cls.type_name())
    item.setData(cls, BLOCK_ROLE)
    item.setFlags(
        Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
    )
    return item


def _plain(text: str) -> str:
    """Docstring text as HTML, its markup gone."""
    text = text.replace("``", "")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
