"""Builds the menus from the table of actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QActionGroup

from gradwire.app.panels.menu import Menu
from gradwire.app.services.translation import editor
from gradwire.app.shell.actions.rows import MENUS, PARENTS, Command, Separator, Submenu
from gradwire.app.shell.actions.table import TABLE

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu, QMenuBar

    from gradwire.app.shell.main_window import MainWindow


def build(window: MainWindow) -> tuple[dict[str, QAction], dict[str, QMenu]]:
    """Fill the menu bar from the table; return actions, and menus with submenus, by name."""
    bar = window.menuBar()
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
                action = made[row.name] = _action(menu, row, window)
                if row.group:
                    groups.setdefault(row.group, QActionGroup(bar)).addAction(action)
    return made, menus


def _menu(parent: QMenuBar | QMenu, title: str) -> QMenu:
    made = Menu(editor.tr(title), parent)
    parent.addMenu(made)
    return made


def _action(menu: QMenu, row: Command, window: MainWindow) -> QAction:
    action = menu.addAction(editor.tr(row.text))
    action.setObjectName(row.name)
    action.setStatusTip(editor.tr(row.tip))
    action.setCheckable(row.checkable or bool(row.group))
    if row.on_canvas:
        window.canvas.addAction(action)
    action.triggered.connect(lambda checked=False: row.does(window))
    return action
