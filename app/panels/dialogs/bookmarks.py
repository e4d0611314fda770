"""The list of bookmarks: go to one, rename, order and remove them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QPushButton

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from gradwire.runtime.diagram import View


class BookmarksDialog(Dialog):
    """A list beside its buttons. Enter goes, F2 renames, Delete removes, Alt+Up and Alt+Down move.

    It changes nothing itself: ``edited`` has the bookmarks as the user wants them.
    """

    chosen = Signal(object)
    """The View to go to."""
    edited = Signal(object, str)
    """All bookmarks, and the change in words."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Bookmarks"))
        self._views: tuple[View, ...] = ()
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.windowTitle())
        self.list.itemActivated.connect(self._go)
        self.list.itemChanged.connect(self._rename)
        self.list.currentRowChanged.connect(self._enable)
        self.empty = labels.plain(
            self.tr(
                "No bookmarks yet. View > Bookmarks > Bookmark View gives what is in view a name"
                " to come back to."
            ),
            self,
        )
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.buttons = [
            self._button(self.tr("Go There"), "", self._go),
            self._button(self.tr("Rename"), "F2", self._start_rename),
            self._button(self.tr("Remove"), "Del", self._remove),
            self._button(self.tr("Move Up"), "Alt+Up", partial(self._move, -1)),
            self._button(self.tr("Move Down"), "Alt+Down", partial(self._move, 1)),
        ]
        side = make_column(None, *self.buttons, STRETCH)
        make_row(self, (self.empty, 1), (self.list, 1), side, margins=None)
        self.resize(420, 300)
        self._enable()

    def show_views(self, views: tuple[View, ...]) -> None:
        """List bookmarks; the current row stays current."""
        self._views = views
        row = max(self.list.currentRow(), 0)
        with QSignalBlocker(self.list):
            self.list.clear()
            for view in views:
                item = QListWidgetItem(view.name, self.list)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
                item.setToolTip(tooltip(self.tr("On page {0}").format(view.page)))
            self.list.setCurrentRow(min(row, len(views) - 1))
        self._enable()

    def _button(self, text: str, keys: str, does: Callable[[], object]) -> QPushButton:
        made = push_button(self, text, does, takes_enter=False)
        if keys:
            made.setToolTip(QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText))
            action = QAction(text, self.list)
            action.setShortcut(QKeySequence(keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda checked=False: does())
            self.list.addAction(action)
        return made

    def _enable(self) -> None:
        self.empty.setVisible(not self._views)
        self.list.setVisible(bool(self._views))
        for button in self.buttons:
            button.setEnabled(self.list.currentRow() >= 0)

    def _current(self) -> View | None:
        row = self.list.currentRow()
        return self._views[row] if 0 <= row < len(self._views) else None

    def _go(self) -> None:
        if (view := self._current()) is not None:
            self.chosen.emit(view)

    def _start_rename(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.list.editItem(item)

    def _rename(self, item: QListWidgetItem) -> None:
        row, new = self.list.row(item), item.text().strip()
        old = self._views[row].name
        if new == old:
            item.setText(old)
        else:
            views = list(self._views)
            views[row] = views[row]._replace(name=new)
            self.edited.emit(tuple(views), self.tr("Rename bookmark {0} to {1}").format(old, new))

    def _remove(self) -> None:
        if (gone := self._current()) is not None:
            views = tuple(view for view in self._views if view != gone)
            self.edited.emit(views, self.tr("Remove bookmark {0}").format(gone.name))

    def _move(self, step: int) -> None:
        row, views = self.list.currentRow(), list(self._views)
        if 0 <= row < len(views) and 0 <= row + step < len(views):
            views.insert(row + step, view := views.pop(row))
            self.list.setCurrentRow(row + step)
            self.edited.emit(tuple(views), self.tr("Move bookmark {0}").format(view.name))
