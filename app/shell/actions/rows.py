"""The menus, and what rows of the table of actions are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtGui import QKeySequence

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.shell.main_window import MainWindow

Shortcut: TypeAlias = QKeySequence.StandardKey | str | None


MENUS: Mapping[str, str] = MappingProxyType(
    {
        "file": editor.noop("&File"),
        "edit": editor.noop("&Edit"),
        "view": editor.noop("&View"),
        "add": editor.noop("&Add"),
        "align": editor.noop("A&lign"),
        "colour": editor.noop("Colou&r"),
        "copies": editor.noop("Cop&y As"),
        "exports": editor.noop("Export &for"),
        "pages": editor.noop("Pa&ges"),
        "presets": editor.noop("Pre&sets"),
        "audience": editor.noop("Au&dience"),
        "wires": editor.noop("&Wires"),
        "bookmarks": editor.noop("&Bookmarks"),
        "numbers": editor.noop("N&umbers on Wires"),
        "panels": editor.noop("&Panels"),
        "text": editor.noop("Te&xt Size"),
        "theme": editor.noop("&Theme"),
        "run": editor.noop("&Run"),
        "engine": editor.noop("En&gine"),
        "help": editor.noop("&Help"),
    }
)
"""Titles of the menus."""
PARENTS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("audience", "bookmarks", "numbers", "panels", "text", "theme"), "view")
    | {"engine": "run", "exports": "file"}
    | dict.fromkeys(("add", "align", "colour", "copies", "pages", "presets", "wires"), "edit")
)
"""The menus that are inside others."""


@dataclass(frozen=True, slots=True)
class Command:
    """An action: its menu, its texts, and what it calls of a window.

    Commands of the same ``group`` are mutually exclusive. The shortcut of an ``on_canvas`` command
    works only while the canvas has the focus, since text fields use the same keys.
    """

    name: str
    menu: str
    text: str
    does: Callable[[MainWindow], object]
    tip: str
    shortcut: Shortcut = None
    checkable: bool = False
    group: str = ""
    on_canvas: bool = False


@dataclass(frozen=True, slots=True)
class Submenu:
    """A submenu that is filled at run time."""

    name: str
    menu: str
    text: str
    tip: str


@dataclass(frozen=True, slots=True)
class Separator:
    """A separator between two groups of actions."""

    menu: str


Row: TypeAlias = Command | Submenu | Separator
