"""What the palette lists: favourites, then every block of the registry by family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QToolTip

from app.canvas import BLOCK_MIME
from app.canvas.choices import matches, standing
from app.panels import formula
from app.panels.rows import BLOCK_ROLE, STAR_ROLE

if TYPE_CHECKING:
    from app.favourites import Favourites
    from blocks.block import Block
    from blocks.registry import Registry

_Index = QModelIndex | QPersistentModelIndex


class Stock(QStandardItemModel):
    """Headings with block classes under them; a block can be dragged, a heading can't."""

    def __init__(
        self, registry: Registry, favourites: Favourites, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._registry = registry
        self._favourites = favourites
        self._first = _head(self.tr("Favourites"))
        self.appendRow(self._first)
        for family, classes in registry.families().items():
            head = _head(family.replace("_", " "))
            head.appendRows([_row(cls) for cls in classes])
            self.appendRow(head)
        self._list_favourites()
        favourites.changed.connect(self._list_favourites)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole:
            cls = super().data(index, BLOCK_ROLE)
            return tooltip(cls) if cls else None
        if role == STAR_ROLE:
            cls = super().data(index, BLOCK_ROLE)
            return cls.type_name() in self._favourites.starred if cls else None
        return super().data(index, role)

    def is_favourite(self, index: _Index) -> bool:
        """Whether a row is one of those under the first heading."""
        return bool(index.parent().isValid() and index.parent() == self._first.index())

    def mimeTypes(self) -> list[str]:
        return [BLOCK_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        mime = QMimeData()
        for index in indexes:
            if cls := self.data(index, BLOCK_ROLE):
                mime.setData(BLOCK_MIME, cls.type_name().encode())
        return mime

    def _list_favourites(self) -> None:
        known = self._registry.classes
        starred = [known[name] for name in self._favourites.starred if name in known]
        self._first.removeRows(0, self._first.rowCount())
        self._first.appendRows([_row(cls) for cls in starred])


class Search(QSortFilterProxyModel):
    """Blocks whose name, family or summary has every word that is looked for, best name first.

    The first heading is left out of what was found: its blocks stand in their families, too.
    """

    def __init__(self, stock: Stock, favourites: Favourites, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stock = stock
        self._favourites = favourites
        self._words: list[str] = []
        self.setRecursiveFilteringEnabled(True)
        self.setDynamicSortFilter(True)
        self.setSourceModel(stock)

    def look_for(self, text: str) -> None:
        """Keep what matches ``text``; an empty text keeps everything, in library order."""
        self._words = text.casefold().split()
        self.invalidate()
        self.sort(0 if self._words else -1)

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        index = self._stock.index(row, 0, parent)
        cls = _block(index)
        if cls is None or (self._words and self._stock.is_favourite(index)):
            return False
        return all(matches(word, cls, index.data()) for word in self._words)

    def lessThan(self, left: _Index, right: _Index) -> bool:
        return self._rank(left) < self._rank(right)

    def _rank(self, index: _Index) -> tuple[tuple[int, bool, int], int]:
        """How well the row matches, then where it stands in the library."""
        cls = _block(index)
        if cls is None:  # a family is as good as the best of its blocks
            rows = range(self._stock.rowCount(index))
            inner = (self._rank(self._stock.index(row, 0, index))[0] for row in rows)
            return min(inner, default=(9, True, 9)), index.row()
        starred = cls.type_name() in self._favourites.starred
        return standing(self._words, index.data(), starred), index.row()


def tooltip(cls: type[Block]) -> str:
    """Summary of the block, over its formula."""
    parts = [f"<p><b>{cls.type_name()}</b> — {_plain(cls.summary())}</p>"]
    if cls.formula:
        picture = formula.data_uri(cls.formula, QToolTip.palette().toolTipText().color().name())
        shown = f'<img src="{picture}">' if picture else f"<code>{_plain(cls.formula)}</code>"
        parts.append(f"<p>{shown}</p>")
    return "".join(parts)


def _block(index: _Index) -> type[Block] | None:
    found: type[Block] | None = index.data(BLOCK_ROLE)
    return found


def _head(title: str) -> QStandardItem:
    item = QStandardItem(title)
    item.setFlags(Qt.ItemFlag.ItemIsEnabled)
    return item


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
