"""The palette: every block of the registry by family, to search and to drag onto the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QTreeView, QVBoxLayout, QWidget

from app.panels.rows import BLOCK_ROLE, BlockRows, Stars, is_star
from app.panels.stock import Search, Stock

if TYPE_CHECKING:
    from app.favourites import Favourites
    from app.theme import Theme
    from blocks.registry import Registry


class Palette(QWidget):
    """Search line over the tree. Drag a block out, double-click it or press Enter on it."""

    blockChosen = Signal(str)
    """Type name of a block to add where the canvas is looking."""

    def __init__(
        self, registry: Registry, favourites: Favourites, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._favourites = favourites
        self.search_line = QLineEdit(self)
        self.search_line.setPlaceholderText(self.tr("Search blocks"))
        self.search_line.setAccessibleName(self.tr("Search blocks"))
        self.search_line.setClearButtonEnabled(True)
        self.search_line.textChanged.connect(self._look_for)
        self.search_line.installEventFilter(self)
        self.tree = QTreeView(self)
        self._rows = BlockRows(self.tree)
        self._search = Search(Stock(registry, favourites, self), favourites, self)
        self._set_up_tree()
        favourites.changed.connect(self._show_favourites)
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
            if is_star(event):
                self._star(self.tree.currentIndex())
                return True
            if watched is self.search_line:
                return self._search_key(event)
        return super().eventFilter(watched, event)

    def _search_key(self, event: QKeyEvent) -> bool:
        """Whether a key in the search line was for the list."""
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self.tree.setFocus()
            self.tree.event(event)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.tree.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            self.search_line.clear()
        else:
            return False
        return True

    def _set_up_tree(self) -> None:
        tree = self.tree
        tree.setModel(self._search)
        tree.setItemDelegate(self._rows)
        tree.setHeaderHidden(True)
        tree.setAccessibleName(self.tr("Blocks"))
        tree.setFrameShape(tree.Shape.NoFrame)
        tree.setIndentation(0)
        tree.setMouseTracking(True)
        tree.setDragEnabled(True)
        tree.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        tree.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        tree.setExpandsOnDoubleClick(False)
        tree.expandAll()
        tree.clicked.connect(self._fold)
        tree.activated.connect(self._choose)
        tree.installEventFilter(self)
        Stars(tree).clicked.connect(self._star)

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

    def _star(self, index: QModelIndex) -> None:
        if cls := index.data(BLOCK_ROLE):
            self._favourites.toggle(cls.type_name())

    def _show_favourites(self) -> None:
        if not self.search_line.text().strip():
            self.tree.expand(self._search.index(0, 0))
        self.tree.viewport().update()

    def _fold(self, index: QModelIndex) -> None:
        if index.data(BLOCK_ROLE) is None:
            self.tree.setExpanded(index, not self.tree.isExpanded(index))
