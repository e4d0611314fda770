"""The menus, what rows of the table of actions are, and what carries actions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from PySide6.QtGui import QKeySequence

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from PySide6.QtGui import QUndoStack
    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.commands.bookmarks import BookmarkCommands
    from gradwire.app.commands.clipboard import ClipboardCommands
    from gradwire.app.commands.edit import EditCommands
    from gradwire.app.commands.files import FileCommands
    from gradwire.app.commands.help import HelpCommands
    from gradwire.app.commands.importing import ImportCommands
    from gradwire.app.commands.library import LibraryCommands
    from gradwire.app.commands.pages import PageCommands
    from gradwire.app.commands.panels import PanelCommands
    from gradwire.app.commands.presets import PresetCommands
    from gradwire.app.commands.run import RunCommands
    from gradwire.app.commands.targets import TargetCommands
    from gradwire.app.commands.view import ViewCommands
    from gradwire.app.controllers.audience import Audience
    from gradwire.app.controllers.gradient_check import GradientCheck
    from gradwire.app.controllers.lessons.offering import LessonOffering
    from gradwire.app.controllers.training.comparison import StopComparison
    from gradwire.app.controllers.training.training import TrainingController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.panels.bars.find_bar import FindBar
    from gradwire.app.panels.palette.palette import Palette
    from gradwire.app.shell.docks import Docks
    from gradwire.app.shell.lazy_parts import LazyParts
    from gradwire.app.shell.presentation import Presentation
    from gradwire.app.shell.windows import OpenWindows

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


class Owners(NamedTuple):
    """What carries out the actions of one window."""

    audience: Audience
    bookmarks: BookmarkCommands
    canvas: CanvasView
    clipboard: ClipboardCommands
    comparison: StopComparison
    docks: Docks
    edit: EditCommands
    files: FileCommands
    find_bar: FindBar
    frame: QWidget
    gradient_check: GradientCheck
    help: HelpCommands
    history: QUndoStack
    imports: ImportCommands
    lazy: LazyParts
    lessons: LessonOffering
    library: LibraryCommands
    navigation: Navigation
    pages: PageCommands
    palette: Palette
    panels: PanelCommands
    presentation: Presentation
    presets: PresetCommands
    run: RunCommands
    targets: TargetCommands
    training: TrainingController
    trial: Trial
    view: ViewCommands
    windows: OpenWindows


@dataclass(frozen=True, slots=True)
class Command:
    """An action: its menu, its texts, and what it calls of an owner.

    Commands of the same ``group`` are mutually exclusive. The shortcut of an ``on_canvas`` command
    works only while the canvas has the focus, since text fields use the same keys.
    """

    name: str
    menu: str
    text: str
    does: Callable[[Owners], object]
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
