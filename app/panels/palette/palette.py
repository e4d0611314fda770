"""The palette: pages, and blocks by family, to search and drag onto the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget

from gradwire.app.canvas.paint.blocks.rows import (
    KIND_ROLE,
    LAYER_ROLE,
    LIBRARY_ROLE,
    PAGE_ROLE,
    STAR_ROLE,
    BlockRows,
    Stars,
    is_star,
)
from gradwire.app.panels.layouts import line_edit, make_column
from gradwire.app.panels.menu import Menu
from gradwire.app.panels.palette.model import PaletteFilter, PaletteModel
from gradwire.app.services.theme import follow_theme
from gradwire.blocks.registry import library_modules

if TYPE_CHECKING:
    from gradwire.app.services.favourites import Favourites
    from gradwire.app.services.theme import Theme
    from gradwire.blocks.registry import Registry
    from gradwire.runtime.diagram import Diagram

_RESTS = 1000
"""Milliseconds without a new result after which what is out of view is imported."""


class Palette(QWidget):
    """A search line above a tree of blocks. Drag, double-click or Enter adds a block."""

    blockChosen = Signal(str)
    """Type name of a block to add to the page."""
    pageChosen = Signal(str)
    """Name of a page to use on the current page."""
    pageOpened = Signal(str)
    """Name of a page to show."""
    pageRenamed = Signal(str, str)
    """A page's old name and its new one."""
    pageCopied = Signal(str)
    """Name of a page to copy."""
    libraryChosen = Signal(str)
    """Name of a page of the library to insert."""
    pageRemoved = Signal(str)
    """Name of a page to remove."""

    def __init__(
        self, registry: Registry, favourites: Favourites, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._favourites = favourites
        self.search_line = line_edit(self, self.tr("Search blocks"), clears=True)
        self.search_line.textChanged.connect(self._filter_rows)
        self.search_line.installEventFilter(self)
        self.tree = QTreeView(self)
        self._rows = BlockRows(self.tree)
        self._model = PaletteModel(registry, favourites, self)
        # After the editor has closed, since the rows are rebuilt when the diagram changes.
        queued = Qt.ConnectionType.QueuedConnection
        self._model.pageRenamed.connect(self.pageRenamed, queued)
        self._filter = PaletteFilter(self._model, self)
        self._set_up_tree()
        favourites.changed.connect(self._show_favourites)
        self._modules = library_modules()
        """What the classes of all rows are in, which a search reads; imported one by one."""
        self._ahead = QTimer(self, interval=0)
        self._ahead.timeout.connect(self._import_next)
        self._rest = QTimer(self, singleShot=True, interval=_RESTS)
        self._rest.timeout.connect(self._ahead.start)
        make_column(self, self.search_line, self.tree, margins=(8, 8, 8, 0), spacing=8)
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._rows.set_theme(theme)
        self.tree.viewport().update()

    def set_diagram(self, diagram: Diagram, page: str) -> None:
        """List the pages of a diagram, and whether they can be used on ``page``."""
        chosen = self.tree.currentIndex().data(PAGE_ROLE)
        if self._model.set_diagram(diagram, page):
            pages = self._filter.mapFromSource(self._model.pages())
            self.tree.expand(pages)
            rows = range(self._filter.rowCount(pages)) if chosen is not None else ()
            for index in (self._filter.index(row, 0, pages) for row in rows):
                if index.data(PAGE_ROLE) == chosen:
                    self.tree.setCurrentIndex(index)

    def set_library(self, rows: list[tuple[str, bool]]) -> None:
        """List the pages of the library, and whether the diagram's of that name differs."""
        if self._model.set_library(rows):
            self.tree.expand(self._filter.mapFromSource(self._model.library()))

    def await_rest(self) -> None:
        """Import all types of blocks for searches, here and elsewhere, once the window rests."""
        self._rest.start()

    def focus_search(self) -> None:
        """Focus the search line and select its text."""
        self.search_line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search_line.selectAll()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._ahead.start()
        super().enterEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self._ahead.start()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if is_star(event):
                self._star(self.tree.currentIndex())
                return True
            if watched is self.tree and self._page_key(event):
                return True
            if watched is self.search_line:
                return self._search_key(event)
        return super().eventFilter(watched, event)

    def _import_next(self) -> None:
        """Import a module ahead of a search; ends with the last."""
        if next(self._modules, None) is None:
            self._ahead.stop()

    def _page_key(self, event: QKeyEvent) -> bool:
        """Handle a key for the current page of the list; False if it is none."""
        page = self.tree.currentIndex().data(PAGE_ROLE)
        control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if page is None:
            return False
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and control:
            self.pageOpened.emit(page)
        elif event.key() == Qt.Key.Key_Delete:
            self.pageRemoved.emit(page)
        else:
            return False
        return True

    def _show_menu(self, at: QPoint) -> None:
        """Show the context menu of a row."""
        index = self.tree.indexAt(at)
        if not index.data(KIND_ROLE):
            return
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Add to the Page"), lambda: self._choose(index))
        page = index.data(PAGE_ROLE)
        if page is None and index.data(STAR_ROLE) is not None:
            starred = index.data(STAR_ROLE)
            text = self.tr("Remove from &Favourites") if starred else self.tr("Add to &Favourites")
            menu.addAction(text, lambda: self._star(index))
        elif page is not None:
            menu.addAction(self.tr("&Open"), lambda: self.pageOpened.emit(page))
            menu.addAction(self.tr("&Rename"), lambda: self.tree.edit(index))
            menu.addAction(self.tr("&Copy"), lambda: self.pageCopied.emit(page))
            menu.addAction(self.tr("Re&move"), lambda: self.pageRemoved.emit(page))
        menu.popup(self.tree.viewport().mapToGlobal(at))

    def _search_key(self, event: QKeyEvent) -> bool:
        """Handle a key of the search line that acts on the list; False if it is none."""
        if event.key() != Qt.Key.Key_Delete and self._page_key(event):
            return True
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
        tree.setModel(self._filter)
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
        tree.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._show_menu)
        Stars(tree).clicked.connect(self._star)

    def _filter_rows(self, text: str) -> None:
        self._filter.set_text(text)
        self.tree.expandAll()
        family = self._filter.index(0, 0)
        first = self._filter.index(0, 0, family)
        self.tree.setCurrentIndex(first if text.strip() else QModelIndex())
        self.tree.scrollToTop()

    def _choose(self, index: QModelIndex) -> None:
        if name := index.data(LIBRARY_ROLE):
            self.libraryChosen.emit(name)
        elif page := index.data(PAGE_ROLE):
            self.pageChosen.emit(page)
        elif kind := index.data(KIND_ROLE):
            self.blockChosen.emit(index.data(LAYER_ROLE) or kind)

    def _star(self, index: QModelIndex) -> None:
        if index.data(STAR_ROLE) is not None and (kind := index.data(KIND_ROLE)):
            self._favourites.toggle(kind)

    def _show_favourites(self) -> None:
        if not self.search_line.text().strip():
            self.tree.expand(self._filter.index(0, 0))
        self.tree.viewport().update()

    def _fold(self, index: QModelIndex) -> None:
        if index.data(KIND_ROLE) is None:
            self.tree.setExpanded(index, not self.tree.isExpanded(index))
