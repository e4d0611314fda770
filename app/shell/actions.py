"""What the editor can be told to do: one table of menus, shortcuts and explanations.

Texts stand here in English; translations have them under the context ``actions``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QCoreApplication, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenuBar, QWidget

Shortcut: TypeAlias = QKeySequence.StandardKey | str | None
Key = QKeySequence.StandardKey

_CONTEXT = "actions"


@dataclass(frozen=True, slots=True)
class Command:
    """One row: the method of ``Commands`` it calls and how it stands in the menu.

    Commands of one ``group`` exclude each other. A row without a name is a line; a ``submenu`` is
    filled by the window. ``on_canvas``: the keys work only while the canvas has the focus, since
    they mean something else where text is edited.
    """

    name: str
    menu: str
    text: str = ""
    tip: str = ""
    shortcut: Shortcut = None
    checkable: bool = False
    group: str = ""
    submenu: bool = False
    on_canvas: bool = False


def _line(menu: str) -> Command:
    return Command("", menu)


MENUS: Mapping[str, str] = MappingProxyType(
    {
        "file": "&File",
        "edit": "&Edit",
        "view": "&View",
        "align": "A&lign",
        "text": "Te&xt Size",
        "theme": "&Theme",
        "run": "&Run",
        "help": "&Help",
    }
)
"""Titles by menu; ``text`` and ``theme`` open inside ``view``, ``align`` inside ``edit``."""
_INSIDE = {"text": "view", "theme": "view", "align": "edit"}

TABLE: tuple[Command, ...] = (
    Command("new", "file", "&New",
            "Begin an empty diagram", Key.New),
    Command("new_window", "file", "New &Window",
            "Open one more window, empty", "Ctrl+Shift+N"),
    Command("open", "file", "&Open…",
            "Open a diagram file", Key.Open),
    Command("recent", "file", "Open &Recent",
            "Open a file that was open lately", submenu=True),
    _line("file"),
    Command("save", "file", "&Save",
            "Write the diagram to its file", Key.Save),
    Command("save_as", "file", "Save &As…",
            "Write the diagram to another file", "Ctrl+Shift+S"),
    Command("export", "file", "&Export Page…",
            "Write the page as a PNG, SVG or PDF", "Ctrl+E"),
    Command("export_selection", "file", "Export Se&lection…",
            "Write the selected blocks as a PNG, SVG or PDF", "Ctrl+Shift+E"),
    Command("print_page", "file", "&Print…",
            "Print the page on one sheet", Key.Print),
    Command("picture_legend", "file", "Le&gend in Pictures",
            "Draw the legend beside exported, copied and printed pages", checkable=True),
    _line("file"),
    Command("close_window", "file", "&Close Window",
            "Close this window", "Ctrl+W"),
    Command("quit", "file", "&Quit",
            "Close all windows", "Ctrl+Q"),
    Command("undo", "edit", "&Undo",
            "Take the last change back", Key.Undo),
    Command("redo", "edit", "&Redo",
            "Make the change again that was taken back", Key.Redo),
    _line("edit"),
    Command("add", "edit", "&Add Block…",
            "Search the palette; Enter adds the block", "Ctrl+Space"),
    Command("quick_add", "edit", "&Quick Add…",
            "Type three letters of a block where the pointer is: Tab, or a double-click"),
    Command("cut", "edit", "Cu&t",
            "Copy the selected blocks, and what selected frames hold, and remove them", Key.Cut,
            on_canvas=True),
    Command("copy", "edit", "&Copy",
            "Copy the selected blocks, and what selected frames hold, as text", Key.Copy,
            on_canvas=True),
    Command("copy_picture", "edit", "Copy as P&icture",
            "Copy the selection, or the page, as a picture", "Ctrl+Shift+C"),
    Command("paste", "edit", "&Paste",
            "Add the blocks of a copied text to the page", Key.Paste, on_canvas=True),
    Command("find", "edit", "&Find…",
            "Find blocks by name, type, state of their wires, or error", Key.Find),
    Command("duplicate", "edit", "D&uplicate",
            "Copy the selected blocks, and what selected frames hold, a step aside", "Ctrl+D",
            on_canvas=True),
    Command("delete", "edit", "&Delete",
            "Remove what is selected, or the marked wires; what a frame holds stays", Key.Delete,
            on_canvas=True),
    Command("bend_wire", "edit", "&Bend Wire",
            "Put a reroute point into the selected wire: B, or a double-click on the wire"),
    Command("rename", "edit", "Re&name",
            "Give the selected block another name", "F2", on_canvas=True),
    Command("select_all", "edit", "Select &All",
            "Select every block of the page", Key.SelectAll,
            on_canvas=True),
    _line("edit"),
    Command("group", "edit", "&Group into Page",
            "Move the selected blocks to a page that stands in their place", "Ctrl+G",
            on_canvas=True),
    Command("ungroup", "edit", "U&ngroup Page",
            "Put the blocks of the selected page in its place", "Ctrl+Shift+G", on_canvas=True),
    Command("new_page", "edit", "Ne&w Page",
            "Make a page, used by a block; double-click it to build inside"),
    Command("unique_page", "edit", "Make Page Uni&que",
            "Give the selected use of a page a copy of its own, which changes alone"),
    Command("add_note", "edit", "Add &Note",
            "Write a text on the page", "Ctrl+Shift+T", on_canvas=True),
    Command("add_frame", "edit", "Add &Frame",
            "Put a frame around the selected blocks; it takes them along", "Ctrl+Shift+F",
            on_canvas=True),
    Command("arrange", "edit", "Arran&ge",
            "Put the page, or several selected blocks, in order about where they are",
            "Ctrl+Shift+L"),
    Command("align_left", "align", "&Left",
            "Put the selected blocks' left edges in line"),
    Command("align_centre", "align", "&Centre",
            "Put the middles of the selected blocks above each other"),
    Command("align_right", "align", "&Right",
            "Put the selected blocks' right edges in line"),
    Command("align_top", "align", "&Top",
            "Put the selected blocks' upper edges in line"),
    Command("align_middle", "align", "&Middle",
            "Put the middles of the selected blocks side by side"),
    Command("align_bottom", "align", "&Bottom",
            "Put the selected blocks' lower edges in line"),
    Command("align_across", "align", "Distribute &Across",
            "Leave equal gaps from left to right"),
    Command("align_down", "align", "Distribute &Down",
            "Leave equal gaps from top to bottom"),
    Command("align_grid", "align", "&Snap to Grid",
            "Put each selected block on the grid"),
    Command("zoom_in", "view", "Zoom &In",
            "Show the page larger", Key.ZoomIn),
    Command("zoom_out", "view", "Zoom &Out",
            "Show the page smaller", Key.ZoomOut),
    Command("zoom_actual", "view", "&Actual Size",
            "Show the page at 100 %", "Ctrl+1"),
    Command("zoom_fit", "view", "&Fit Page",
            "Show the whole page", "Ctrl+0"),
    Command("zoom_selection", "view", "Fit &Selection",
            "Show the selected blocks as large as they fit", "Ctrl+2"),
    Command("leave_page", "view", "&Leave Page",
            "Go back to the page that uses this one", "Alt+Up"),
    _line("view"),
    Command("legend", "view", "Le&gend",
            "Show what the lanes beside the wires mean", "Ctrl+L", checkable=True),
    Command("thresholds", "view", "&Thresholds…",
            "Choose from where on a gradient counts as vanishing, exploding or partly zero"),
    Command("minimap", "view", "Mini-&map",
            "Turn the map of the whole page off or on; it shows while a part is out of view"),
    Command("losses", "view", "Gradient &of",
            "Choose the loss that lanes, gradients and reasons are about", submenu=True),
    Command("panels", "view", "&Panels",
            "Show and hide the panels", submenu=True),
    Command("next_panel", "view", "&Next Panel",
            "Give the keyboard to the next panel, or back to the canvas", "F6"),
    Command("previous_panel", "view", "Pre&vious Panel",
            "Give the keyboard to the panel before, or back to the canvas", "Shift+F6"),
    Command("larger_panel", "view", "Lar&ger Panel",
            "Make the panel with the keyboard larger", "Alt+Shift+Right"),
    Command("smaller_panel", "view", "Sma&ller Panel",
            "Make the panel with the keyboard smaller", "Alt+Shift+Left"),
    Command("move_panel", "view", "Mo&ve Panel",
            "Put the panel with the keyboard to the next side: left, bottom, right"),
    Command("windows", "view", "&Windows",
            "Go to another window", submenu=True),
    Command("reduced_motion", "view", "Reduced &Motion",
            "Let nothing move by itself", checkable=True),
    Command("text_small", "text", "&Small",
            "Small text in panels, menus and on the canvas", group="text"),
    Command("text_normal", "text", "&Normal",
            "Text as large as designed", group="text"),
    Command("text_large", "text", "&Large",
            "Large text in panels, menus and on the canvas", group="text"),
    Command("theme_system", "theme", "As the &System",
            "Light or dark as the desktop is", group="theme"),
    Command("theme_light", "theme", "&Light",
            "Dark ink on white", group="theme"),
    Command("theme_dark", "theme", "&Dark",
            "Light ink on black", group="theme"),
    Command("theme_high_contrast", "theme", "&High Contrast",
            "Strong lines and no quiet tints", group="theme"),
    Command("try_selected", "run", "&Try Open or Cut",
            "Try the selected stops open, or a cut on the selected wire, without changing anything",
            "Ctrl+T"),
    Command("evaluate", "run", "&Evaluate Now",
            "Compute all values and gradients again", "F5"),
    Command("check_gradients", "run", "&Check Gradients",
            "Compare the derivative of every block with a central difference", "Shift+F5"),
    Command("step", "run", "Gradient &Step",
            "Move every variable one step down its gradient", "F10"),
    Command("rate", "run", "&Learning Rate…",
            "Choose how far a gradient step goes"),
    Command("find_command", "help", "Command &Palette…",
            "Find any action by a few letters", "Ctrl+Shift+P"),
    Command("shortcuts", "help", "Keyboard &Shortcuts",
            "Show all keys", "F1"),
    Command("manual", "help", "&Manual",
            "Read and search the manual", "Ctrl+F1"),
    Command("examples", "help", "&Examples",
            "Open a copy of an example", submenu=True),
    _line("help"),
    Command("about", "help", "&About Gradwire",
            "Version and licence"),
)  # fmt: skip
"""Every action, menu by menu, in the order it is shown."""

CONTEXT = ("quick_add", "", "duplicate", "delete", "rename", "", "bend_wire", "try_selected", "",
           "group", "ungroup", "unique_page", "add_frame", "", "zoom_selection",
           "arrange")  # fmt: skip
"""Actions of the canvas's own menu; an empty name is a line."""


