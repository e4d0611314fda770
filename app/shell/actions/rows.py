"""The menus, what rows of the table of actions are, and the objects that carry actions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtGui import QKeySequence

from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from PySide6.QtGui import QUndoStack
    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.commands.bookmarks import BookmarkCommands
    from gradwire.app.commands.clipboard import ClipboardCommands
    from gradwire.app.commands.compare import CompareCommands
    from gradwire.app.commands.edit import EditCommands
    from gradwire.app.commands.files import FileCommands
    from gradwire.app.commands.help import HelpCommands
    from gradwire.app.commands.importing import ImportCommands
    from gradwire.app.commands.library import LibraryCommands
    from gradwire.app.commands.pages import PageCommands
    from gradwire.app.commands.panels import PanelCommands
    from gradwire.app.commands.pictures import PictureCommands
    from gradwire.app.commands.presets import PresetCommands
    from gradwire.app.commands.run import RunCommands
    from gradwire.app.commands.sharing.exporting import ExportCommands
    from gradwire.app.commands.sharing.publishing import PublishCommands
    from gradwire.app.commands.targets import TargetCommands
    from gradwire.app.commands.view import ViewCommands
    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.gradient_check import GradientCheck
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.offering import LessonOffering
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.controllers.training.comparison import Comparison
    from gradwire.app.controllers.training.training import TrainingController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.panels.bars.find_bar import FindBar
    from gradwire.app.panels.palette.palette import Palette
    from gradwire.app.shell.audience import Audience
    from gradwire.app.shell.docks import Docks
    from gradwire.app.shell.presentation import Presentation
    from gradwire.app.shell.windows import Windows

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


@dataclass(frozen=True, kw_only=True)
class Owners:
    """The objects that carry out the actions of one window.

    Those that ``make_…`` are made when the first of their actions is called: what they import is
    needed for nothing else.
    """

    audience: Audience
    bookmarks: BookmarkCommands
    canvas: CanvasView
    clipboard: ClipboardCommands
    comparison: Comparison
    docks: Docks
    edit: EditCommands
    files: FileCommands
    find_bar: FindBar
    frame: QWidget
    gradient_check: GradientCheck
    help: HelpCommands
    history: QUndoStack
    imports: ImportCommands
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
    windows: Windows
    make_authoring: Callable[[], AuthoringController]
    make_costs: Callable[[], CostController]
    make_compare: Callable[[], CompareCommands]
    make_exports: Callable[[], ExportCommands]
    make_pictures: Callable[[], PictureCommands]
    make_predict: Callable[[], PredictController]
    make_publishing: Callable[[], PublishCommands]
    make_timeline: Callable[[], TimelineController]

    @cached_property
    def authoring(self) -> AuthoringController:
        """Writes the lesson of the diagram."""
        return self.make_authoring()

    @cached_property
    def costs(self) -> CostController:
        """Shows what time and memory each block takes."""
        return self.make_costs()

    @cached_property
    def compare(self) -> CompareCommands:
        """Compares with another diagram."""
        return self.make_compare()

    @cached_property
    def exports(self) -> ExportCommands:
        """Writes the diagram for other systems."""
        return self.make_exports()

    @cached_property
    def pictures(self) -> PictureCommands:
        """Draws the diagram into files, and prints it."""
        return self.make_pictures()

    @cached_property
    def predict(self) -> PredictController:
        """Asks for gradients and states before they are shown."""
        return self.make_predict()

    @cached_property
    def timeline(self) -> TimelineController:
        """Plays a training step on the canvas."""
        return self.make_timeline()

    @cached_property
    def publishing(self) -> PublishCommands:
        """Writes pages for readers and classes."""
        return self.make_publishing()


@dataclass(frozen=True, slots=True)
class Command:
    """An action: its menu, its texts, and the method of an owner that it calls.

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
