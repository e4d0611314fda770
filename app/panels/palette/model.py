"""The model of the palette: favourites, pages of the diagram, and every block by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import (
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QToolTip

from gradwire.app.canvas.input.dropping import BLOCK_MIME, PAGE_MIME
from gradwire.app.canvas.input.entry.candidates import (
    LAYERS,
    matches,
    page_refusal,
    sort_key,
    summary,
)
from gradwire.app.canvas.paint.blocks.rows import (
    ASIDE_ROLE,
    BLOCK_ROLE,
    KIND_ROLE,
    LAYER_ROLE,
    LIBRARY_ROLE,
    PAGE_ROLE,
    REFUSAL_ROLE,
    STAR_ROLE,
)
from gradwire.app.panels import formula
from gradwire.app.services.translation import editor
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import Scan
from gradwire.runtime.diagram import MAIN, page_ports

if TYPE_CHECKING:
    from gradwire.app.services.favourites import Favourites
    from gradwire.blocks.block import Block
    from gradwire.blocks.registry import Registry
    from gradwire.runtime.diagram import Diagram

_Index = QModelIndex | QPersistentModelIndex


class PaletteModel(QStandardItemModel):
    """Headings with block classes as children, which can be dragged.

    The first heading has the favourites, the second the pages of the diagram, which can be renamed,
    the third the pages of the user's library.
    """

    pageRenamed = Signal(str, str)
    """The old and the new name of a page that the user renames."""

    def __init__(
        self, registry: Registry, favourites: Favourites, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._registry = registry
        self._favourites = favourites
        self._favourites_head = _head(self.tr("Favourites"))
        self.appendRow(self._favourites_head)
        self._pages_head = _head(self.tr("Pages of this diagram"))
        self.appendRow(self._pages_head)
        self._library_head = _head(self.tr("My library"))
        self.appendRow(self._library_head)
        self._library: list[tuple[str, bool]] = []
        self._listed: list[PageRow] = []
        for family, names in registry.names().items():
            head = _head(family.replace("_", " "))
            head.appendRows([_row(name) for name in names])
            if family == Scan.family:
                head.appendRows([_layer_item(name) for name in LAYERS])
            self.appendRow(head)
        self._list_favourites()
        favourites.changed.connect(self._list_favourites)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == BLOCK_ROLE:
            return self._class(super().data(index, KIND_ROLE))
        if role not in (Qt.ItemDataRole.ToolTipRole, STAR_ROLE):
            return super().data(index, role)
        kind = None if self._is_page(index) else super().data(index, KIND_ROLE)
        if role == STAR_ROLE:
            return None if kind is None else kind in self._favourites.starred
        return super().data(index, role) if kind is None else self._tip(kind)

    def setData(self, index: _Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        page = index.data(PAGE_ROLE)
        if page is None or role != Qt.ItemDataRole.EditRole:
            return super().setData(index, value, role)
        if value != page:
            self.pageRenamed.emit(page, value)
        return False  # the row changes with the diagram

    def set_diagram(self, diagram: Diagram, page: str) -> bool:
        """List the pages of a diagram as usable on ``page``; False if the list is unchanged."""
        rows = list(page_rows(diagram, page))
        if rows == self._listed:
            return False
        self._listed = rows
        self._pages_head.removeRows(0, self._pages_head.rowCount())
        self._pages_head.appendRows([_page_item(row) for row in rows])
        return True

    def set_library(self, rows: list[tuple[str, bool]]) -> bool:
        """List the pages of the library, and whether the diagram's differs; False if unchanged."""
        if rows == self._library:
            return False
        self._library = rows
        self._library_head.removeRows(0, self._library_head.rowCount())
        self._library_head.appendRows([_library_item(*row) for row in rows])
        return True

    def library(self) -> QModelIndex:
        """The heading of the library."""
        return self._library_head.index()

    def pages(self) -> QModelIndex:
        """The heading of the pages."""
        return self._pages_head.index()

    def is_favourite(self, index: _Index) -> bool:
        """Whether a row is under the heading of favourites."""
        return bool(index.parent().isValid() and index.parent() == self._favourites_head.index())

    def mimeTypes(self) -> list[str]:
        return [BLOCK_MIME, PAGE_MIME]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        mime = QMimeData()
        for index in indexes:
            if page := self.data(index, PAGE_ROLE):
                mime.setData(PAGE_MIME, page.encode())
            elif kind := self.data(index, KIND_ROLE):
                mime.setData(BLOCK_MIME, (self.data(index, LAYER_ROLE) or kind).encode())
        return mime

    def _is_page(self, index: _Index) -> bool:
        """Whether a row is one of a page or of a layer."""
        roles = (PAGE_ROLE, LIBRARY_ROLE, LAYER_ROLE)
        return any(super(PaletteModel, self).data(index, each) for each in roles)

    def _class(self, kind: str | None) -> type[Block] | None:
        return None if kind is None else self._registry.find(kind)

    def _tip(self, kind: str) -> str | None:
        cls = self._class(kind)
        return None if cls is None else tooltip(cls)

    def _list_favourites(self) -> None:
        starred = [name for name in self._favourites.starred if self._registry.find(name)]
        self._favourites_head.removeRows(0, self._favourites_head.rowCount())
        self._favourites_head.appendRows([_row(name) for name in starred])


