"""Shows what differs between two diagrams, in words and as a picture, and the conflicts of a merge.

Both sides of a conflict stand beside each other, and one can be chosen of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialogButtonBox,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.dialogs.export_sheet import PicturePreview
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
from gradwire.app.pictures.diff_picture import MergePictures
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import LIGHT, Theme, follow_theme
from gradwire.runtime.diagram import MAIN, SIDES, merge
from gradwire.runtime.publish import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradwire.app.pictures.page_picture import PagePicture
    from gradwire.runtime.diagram import Conflict, Diagram, Side, Three


class ComparisonDialog(Dialog):
    """Stays open beside the window. ``pictures`` draws a page of ``pages`` in a theme."""

    def __init__(
        self,
        title: str,
        words: str,
        pages: Sequence[str],
        pictures: Callable[[str, Theme], PagePicture],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self._pictures = pictures
        self._theme = LIGHT
        self.page = QComboBox(self)
        self.page.setAccessibleName(self.tr("Page"))
        self.page.addItems(list(pages))
        self.page.setVisible(len(pages) > 1)
        self.page.currentTextChanged.connect(self._draw)
        self.preview = PicturePreview(self)
        self.words = QPlainTextEdit(words, self)
        self.words.setReadOnly(True)
        self.words.setTabChangesFocus(True)
        self.words.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.words.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.words.setAccessibleName(self.tr("Differences"))
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.addWidget(self.preview)
        split.addWidget(self.words)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        make_column(self, self.page, (split, 1), buttons, margins=None)
        self.resize(980, 720)
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Draw in the colours of ``theme``."""
        self._theme = theme
        self._draw()

    def _draw(self) -> None:
        self.preview.show_picture(self._pictures(self.page.currentText(), self._theme))


_NAME = Qt.ItemDataRole.UserRole


class Merging(Dialog):
    """``choices`` has the sides that were chosen, by names of conflicts; some at the start."""

    def __init__(
        self, three: Three[Diagram], title: str, choices: Mapping[str, Side], parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Conflicts of {0}").format(title))
        self.choices = dict(choices)
        self._three = three
        self._pictures = MergePictures(three)
        self._conflicts: tuple[Conflict, ...] = ()
        self._page = MAIN
        self._theme = LIGHT
        self._headings = {"ours": self.tr("Ours"), "theirs": self.tr("Theirs")}
        self.list = self._made_list()
        sides = QGridLayout()
        self.previews: dict[Side, PicturePreview] = {}
        self._absent: dict[Side, QLabel] = {}
        for column, side in enumerate(SIDES):
            self.previews[side] = preview = PicturePreview(self)
            preview.setAccessibleName(self._headings[side])
            self._absent[side] = labels.body()
            sides.addWidget(labels.heading(self._headings[side]), 0, column)
            sides.addWidget(preview, 1, column)
            sides.addWidget(self._absent[side], 2, column)
            sides.setColumnStretch(column, 1)
        sides.setRowStretch(1, 1)
        keep = self.tr("Keep &Ours"), self.tr("Keep &Theirs")
        self.keep_ours = push_button(self, keep[0], lambda: self._choose("ours"))
        self.keep_theirs = push_button(self, keep[1], lambda: self._choose("theirs"))
        box = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(box.Save | box.Cancel, self)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        foot = make_row(None, self.keep_ours, self.keep_theirs, STRETCH, self.buttons)
        about = labels.body(
            self.tr("Both sides have changed what is listed below. What only one side has "
                    "changed is merged already. Choose a side of each, then save.")
        )  # fmt: skip
        make_column(self, about, (sides, 2), (self.list, 1), foot, margins=None)
        self.resize(1180, 760)
        self._merge()
        self.list.currentItemChanged.connect(self._show_current)
        self.list.itemSelectionChanged.connect(self._enable)
        if items := self._items():
            self.list.setCurrentItem(items[0])
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Draw in the colours of ``theme``."""
        self._theme = theme
        self._draw()

    def _made_list(self) -> QTreeWidget:
        made = QTreeWidget(self)
        made.setAccessibleName(self.tr("Conflicts"))
        made.setRootIsDecorated(False)
        made.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        made.setHeaderLabels([self.tr("Conflict"), *self._headings.values(), self.tr("Kept")])
        made.setColumnWidth(0, 380)
        made.setColumnWidth(1, 290)
        made.setColumnWidth(2, 290)
        return made

    def _merge(self) -> None:
        """Merge with the choices, and list what is in conflict then."""
        chosen = {item.data(0, _NAME) for item in self.list.selectedItems()}
        current = self.list.currentItem()
        at = current.data(0, _NAME) if current is not None else None
        self._conflicts = merge(*self._three, self.choices).conflicts
        with QSignalBlocker(self.list):
            self.list.clear()
            for conflict in self._conflicts:
                item = self._item(conflict)
                self.list.addTopLevelItem(item)
                if conflict.name == at:
                    self.list.setCurrentItem(item)
            for conflict, item in zip(self._conflicts, self._items(), strict=True):
                item.setSelected(conflict.name in chosen)
        self._enable()

    def _items(self) -> list[QTreeWidgetItem]:
        found = (self.list.topLevelItem(i) for i in range(self.list.topLevelItemCount()))
        return [item for item in found if item is not None]

    def _item(self, conflict: Conflict) -> QTreeWidgetItem:
        kept = self.tr("not chosen yet")
        if conflict.kept == "neither":
            kept = self.tr("neither: connect it in the editor")
        elif conflict.name in self.choices:
            kept = self._headings[conflict.kept]
        item = QTreeWidgetItem([conflict.name, short(conflict.ours), short(conflict.theirs), kept])
        for part in range(item.columnCount()):
            item.setToolTip(part, tooltip(item.text(part)))
        item.setData(0, _NAME, conflict.name)
        return item

    def _choose(self, side: Side) -> None:
        can = {each.name for each in self._conflicts if each.kept != "neither"}
        names = (item.data(0, _NAME) for item in self.list.selectedItems())
        self.choices |= dict.fromkeys((name for name in names if name in can), side)
        self._merge()
        self._draw()

    def _enable(self) -> None:
        can = {each.name for each in self._conflicts if each.kept != "neither"}
        chosen = any(item.data(0, _NAME) in can for item in self.list.selectedItems())
        self.keep_ours.setEnabled(chosen)
        self.keep_theirs.setEnabled(chosen)
        save = self.buttons.button(QDialogButtonBox.StandardButton.Save)
        save.setEnabled(can <= self.choices.keys())

    def _show_current(self, item: QTreeWidgetItem | None) -> None:
        name = item.data(0, _NAME) if item is not None else None
        place = next((each.place for each in self._conflicts if each.name == name), None)
        if place is not None and place.page != self._page:
            self._page = place.page
            self._draw()

    def _draw(self) -> None:
        for side, preview in self.previews.items():
            picture = self._pictures.picture(side, self._page, self._conflicts, self._theme)
            preview.setVisible(picture is not None)
            absent = None if picture else self.tr("There is no page {0}.").format(self._page)
            labels.show_or_hide(self._absent[side], absent)
            if picture is not None:
                preview.show_picture(picture)
