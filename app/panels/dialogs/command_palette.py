"""The command palette: finds an action by a few letters and runs it with Enter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import line_edit, make_column
from gradwire.app.services import fuzzy
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu

_ACTION = Qt.ItemDataRole.UserRole
_KEY = Qt.ItemDataRole.UserRole + 1
_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_WIDTH, _HEIGHT = 560, 380


class ActionRow(NamedTuple):
    """An action as it is listed: ``File: Save``."""

    text: str
    name: str
    """The part of the text after the menu."""
    action: QAction

    @property
    def key(self) -> str:
        """Identifies the action from one run of the editor to the next."""
        return self.action.objectName() or self.text


class CommandPalette(Dialog):
    """An input line above the list of matching actions, the best first; Esc closes it.

    Of equally good ones those of ``recent`` come first; the others keep the order of the menus.
    """

    ran = Signal(str)
    """Key of the action that was chosen."""

    def __init__(self, menus: Mapping[str, QMenu], recent: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Command palette"))
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self._menus = menus
        self._recent = {key: place for place, key in enumerate(recent)}
        hint = self.tr("What do you want to do?")
        self.line = line_edit(self, hint, self.windowTitle(), clears=True)
        self.line.textChanged.connect(self._look_for)
        self.line.returnPressed.connect(self._choose)
        self.line.installEventFilter(self)
        self.list = self._empty_list()
        self.list.itemClicked.connect(self._choose)
        make_column(self, self.line, self.list, margins=(8, 8, 8, 8))
        self.resize(min(_WIDTH, parent.width()), min(_HEIGHT, parent.height()))
        self.move(parent.mapToGlobal(QPoint((parent.width() - self.width()) // 2, 60)))
        self._look_for("")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow and page keys move in the list while the input line has the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in _MOVES:
                self.list.event(event)
                return True
        return super().eventFilter(watched, event)

    def _empty_list(self) -> QTreeWidget:
        made = QTreeWidget(self)
        made.setColumnCount(2)
        made.setHeaderHidden(True)
        made.setRootIsDecorated(False)
        made.setUniformRowHeights(True)
        made.setAccessibleName(self.tr("Commands"))
        made.header().setStretchLastSection(False)
        made.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        made.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return made

    def _look_for(self, sought: str) -> None:
        self.list.clear()
        # Not cached: menus that are filled at run time replace their actions.
        for row in ranked(rows(self._menus), sought, self._recent):
            self.list.addTopLevelItem(_item(row))
        for i in range(self.list.topLevelItemCount()):
            item = self.list.topLevelItem(i)
            if item is not None and not item.isDisabled():
                self.list.setCurrentItem(item)
                break

    def _choose(self) -> None:
        item = self.list.currentItem()
        if item is not None and not item.isDisabled():
            action = item.data(0, _ACTION)
            self.ran.emit(item.data(0, _KEY))
            self.accept()
            QTimer.singleShot(0, action, action.trigger)  # after this dialog has closed


def rows(menus: Mapping[str, QMenu]) -> Iterator[ActionRow]:
    """All actions of the menus, with submenus filled, each with the title of its menu."""
    for menu in menus.values():
        menu.aboutToShow.emit()
        title = plain(menu.title())
        for action in menu.actions():
            if not action.isSeparator() and action.menu() is None:
                name = plain(action.text())
                yield ActionRow(f"{title}: {name}", name, action)


def ranked(found: Iterable[ActionRow], sought: str, recent: Mapping[str, int]) -> list[ActionRow]:
    """The rows that match, the best first; of equal ones the most recent, then as they come.

    Rows that match by their letters alone are ordered by how well they do.
    """
    keyed = []
    for row in found:
        kind = fuzzy.match(sought, row.name, row.text)
        if kind is not None:
            by_letters = kind is fuzzy.Match.LETTERS
            score = (fuzzy.score(sought, row.text) or 0) if by_letters else 0
            keyed.append(((-kind, -score, recent.get(row.key, len(recent))), row))
    return [row for _, row in sorted(keyed, key=lambda pair: pair[0])]


def plain(text: str) -> str:
    """A menu's text without mnemonics and without ``…``."""
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&").removesuffix("…")


def _item(row: ActionRow) -> QTreeWidgetItem:
    keys = row.action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    item = QTreeWidgetItem([row.text, keys])
    item.setToolTip(0, tooltip(row.action.statusTip()))
    item.setData(0, _ACTION, row.action)
    item.setData(0, _KEY, row.key)
    item.setDisabled(not row.action.isEnabled())
    return item
