"""Builds the menus from the table of actions, and gives actions and canvas the user's shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.panels.menu import Menu
from gradwire.app.services.keymap import Binding, Keymap, native
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.translation import editor
from gradwire.app.shell.actions.rows import MENUS, PARENTS, Command, Separator, Submenu
from gradwire.app.shell.actions.table import COMMANDS, TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu, QMenuBar

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.shell.actions.rows import Owners

CANVAS = editor.noop("On the canvas")
"""The section of the keys that the canvas handles itself."""
_FIXED = frozenset({"leave"})
"""Keys of the canvas that stay, because panels and gestures use them too."""
_THERE, _WITHIN = Qt.ShortcutContext.WidgetShortcut, Qt.ShortcutContext.WidgetWithChildrenShortcut
"""A single key of the canvas means nothing to a button that lies on it."""
_TITLE, REASON = "title", "reason"
"""Properties of an action: its text with its keys, and why it can't work."""


def build(bar: QMenuBar, owners: Owners) -> tuple[dict[str, QAction], dict[str, QMenu]]:
    """Fill ``bar`` from the table; return actions, and menus with submenus, by name."""
    menus = {n: _menu(bar, title) for n, title in MENUS.items() if n not in PARENTS}
    made: dict[str, QAction] = {}
    groups: dict[str, QActionGroup] = {}
    for row in TABLE:
        if row.menu not in menus:
            menus[row.menu] = _menu(menus[PARENTS[row.menu]], MENUS[row.menu])
            menus[row.menu].menuAction().setObjectName(row.menu)
        menu = menus[row.menu]
        match row:
            case Separator():
                menu.addSeparator()
            case Submenu():
                menus[row.name] = _menu(menu, row.text)
                menus[row.name].menuAction().setStatusTip(editor.tr(row.tip))
            case Command():
                action = made[row.name] = _action(menu, row, owners)
                if row.group:
                    groups.setdefault(row.group, QActionGroup(bar)).addAction(action)
    return made, menus


def _menu(parent: QMenuBar | QMenu, title: str) -> QMenu:
    made = Menu(editor.tr(title), parent)
    parent.addMenu(made)
    return made


def _action(menu: QMenu, row: Command, owners: Owners) -> QAction:
    action = menu.addAction(editor.tr(row.text))
    action.setObjectName(row.name)
    action.setStatusTip(editor.tr(row.tip))
    action.setCheckable(row.checkable or bool(row.group))
    if row.on_canvas:
        owners.canvas.addAction(action)
    action.triggered.connect(lambda checked=False: row.does(owners))
    return action


def show_tip(action: QAction) -> None:
    """Show what an action is called, its keys, and why it can't work if so."""
    lines = (action.property(_TITLE), action.property(REASON))
    action.setToolTip(tooltip("\n".join(filter(None, lines))))


def bindings() -> Iterator[Binding]:
    """Every key of the table of actions and of the canvas. The canvas takes some from actions."""
    for row in COMMANDS.values():
        key = QKeySequence(row.shortcut).toString() if row.shortcut is not None else ""
        yield Binding(
            id=row.name, section=MENUS[row.menu], text=row.text, tip=row.tip, defaults=(key,)
        )
    for line in KEYS:
        if own := line.keys[1:] if line.action else line.keys:
            yield Binding(
                id=canvas_id(line.method),
                section=CANVAS,
                text=line.text,
                defaults=own,
                shown=editor.tr(line.shown) if own == line.keys else "",
                is_fixed=line.method in _FIXED,
            )


def canvas_id(method: str) -> str:
    """The id of the binding of a key of the canvas."""
    return f"canvas.{method}"


def canvas_keys(keymap: Keymap) -> dict[str, tuple[str, ...]]:
    """The current keys of the canvas by method, in the order of their defaults."""
    found = {}
    for line in KEYS:
        of_action = keymap.keys(line.action) if line.action else ()
        id = canvas_id(line.method)
        found[line.method] = of_action + (keymap.keys(id) if id in keymap.bindings else ())
    return found


class Shortcuts(QObject):
    """Keeps the shortcuts and tool tips of one window's actions, and the canvas's keys."""

    def __init__(
        self, keymap: Keymap, actions: Mapping[str, QAction], canvas: CanvasView, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._keymap = keymap
        self._actions = actions
        self._canvas = canvas
        keymap.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        for name, action in self._actions.items():
            (key,) = self._keymap.keys(name)
            action.setShortcut(QKeySequence(key))
            if COMMANDS[name].on_canvas:
                action.setShortcutContext(_WITHIN if "+" in key else _THERE)
            text = self._keymap.text(name)
            action.setProperty(_TITLE, f"{text} ({native(key)})" if key else text)
            show_tip(action)
        self._canvas.set_keys(canvas_keys(self._keymap))