class PaletteFilter(QSortFilterProxyModel):
    """Filters blocks whose name, family or summary has every word; best match first.

    Favourites are left out of matches, since they are listed in their families as well.
    """

    def __init__(self, model: PaletteModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._words: list[str] = []
        self.setRecursiveFilteringEnabled(True)
        self.setDynamicSortFilter(True)
        self.setSourceModel(model)

    def set_text(self, text: str) -> None:
        """Keep rows that match ``text``; an empty text keeps all, in library order."""
        self._words = text.casefold().split()
        self.invalidate()
        self.sort(0 if self._words else -1)

    def filterAcceptsRow(self, row: int, parent: _Index) -> bool:
        index = self._model.index(row, 0, parent)
        if not self._words or self._model.is_favourite(index):
            return index.data(KIND_ROLE) is not None and not self._words
        cls: type[Block] | None = index.data(BLOCK_ROLE)
        return cls is not None and all(matches(word, cls, index.data()) for word in self._words)

    def lessThan(self, left: _Index, right: _Index) -> bool:
        return self._rank(left) < self._rank(right)

    def _rank(self, index: _Index) -> tuple[tuple[int, bool, int], int]:
        """How well the row matches, then its position in the library."""
        if index.data(KIND_ROLE) is None:  # a family ranks as the best of its blocks
            rows = range(self._model.rowCount(index))
            inner = (self._rank(self._model.index(row, 0, index))[0] for row in rows)
            return min(inner, default=(9, True, 9)), index.row()
        starred = bool(index.data(STAR_ROLE))
        return sort_key(self._words, index.data(), starred), index.row()


class PageRow(NamedTuple):
    """A listed page."""

    name: str
    ports: str
    used: int
    refusal: str

    def tip(self) -> str:
        """The tooltip, as HTML."""
        parts = [f"<b>{escape(self.name)}</b>{' — ' if self.ports else ''}{escape(self.ports)}"]
        times = editor.tr("Used {0} times.").format(self.used)
        parts.append(times if self.used else editor.tr("Not used yet."))
        if self.refusal:
            parts.append(escape(self.refusal))
        return "".join(f"<p>{part}</p>" for part in parts)


def page_rows(diagram: Diagram, page: str) -> Iterator[PageRow]:
    """The pages of a diagram except ``main``, with whether they can be used on ``page``."""
    used = Counter(
        block.page
        for content in (diagram.pages.values() if len(diagram.pages) > 1 else ())
        for block in content.blocks.values()
        if isinstance(block, PageBlock)
    )
    for name, content in diagram.pages.items():
        if name != MAIN:
            ports = page_ports(content)
            inputs, outputs = (", ".join(side) or "–" for side in (ports.inputs, ports.outputs))
            shown = f"{inputs} → {outputs}" if ports.inputs or ports.outputs else ""
            refusal = page_refusal(diagram, page, name) or ""
            yield PageRow(name, shown, used[name], refusal)


def _page_item(page: PageRow) -> QStandardItem:
    item = QStandardItem(page.name)
    item.setData(PageBlock.type_name(), KIND_ROLE)
    item.setData(page.name, PAGE_ROLE)
    item.setData(page.ports, ASIDE_ROLE)
    item.setData(page.refusal, REFUSAL_ROLE)
    item.setToolTip(page.tip())
    dragged = Qt.ItemFlag.NoItemFlags if page.refusal else Qt.ItemFlag.ItemIsDragEnabled
    item.setFlags(
        Qt.ItemFlag.ItemIsEnabled
        | Qt.ItemFlag.ItemIsSelectable
        | Qt.ItemFlag.ItemIsEditable
        | dragged
    )
    return item


def _library_item(name: str, is_other: bool) -> QStandardItem:
    item = QStandardItem(name)
    item.setData(PageBlock.type_name(), KIND_ROLE)
    item.setData(name, LIBRARY_ROLE)
    item.setData(editor.tr("differs") if is_other else "", ASIDE_ROLE)
    tips = [escape(editor.tr("Add a copy of the page {0}.").format(name))]
    if is_other:
        item.setData(editor.tr("{0}, differs").format(name), Qt.ItemDataRole.AccessibleTextRole)
        tips.append(escape(editor.tr("The page of this name in the diagram differs.")))
    item.setToolTip("".join(f"<p>{tip}</p>" for tip in tips))
    item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
    return item


def tooltip(cls: type[Block]) -> str:
    """The summary of a block above its formula, as HTML."""
    parts = [f"<p><b>{cls.type_name()}</b> — {escape(cls.summary())}</p>"]
    if cls.formula:
        picture = formula.data_uri(cls.formula, QToolTip.palette().toolTipText().color().name())
        shown = f'<img src="{picture}">' if picture else f"<code>{escape(cls.formula)}</code>"
        parts.append(f"<p>{shown}</p>")
    return "".join(parts)


def _head(title: str) -> QStandardItem:
    item = QStandardItem(title)
    item.setFlags(Qt.ItemFlag.ItemIsEnabled)
    return item


def _row(kind: str) -> QStandardItem:
    item = QStandardItem(kind)
    item.setData(kind, KIND_ROLE)
    item.setFlags(
        Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsDragEnabled
    )
    return item


def _layer_item(name: str) -> QStandardItem:
    item = _row(Scan.type_name())
    item.setText(name)
    item.setData(name, LAYER_ROLE)
    item.setToolTip(f"<p><b>{name}</b> — {escape(summary(name))}</p>")
    return item