def translated(text: str) -> str:
    """A text of this table in the user's language."""
    return QCoreApplication.translate(_CONTEXT, text)


def build(
    bar: QMenuBar, targets: Sequence[QObject], canvas: QWidget
) -> tuple[dict[str, QAction], dict[str, QMenu]]:
    """Fill ``bar`` from the table; each action calls the method of its name of a target.

    Returns the actions and the menus (those that the window fills among them) by name.
    """
    menus: dict[str, QMenu] = {}
    for name, title in MENUS.items():
        if name not in _INSIDE:
            menus[name] = bar.addMenu(translated(title))
    actions: dict[str, QAction] = {}
    groups: dict[str, QActionGroup] = {}
    for command in TABLE:
        if command.menu not in menus:
            outer = menus[_INSIDE[command.menu]]
            menus[command.menu] = outer.addMenu(translated(MENUS[command.menu]))
        menu = menus[command.menu]
        if not command.name:
            menu.addSeparator()
        elif command.submenu:
            menus[command.name] = menu.addMenu(translated(command.text))
            menus[command.name].menuAction().setStatusTip(translated(command.tip))
        else:
            action = actions[command.name] = _action(menu, command, targets)
            action.setCheckable(command.checkable or bool(command.group))
            if command.group:
                groups.setdefault(command.group, QActionGroup(bar)).addAction(action)
            if command.on_canvas:
                action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
                canvas.addAction(action)
    return actions, menus


def context_menu(parent: QWidget, actions: Mapping[str, QAction]) -> QMenu:
    """The canvas's own menu: what can be done with the selection."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for name in CONTEXT:
        if name:
            menu.addAction(actions[name])
        else:
            menu.addSeparator()
    return menu


def _action(menu: QMenu, command: Command, targets: Sequence[QObject]) -> QAction:
    action = menu.addAction(translated(command.text))
    action.setObjectName(command.name)
    action.setStatusTip(translated(command.tip))
    if command.shortcut is not None:
        action.setShortcut(QKeySequence(command.shortcut))
    method = next(
        getattr(target, command.name) for target in targets if hasattr(target, command.name)
    )
    action.triggered.connect(lambda checked=False: method())
    return action
