"""A small search box on the canvas: three letters, Enter, and the block is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QFrame, QLineEdit, QTreeView, QVBoxLayout, QWidget

from app.canvas.input.entry.candidates import Choice, found
from app.canvas.paint.blocks.rows import BLOCK_ROLE, STAR_ROLE, BlockRows, Stars, is_star

if TYPE_CHECKING:
    from app.services.favourites import Favourites
    from app.services.theme import Theme

CHOICE_ROLE = Qt.ItemDataRole.UserRole + 2
SIZE = (240, 280)
_MOST = 60
"""Rows that are listed, at most; who wants others types on."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_UP_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class QuickAdd(QFrame):
    """Open from its making until a block is chosen, Esc, or a click elsewhere.

    ``done(choice)`` is called once, with None where nothing was chosen.
    """

    def __init__(
        self,
        parent: QWidget,
        at: QPoint,
        choices: Sequence[Choice],
        theme: Theme,
        favourites: Favourites,
        done: Callable[[Choice | None], None],
    ) -> None:
        super().__init__(parent)
        self._choices = choices
        self._favourites = favourites
        self._done: Callable[[Choice | None], None] | None = done
        self.line = QLineEdit(self)
        self.line.setPlaceholderText(self.tr("Add a block"))
        self.line.setAccessibleName(self.tr("Add a block"))
        self.list = QTreeView(self)
        self._rows = BlockRows(self.list)
        self._rows.set_theme(theme)
        self._model = QStandardItemModel(self)
        self._set_up_list()
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(4)
        column.addWidget(self.line)
        column.addWidget(self.list)
        self.setAutoFillBackground(True)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._put(at, parent.size())
        self.line.textChanged.connect(self._look_for)
        self.line.installEventFilter(self)
        self._look_for("")
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_box(self, choice: Choice | None = None) -> None:
        """Close, with what was chosen; once."""
        done, self._done = self._done, None
        if done is None:
            return
        self.hide()
        self.deleteLater()
        done(choice)

    def titles(self) -> list[str]:
        """What is listed, from the top."""
        return [self._model.item(row).text() for row in range(self._model.rowCount())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if event.type() == QEvent.Type.FocusOut and not self.list.hasFocus():
            self.close_box()
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        """Whether a key was for the list."""
        if event.key() in _UP_DOWN:
            self.list.event(event)
        elif event.key() in (*_ENTER, Qt.Key.Key_Tab):
            self._choose(self.list.currentIndex())
        elif is_star(event):
            self._star(self.list.currentIndex())
        elif event.key() == Qt.Key.Key_Escape:
            self.close_box()
        else:
            return False
        return True

    def _set_up_list(self) -> None:
        self.list.setModel(self._model)
        self.list.setItemDelegate(self._rows)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName(self.tr("Blocks"))
        self.list.clicked.connect(self._choose)
        Stars(self.list).clicked.connect(self._star)

    def _look_for(self, text: str) -> None:
        self._model.clear()
        for choice in found(self._choices, text, self._favourites)[:_MOST]:
            item = QStandardItem(choice.title)
            item.setData(type(choice.block), BLOCK_ROLE)
            item.setData(choice, CHOICE_ROLE)
            item.setData(choice.kind in self._favourites.starred, STAR_ROLE)
            item.setToolTip(type(choice.block).summary())
            self._model.appendRow(item)
        self.list.setCurrentIndex(self._model.index(0, 0))

    def _star(self, index: QModelIndex) -> None:
        """Mark a block as a favourite, or no more; the line stays where it is until one types."""
        choice = index.data(CHOICE_ROLE)
        if choice is not None and choice.kind:
            self._favourites.toggle(choice.kind)
            starred = choice.kind in self._favourites.starred
            self._model.itemFromIndex(index).setData(starred, STAR_ROLE)

    def _choose(self, index: QModelIndex) -> None:
        choice = index.data(CHOICE_ROLE)
        if choice is not None:
            self.close_box(choice)

    def _put(self, at: QPoint, room: QSize) -> None:
        """At a place of the canvas, or as near as it is all to be seen."""
        width, height = min(SIZE[0], room.width()), min(SIZE[1], room.height())
        left = max(0, min(at.x(), room.width() - width))
        top = max(0, min(at.y(), room.height() - height))
        self.setGeometry(left, top, width, height)
