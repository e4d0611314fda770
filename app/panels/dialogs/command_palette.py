"""The command palette: finds an action by a few letters and runs it with Enter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import line_edit, make_column
from gradwire.app.services.plain_text import tooltip

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu

_START = 8
"""Bonus for a letter at the start of a word."""
_NEXT = 5
"""Bonus for a letter directly after the previous match."""


def score(sought: str, text: str) -> int | None:
    """How well ``sought`` matches: its letters must occur in ``text`` in order; None otherwise.

    Letters at the start of words and adjacent letters score more; spaces are ignored. Of equal
    matches the shorter text wins. Takes len(sought) × len(text) steps.
    """
    letters = "".join(sought.split()).casefold()
    folded = text.casefold()
    # best[i]: the best score of the letters so far with the last one matched at i
    best: list[int | None] = [0] * len(folded)
    for count, letter in enumerate(letters):
        reached: int | None = None
        row: list[int | None] = [None] * len(folded)
        for i, other in enumerate(folded):
            before = best[i - 1] if i and count else None
            if before is not None and (reached is None or before > reached):
                reached = before
            if other != letter:
                continue
            bonus = _START if i == 0 or not folded[i - 1].isalnum() else 0
            options = [reached] if count else [0]
            if count and before is not None:
                options.append(before + _NEXT)
            known = [option for option in options if option is not None]
            row[i] = max(known) + bonus if known else None
        best = row
    found = [value for value in best if value is not None]
    return 100 * max(found) - len(text) if found else None


class Match(IntEnum):
    """How a line matches, from worst to best."""

    LETTERS = 1
    """Its letters occur in order."""
    WORDS = 2
    """Its letters are beginnings of successive words."""
    PREFIX = 3
    """The line's own name begins with it."""
    WHOLE = 4
    """It is the line's own name."""


def match(sought: str, name: str, text: str) -> Match | None:
    """How ``sought`` matches a line with ``text`` that ends in ``name``; None if it does not.

    Case is ignored, and so are spaces other than those within a beginning of the name.
    """
    wanted, own = " ".join(sought.casefold().split()), name.casefold()
    if wanted == own:
        return Match.WHOLE
    if own.startswith(wanted):
        return Match.PREFIX
    words = re.findall(r"[^\W_]+", text.casefold())
    if _begins_words(wanted.replace(" ", ""), words):
        return Match.WORDS
    return None if score(sought, text) is None else Match.LETTERS


def _begins_words(letters: str, words: list[str]) -> bool:
    """Whether ``letters`` consist of beginnings of some of ``words``, in order."""
    reached = {0}  # how many letters the words so far can account for
    for word in words:
        for start in list(reached):
            for end in range(start + 1, min(len(letters), start + len(word)) + 1):
                if word[end - start - 1] != letters[end - 1]:
                    break
                reached.add(end)
    return len(letters) in reached


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
        kind = match(sought, row.name, row.text)
        if kind is not None:
            by_letters = kind is Match.LETTERS
            points = (score(sought, row.text) or 0) if by_letters else 0
            keyed.append(((-kind, -points, recent.get(row.key, len(recent))), row))
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
