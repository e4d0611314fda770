"""The search box for adding blocks: a few letters or a formula, then Enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QLabel,
    QLineEdit,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from gradwire.app.canvas.input.entry.candidates import Candidate, search
from gradwire.app.canvas.paint.blocks.rows import (
    BLOCK_ROLE,
    KIND_ROLE,
    STAR_ROLE,
    BlockRows,
    Stars,
    is_star,
)
from gradwire.app.services.plain_text import tooltip
from gradwire.blocks.errors import BuildError
from gradwire.blocks.formulas.places import FormulaError
from gradwire.blocks.formulas.reading import looks_like_formula

if TYPE_CHECKING:
    from gradwire.app.services.favourites import Favourites
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.formulas import Addition

CANDIDATE_ROLE = Qt.ItemDataRole.UserRole + 2
SIZE = (300, 280)
_MAX_ROWS = 60
"""Largest number of listed rows."""
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_UP_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class QuickAdd(QFrame):
    """Open from its construction until a choice is made, Esc is pressed, or it loses the focus.

    ``done`` is called once, with the chosen block, the typed formula, or None. ``compose`` makes
    the change that adds a formula, or raises FormulaError; without it, only blocks are offered.
    """

    def __init__(
        self,
        parent: QWidget,
        at: QPoint,
        candidates: Sequence[Candidate],
        theme: Theme,
        favourites: Favourites,
        done: Callable[[Candidate | Addition | None], None],
        compose: Callable[[str], Addition] | None = None,
    ) -> None:
        super().__init__(parent)
        self._compose = compose
        self._addition: Addition | None = None
        """What the typed formula adds."""
        self._mistake: int | None = None
        """Index of the character where the typed formula is wrong."""
        self._candidates = candidates
        self._favourites = favourites
        self._done: Callable[[Candidate | Addition | None], None] | None = done
        self.line = QLineEdit(self)
        asked = self.tr("Add a block") if compose is None else self.tr("Add a block or a formula")
        self.line.setPlaceholderText(asked)
        self.line.setAccessibleName(self.tr("Add a block"))
        self.list = QTreeView(self)
        self._rows = BlockRows(self.list)
        self._rows.set_theme(theme)
        self._model = QStandardItemModel(self)
        self._set_up_list()
        self.preview = QLabel(self)
        self.preview.setTextFormat(Qt.TextFormat.PlainText)
        self.preview.setWordWrap(True)
        self.preview.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.preview.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(4)
        column.addWidget(self.line)
        column.addWidget(self.list, 1)
        column.addWidget(self.preview, 1)
        self.setAutoFillBackground(True)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._put(at, parent.size())
        self.line.textChanged.connect(self._search)
        self.line.installEventFilter(self)
        self._search("")
        self.show()
        self.line.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_box(self, chosen: Candidate | Addition | None = None) -> None:
        """Close and report the choice, once."""
        done, self._done = self._done, None
        if done is None:
            return
        self.hide()
        self.deleteLater()
        done(chosen)

    def titles(self) -> list[str]:
        """The titles that are listed, from the top."""
        return [self._model.item(row).text() for row in range(self._model.rowCount())]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if event.type() == QEvent.Type.FocusOut and not self.list.hasFocus():
            self.close_box()
        return super().eventFilter(watched, event)

    def _key(self, event: QKeyEvent) -> bool:
        """Handle a key of the list; False for any other."""
        if event.key() in _UP_DOWN:
            self.list.event(event)
        elif event.key() in (*_ENTER, Qt.Key.Key_Tab):
            self._enter()
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

    def _enter(self) -> None:
        """Add what is chosen; of a formula that is wrong, select the character that is."""
        if self._addition is not None:
            self.close_box(self._addition)
        elif self._mistake is not None:
            self.line.setSelection(self._mistake, 1)
        else:
            self._choose(self.list.currentIndex())

    def _search(self, text: str) -> None:
        is_formula = self._compose is not None and looks_like_formula(text)
        self._addition = self._mistake = None
        self.list.setVisible(not is_formula)
        self.preview.setVisible(is_formula)
        if is_formula:
            self._read(text)
        else:
            self._list(text)

    def _read(self, text: str) -> None:
        """Show what a formula adds, or where it is wrong."""
        assert self._compose is not None
        try:
            self._addition = self._compose(text)
        except FormulaError as error:
            self._mistake = min(error.offset, len(text))
            pointed = f"{text[: self._mistake]}▸{text[self._mistake :]}"
            self.preview.setText(f"{pointed}\n\n{error}")
        except BuildError as error:
            self._mistake = 0
            self.preview.setText(str(error))
        else:
            blocks = self._addition.blocks
            added = self.tr("Enter adds {0} blocks: {1}").format(len(blocks), ", ".join(blocks))
            self.preview.setText(added)

    def _list(self, text: str) -> None:
        self._model.clear()
        for candidate in search(self._candidates, text, self._favourites)[:_MAX_ROWS]:
            item = QStandardItem(candidate.title)
            item.setData(type(candidate.block), BLOCK_ROLE)
            item.setData(type(candidate.block).type_name(), KIND_ROLE)
            item.setData(candidate, CANDIDATE_ROLE)
            item.setData(candidate.kind in self._favourites.starred, STAR_ROLE)
            item.setToolTip(tooltip(type(candidate.block).summary()))
            self._model.appendRow(item)
        self.list.setCurrentIndex(self._model.index(0, 0))

    def _star(self, index: QModelIndex) -> None:
        """Toggle a favourite; the row stays where it is until the next search."""
        candidate = index.data(CANDIDATE_ROLE)
        if candidate is not None and candidate.kind:
            self._favourites.toggle(candidate.kind)
            starred = candidate.kind in self._favourites.starred
            self._model.itemFromIndex(index).setData(starred, STAR_ROLE)

    def _choose(self, index: QModelIndex) -> None:
        candidate = index.data(CANDIDATE_ROLE)
        if candidate is not None:
            self.close_box(candidate)

    def _put(self, at: QPoint, room: QSize) -> None:
        """Move the box to ``at``, or as near as it fits into ``room``."""
        width, height = min(SIZE[0], room.width()), min(SIZE[1], room.height())
        left = max(0, min(at.x(), room.width() - width))
        top = max(0, min(at.y(), room.height() - height))
        self.setGeometry(left, top, width, height)
