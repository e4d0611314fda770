"""The manual's window: contents and search on the left, the page on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QSplitter, QToolButton, QTreeWidget, QTreeWidgetItem, QWidget

from gradwire.app.panels.help.browser import ManualBrowser, page_of
from gradwire.app.panels.help.manual import INDEX, manual
from gradwire.app.panels.layouts import STRETCH, line_edit, make_column, make_row, tool_button

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

_SIZE = QSize(1000, 680)
_TARGET = Qt.ItemDataRole.UserRole


class ManualWindow(QWidget):
    """Opens at the index. Enter in the search line goes to the best hit."""

    exampleRequested = Signal(object)
    """Path of an example to open in the editor."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle(self.tr("Gradwire manual"))
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)  # only the editor's windows do
        self.browser = ManualBrowser(self)
        self.search_line = line_edit(self, self.tr("Search the manual"), clears=True)
        self.contents = QTreeWidget(self)
        self.contents.setAccessibleName(self.tr("Contents"))
        self.contents.setHeaderHidden(True)
        self.contents.setRootIsDecorated(False)
        self._arrange()
        self.browser.exampleRequested.connect(self.exampleRequested)
        self.browser.sourceChanged.connect(self._mark_row)
        self.search_line.textChanged.connect(self._list)
        self.search_line.returnPressed.connect(self._show_best)
        self.contents.itemClicked.connect(self._show_row)
        self.contents.itemActivated.connect(self._show_row)
        self._list("")
        self.browser.show_page(INDEX)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        super().keyPressEvent(event)

    def _arrange(self) -> None:
        split = QSplitter(self)
        for parts in ((self.search_line, self.contents), (self._bar(), self.browser)):
            side = QWidget(split)
            make_column(side, *parts, margins=(8, 8, 8, 8))
        split.setStretchFactor(1, 1)
        split.setSizes([260, 740])
        make_row(self, split)

    def _bar(self) -> QWidget:
        bar = QWidget(self)
        back = _button(bar, "←", self.tr("Back"), QKeySequence.StandardKey.Back)
        forward = _button(bar, "→", self.tr("Forward"), QKeySequence.StandardKey.Forward)
        first = _button(bar, "⌂", self.tr("First page"), QKeySequence("Alt+Home"))
        make_row(bar, back, forward, first, STRETCH)
        back.setEnabled(False)
        forward.setEnabled(False)
        back.clicked.connect(self.browser.backward)
        forward.clicked.connect(self.browser.forward)
        first.clicked.connect(lambda: self.browser.show_page(INDEX))
        self.browser.backwardAvailable.connect(back.setEnabled)
        self.browser.forwardAvailable.connect(forward.setEnabled)
        return bar

    def _list(self, words: str) -> None:
        """List the sections that contain these words, or without words the pages by chapter."""
        self.contents.clear()
        self.browser.highlight(words.split())
        if words.strip():
            self._list_hits(words)
            return
        for chapter, names in manual().chapters.items():
            head = QTreeWidgetItem([chapter])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setForeground(0, self.palette().placeholderText())
            head.addChildren([_row(manual().pages[name].title, name) for name in names])
            self.contents.addTopLevelItem(head)
        self.contents.expandAll()
        self._mark_row(self.browser.source())

    def _list_hits(self, words: str) -> None:
        for hit in manual().search(words):
            row = _row(hit.title, f"{hit.page}#{hit.anchor}")
            row.setToolTip(0, hit.line)
            self.contents.addTopLevelItem(row)
        if not self.contents.topLevelItemCount():
            nothing = QTreeWidgetItem([self.tr("Nothing found")])
            nothing.setDisabled(True)
            self.contents.addTopLevelItem(nothing)

    def _show_best(self) -> None:
        best = self.contents.topLevelItem(0)
        if self.search_line.text().strip() and best is not None:
            self._show_row(best)

    def _show_row(self, row: QTreeWidgetItem) -> None:
        if to := row.data(0, _TARGET):
            self.browser.show_page(to)

    def _mark_row(self, url: QUrl) -> None:
        """Select the row of the current page."""
        every = Qt.MatchFlag.MatchWildcard | Qt.MatchFlag.MatchRecursive
        for row in self.contents.findItems("*", every):
            if row.data(0, _TARGET) == page_of(url):
                self.contents.setCurrentItem(row)


def _row(text: str, target: str) -> QTreeWidgetItem:
    row = QTreeWidgetItem([text])
    row.setData(0, _TARGET, target)
    return row


def _button(
    parent: QWidget, text: str, name: str, key: QKeySequence | QKeySequence.StandardKey
) -> QToolButton:
    keys = QKeySequence(key)
    tip = f"{name} ({keys.toString(QKeySequence.SequenceFormat.NativeText)})"
    button = tool_button(parent, text, tip=tip, name=name)
    button.setShortcut(keys)
    return button
