"""The table of all actions and menus, whose rows bind each to a method of a part."""

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
    from gradwire.app.controllers.lessons.offering import LessonOffering
    from gradwire.app.controllers.queries import GradientCheck
    from gradwire.app.controllers.training.comparison import StopComparison
    from gradwire.app.controllers.training.training import TrainingController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.panels.bars.find_bar import FindBar
    from gradwire.app.panels.palette.palette import Palette
    from gradwire.app.shell.docks import Docks
    from gradwire.app.shell.presentation import Presentation
    from gradwire.app.shell.window_parts import LazyParts
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


Key = QKeySequence.StandardKey

TABLE: tuple[Row, ...] = (
    Command("new", "file", editor.noop("&New"), lambda to: to.files.new(),
            editor.noop("Create an empty diagram"), shortcut=Key.New),
    Command("new_window", "file", editor.noop("New &Window"), lambda to: to.windows.new(),
            editor.noop("Open an empty window"), shortcut="Ctrl+Shift+N"),
    Command("open", "file", editor.noop("&Open…"), lambda to: to.files.open(),
            editor.noop("Open a diagram file"), shortcut=Key.Open),
    Command("import", "file", editor.noop("&Import Model…"), lambda to: to.imports.choose(),
            editor.noop("Import a model of another system, with its stops and where they are")),
    Submenu("recent", "file", editor.noop("Open &Recent"), editor.noop("Open a recent file")),
    Separator("file"),
    Command("save", "file", editor.noop("&Save"), lambda to: to.files.save(),
            editor.noop("Save the diagram"), shortcut=Key.Save),
    Command("save_as", "file", editor.noop("Save &As…"), lambda to: to.files.save_as(),
            editor.noop("Save the diagram to another file"), shortcut="Ctrl+Shift+S"),
    Command("compare", "file", editor.noop("Compare Wit&h…"), lambda to: to.lazy.compare.compare(),
            editor.noop("Show what differs from another file, and what that does to gradients")),
    Command("export", "file", editor.noop("&Export Picture…"), lambda to: to.lazy.pictures.export(),
            editor.noop("Export the page, or all pages, as PNG, SVG, PDF or TikZ"),
            shortcut="Ctrl+E"),
    Command("export_selection", "file", editor.noop("Export Se&lection…"),
            lambda to: to.lazy.pictures.export_selection(),
            editor.noop("Export the selected blocks as PNG, SVG, PDF or TikZ"),
            shortcut="Ctrl+Shift+E"),
    Command("export_torch", "exports", editor.noop("&PyTorch Source…"),
            lambda to: to.lazy.exports.export("torch"),
            editor.noop("Write modules of PyTorch, with the optimisers of the recipe")),
    Command("export_jax", "exports", editor.noop("&JAX Source…"),
            lambda to: to.lazy.exports.export("jax"),
            editor.noop("Write functions of JAX, their gradients and the recipe")),
    Command("export_numpy", "exports", editor.noop("&NumPy Source…"),
            lambda to: to.lazy.exports.export("numpy"),
            editor.noop("Write the forward and the backward pass step by step")),
    Command("export_onnx", "exports", editor.noop("&ONNX Model…"),
            lambda to: to.lazy.exports.export("onnx"),
            editor.noop("Write a model of the values, without gradients")),
    Command("publish", "file", editor.noop("Pu&blish Page…"),
            lambda to: to.lazy.publishing.publish(),
            editor.noop("Write a page that computes the diagram in any browser, offline")),
    Command("save_exercises", "file", editor.noop("Save E&xercises for a Class…"),
            lambda to: to.lazy.publishing.save_exercises(),
            editor.noop("Write pages of a lesson on which every learner has other numbers")),
    Command("print_page", "file", editor.noop("&Print…"), lambda to: to.lazy.pictures.print_page(),
            editor.noop("Print the page on one sheet"), shortcut=Key.Print),
    Separator("file"),
    Command("close_window", "file", editor.noop("&Close Window"), lambda to: to.frame.close(),
            editor.noop("Close this window"), shortcut="Ctrl+W"),
    Command("quit", "file", editor.noop("&Quit"), lambda to: to.windows.close_all(),
            editor.noop("Close all windows"), shortcut="Ctrl+Q"),
    Command("undo", "edit", editor.noop("&Undo"), lambda to: to.history.undo(),
            editor.noop("Undo the last change"), shortcut=Key.Undo),
    Command("redo", "edit", editor.noop("&Redo"), lambda to: to.history.redo(),
            editor.noop("Redo the last undone change"), shortcut=Key.Redo),
    Command("history", "edit", editor.noop("Undo &History"),
            lambda to: to.panels.show_panel("history"),
            editor.noop("List all changes, to go back or forward to any of them"),
            shortcut="Ctrl+Shift+H"),
    Separator("edit"),
    Command("add", "add", editor.noop("&Add Block…"), lambda to: to.palette.focus_search(),
            editor.noop("Search the palette; Enter adds the block"), shortcut="Ctrl+Space"),
    Command("quick_add", "add", editor.noop("&Quick Add…"), lambda to: to.canvas.quick_add(),
            editor.noop("Add a block by its name, or a formula; also by a double-click")),
    Command("add_note", "add", editor.noop("Add &Note"), lambda to: to.canvas.add_note(),
            editor.noop("Add a text note to the page"), shortcut="Ctrl+Shift+T", on_canvas=True),
    Command("add_frame", "add", editor.noop("Add &Frame"),
            lambda to: to.canvas.add_note(frame=True),
            editor.noop("Frame the selected blocks; they move with the frame"),
            shortcut="Ctrl+Shift+F", on_canvas=True),
    Command("cut", "edit", editor.noop("Cu&t"), lambda to: to.clipboard.cut(),
            editor.noop("Cut the selection, frames with their contents"), shortcut=Key.Cut,
            on_canvas=True),
    Command("copy", "edit", editor.noop("&Copy"), lambda to: to.clipboard.copy(),
            editor.noop("Copy the selection, frames with their contents"),
            shortcut=Key.Copy, on_canvas=True),
    Command("copy_picture", "copies", editor.noop("Copy as P&icture"),
            lambda to: to.lazy.pictures.copy_picture(),
            editor.noop("Copy a picture of the selection, or the page"), shortcut="Ctrl+Shift+C"),
    Command("copy_formula", "copies", editor.noop("Copy as F&ormula"),
            lambda to: to.clipboard.copy_formula(),
            editor.noop("Copy the selection, or the page, as a formula that can be pasted")),
    Command("copy_python", "copies", editor.noop("Copy as P&ython"),
            lambda to: to.clipboard.copy_python(),
            editor.noop("Copy the selection, or the page, as a Python program")),
    Command("paste", "edit", editor.noop("&Paste"), lambda to: to.clipboard.paste(),
            editor.noop("Paste blocks or a formula"), shortcut=Key.Paste, on_canvas=True),
    Command("find", "edit", editor.noop("&Find…"), lambda to: to.find_bar.open(),
            editor.noop("Find blocks by name, type, wire state or error"), shortcut=Key.Find),
    Command("duplicate", "edit", editor.noop("D&uplicate"), lambda to: to.clipboard.duplicate(),
            editor.noop("Duplicate the selection with its frames"), shortcut="Ctrl+D",
            on_canvas=True),
    Command("delete", "edit", editor.noop("&Delete"), lambda to: to.canvas.delete_selection(),
            editor.noop("Remove the marked wires or the selection; the contents of a frame stay"),
            shortcut=Key.Delete, on_canvas=True),
    Command("bend_wire", "wires", editor.noop("&Bend Wire"), lambda to: to.canvas.bend_wire(),
            editor.noop("Add a bend to the selected wire; also by a double-click on it")),
    Command("stop_wire", "wires", editor.noop("&Stop Wire"), lambda to: to.targets.stop_wire(),
            editor.noop("Insert a StopGradient into the selected wire"),
            shortcut="Ctrl+Shift+I", on_canvas=True),
    Command("switch_stop", "wires", editor.noop("Open or Close S&top"),
            lambda to: to.targets.switch_stop(),
            editor.noop("Let gradient through the selected StopGradient, or stop it again")),
    Command("wire_port", "wires", editor.noop("Begin &Wire"), lambda to: to.targets.wire_port(),
            editor.noop("Begin a wire at the focused port; arrow keys and Space end it")),
    Command("add_at_port", "wires", editor.noop("Add Block at &Port…"),
            lambda to: to.targets.add_at_port(),
            editor.noop("Add a block that is wired to the focused port")),
    Command("disconnect_port", "wires", editor.noop("&Disconnect Port"),
            lambda to: to.targets.disconnect_port(),
            editor.noop("Remove the wires of the focused port")),
    Command("inspect", "edit", editor.noop("&Inspect"), lambda to: to.targets.inspect(),
            editor.noop("Show the fields of the selected block")),
    Command("rename", "edit", editor.noop("Re&name"), lambda to: to.canvas.rename(),
            editor.noop("Rename the selected block"), shortcut="F2", on_canvas=True),
    Command("select_all", "edit", editor.noop("Select A&ll"), lambda to: to.canvas.select_all(),
            editor.noop("Select every block and note of the page"),
            shortcut=Key.SelectAll, on_canvas=True),
    Separator("edit"),
    Command("group", "pages", editor.noop("&Group into Page"), lambda to: to.pages.group(),
            editor.noop("Replace the selected blocks by a new page that contains them"),
            shortcut="Ctrl+G", on_canvas=True),
    Command("ungroup", "pages", editor.noop("U&ngroup Page"), lambda to: to.pages.ungroup(),
            editor.noop("Replace the selected page by its blocks"),
            shortcut="Ctrl+Shift+G", on_canvas=True),
    Command("fold", "pages", editor.noop("Fold into Form&ula"), lambda to: to.pages.fold(),
            editor.noop("Replace the selected blocks by one block with their expression"),
            shortcut="Ctrl+J", on_canvas=True),
    Command("unfold", "pages", editor.noop("Unfold Formula"), lambda to: to.pages.unfold(),
            editor.noop("Replace the selected Formula blocks by the blocks of their expressions"),
            shortcut="Ctrl+Shift+J", on_canvas=True),
    Command("edit_formula", "pages", editor.noop("Edit Formula"),
            lambda to: to.targets.edit_formula(),
            editor.noop("Edit the expression of the selected Formula block; also by a "
                        "double-click on it")),
    Command("new_page", "pages", editor.noop("Ne&w Page"), lambda to: to.pages.new_page(),
            editor.noop("Create a page; double-click its block to enter it")),
    Command("unique_page", "pages", editor.noop("Make Page Uni&que"),
            lambda to: to.pages.unique_page(),
            editor.noop("Give the selected page block its own copy of the page")),
    Command("save_to_library", "pages", editor.noop("Save Page to Librar&y…"),
            lambda to: to.library.save(),
            editor.noop("Share the page of the selected block, or this page, between files")),
    Command("update_from_library", "pages", editor.noop("&Update Page from Library"),
            lambda to: to.library.update(),
            editor.noop("Replace the page, in all its uses, by that of the library")),
    Command("library_folder", "pages", editor.noop("Library Fol&der…"),
            lambda to: to.library.choose_folder(),
            editor.noop("Choose the folder of the pages that you share between files")),
    Command("bypass", "edit", editor.noop("&Bypass"), lambda to: to.edit.bypass(),
            editor.noop("Let an input go through the selected blocks, which compute nothing; "
                        "again, to let them work"), shortcut="Ctrl+M", on_canvas=True),
    Command("collapse", "edit", editor.noop("Collapse or E&xpand"), lambda to: to.edit.collapse(),
            editor.noop("Shrink the selected blocks to their titles; again, to show them in full"),
            shortcut="Ctrl+H", on_canvas=True),
    Command("colour_red", "colour", editor.noop("&Red"), lambda to: to.edit.colour("red"),
            editor.noop("Colour the selected blocks, frames and notes red")),
    Command("colour_orange", "colour", editor.noop("&Orange"), lambda to: to.edit.colour("orange"),
            editor.noop("Colour the selected blocks, frames and notes orange")),
    Command("colour_yellow", "colour", editor.noop("&Yellow"), lambda to: to.edit.colour("yellow"),
            editor.noop("Colour the selected blocks, frames and notes yellow")),
    Command("colour_green", "colour", editor.noop("&Green"), lambda to: to.edit.colour("green"),
            editor.noop("Colour the selected blocks, frames and notes green")),
    Command("colour_blue", "colour", editor.noop("&Blue"), lambda to: to.edit.colour("blue"),
            editor.noop("Colour the selected blocks, frames and notes blue")),
    Command("colour_purple", "colour", editor.noop("&Purple"), lambda to: to.edit.colour("purple"),
            editor.noop("Colour the selected blocks, frames and notes purple")),
    Command("colour_grey", "colour", editor.noop("Gr&ey"), lambda to: to.edit.colour("grey"),
            editor.noop("Colour the selected blocks, frames and notes grey")),
    Command("colour_none", "colour", editor.noop("&No Colour"), lambda to: to.edit.colour(""),
            editor.noop("Take the colour from the selected blocks, frames and notes")),
    Command("own_parameters", "edit", editor.noop("Own Para&meters"),
            lambda to: to.edit.own_parameters(),
            editor.noop("Give open weights and biases of the selected blocks variables inside them"
                        ", and move those that drive nothing else in"), shortcut="Ctrl+Shift+O"),
    Command("move_out", "edit", editor.noop("Mo&ve Out to Variables"),
            lambda to: to.edit.move_out_parameters(),
            editor.noop("Replace variables inside the selected blocks by Variable blocks"),
            shortcut="Ctrl+Shift+M"),
    Command("save_preset", "presets", editor.noop("&Save as Preset…"), lambda to: to.presets.save(),
            editor.noop("Keep the parameters of the selected block, for other blocks of its type")),
    Command("rename_preset", "presets", editor.noop("&Rename Preset…"),
            lambda to: to.presets.rename(),
            editor.noop("Choose a preset, and give it another name")),
    Command("delete_preset", "presets", editor.noop("&Delete Preset…"),
            lambda to: to.presets.delete(),
            editor.noop("Choose a preset to delete; blocks that have its parameters keep them")),
    Command("arrange", "edit", editor.noop("Arrang&e"), lambda to: to.edit.arrange(),
            editor.noop("Lay out the page, or the selected blocks, along the flow of values"),
            shortcut="Ctrl+Shift+L"),
    Command("align_left", "align", editor.noop("&Left"), lambda to: to.canvas.align("left"),
            editor.noop("Align the left edges of the selected blocks")),
    Command("align_centre", "align", editor.noop("&Centre"), lambda to: to.canvas.align("centre"),
            editor.noop("Centre the selected blocks on a vertical line")),
    Command("align_right", "align", editor.noop("&Right"), lambda to: to.canvas.align("right"),
            editor.noop("Align the right edges of the selected blocks")),
    Command("align_top", "align", editor.noop("&Top"), lambda to: to.canvas.align("top"),
            editor.noop("Align the top edges of the selected blocks")),
    Command("align_middle", "align", editor.noop("&Middle"), lambda to: to.canvas.align("middle"),
            editor.noop("Centre the selected blocks on a horizontal line")),
    Command("align_bottom", "align", editor.noop("&Bottom"), lambda to: to.canvas.align("bottom"),
            editor.noop("Align the bottom edges of the selected blocks")),
    Command("align_across", "align", editor.noop("Distribute &Across"),
            lambda to: to.canvas.align("across"),
            editor.noop("Space the selected blocks evenly from left to right")),
    Command("align_down", "align", editor.noop("Distribute &Down"),
            lambda to: to.canvas.align("down"),
            editor.noop("Space the selected blocks evenly from top to bottom")),
    Command("align_grid", "align", editor.noop("&Snap to Grid"), lambda to: to.canvas.align("grid"),
            editor.noop("Move each selected block to the nearest grid point")),
    Command("zoom_in", "view", editor.noop("Zoom &In"), lambda to: to.view.zoom_by(1.25),
            editor.noop("Zoom in"), shortcut=Key.ZoomIn),
    Command("zoom_out", "view", editor.noop("Zoom &Out"), lambda to: to.view.zoom_by(0.8),
            editor.noop("Zoom out"), shortcut=Key.ZoomOut),
    Command("zoom_actual", "view", editor.noop("&Actual Size"), lambda to: to.view.zoom_actual(),
            editor.noop("Zoom to 100 %"), shortcut="Ctrl+1"),
    Command("zoom_fit", "view", editor.noop("&Fit Page"), lambda to: to.canvas.zoom_to_fit(),
            editor.noop("Zoom to show the whole page"), shortcut="Ctrl+0"),
    Command("zoom_selection", "view", editor.noop("Fit &Selection"),
            lambda to: to.canvas.zoom_to_selection(),
            editor.noop("Zoom to the selected blocks"), shortcut="Ctrl+2"),
    Command("enter_page", "view", editor.noop("Enter Pa&ge"), lambda to: to.targets.enter_page(),
            editor.noop("Show the page that the selected block uses")),
    Command("leave_page", "view", editor.noop("&Leave Page"), lambda to: to.navigation.leave(),
            editor.noop("Go back to the page that uses this one"), shortcut="Alt+Up"),
    Command("previous_step", "view", editor.noop("P&revious Step"),
            lambda to: to.navigation.step(-1),
            editor.noop("Show the page of a Scan at the step before this one"),
            shortcut="Alt+Left"),
    Command("next_step", "view", editor.noop("Ne&xt Step"), lambda to: to.navigation.step(1),
            editor.noop("Show the page of a Scan at the step after this one"),
            shortcut="Alt+Right"),
    Command("bookmark_view", "bookmarks", editor.noop("&Bookmark View…"),
            lambda to: to.bookmarks.add(),
            editor.noop("Give what is in view a name to come back to"), shortcut="Ctrl+Shift+B"),
    Command("edit_bookmarks", "bookmarks", editor.noop("&Edit Bookmarks…"),
            lambda to: to.bookmarks.edit(), editor.noop("Rename, order and remove bookmarks")),
    Separator("view"),
    Command("legend", "view", editor.noop("Le&gend"), lambda to: to.canvas.legend.toggle(),
            editor.noop("Explain the lanes beside the wires"), shortcut="Ctrl+L", checkable=True),
    Command("costs", "view", editor.noop("&Costs of Blocks"), lambda to: to.lazy.costs.toggle(),
            editor.noop("Measure what time and memory each block takes, and show it by colour"),
            shortcut="Ctrl+Shift+K", checkable=True),
    Command("thresholds", "view", editor.noop("&Thresholds…"), lambda to: to.view.thresholds(),
            editor.noop("Choose when a gradient counts as vanishing, exploding or partly zero")),
    Command("minimap", "view", editor.noop("Mini-&map"), lambda to: to.canvas.minimap.toggle(),
            editor.noop("Turn the map of the page on or off; it shows while part of the page "
                         "is out of view")),
    Command("present", "view", editor.noop("P&resent"), lambda to: to.presentation.toggle(),
            editor.noop("Show pages and frames on the full screen, in large type, by arrow keys"),
            shortcut="F11"),
    Command("audience", "audience", editor.noop("Audience &Window"),
            lambda to: to.audience.toggle(),
            editor.noop("Show the canvas in a second window, for a projector"), checkable=True),
    Command("freeze", "audience", editor.noop("&Freeze Audience"), lambda to: to.audience.freeze(),
            editor.noop("Keep what the audience sees, or let it follow"),
            shortcut="Ctrl+F11", checkable=True),
    Submenu("losses", "view", editor.noop("Gradient &of"),
            editor.noop("Choose the loss for lanes, gradients and explanations")),
    Command("toolbar", "view", editor.noop("Tool&bar"), lambda to: to.view.toggle_toolbar(),
            editor.noop("Show or hide the bar with the most frequent actions"), checkable=True),
    Command("put_panels_away", "panels", editor.noop("Panels to the &Edges"),
            lambda to: to.docks.toggle(),
            editor.noop("Put all panels away to the edges of the window, or restore them"),
            shortcut="F9"),
    Command("next_panel", "panels", editor.noop("&Next Panel"), lambda to: to.panels.next_panel(),
            editor.noop("Move the keyboard focus to the next panel or the canvas"), shortcut="F6"),
    Command("previous_panel", "panels", editor.noop("Pre&vious Panel"),
            lambda to: to.panels.previous_panel(),
            editor.noop("Move the keyboard focus to the previous panel or the canvas"),
            shortcut="Shift+F6"),
    Command("larger_panel", "panels", editor.noop("Lar&ger Panel"),
            lambda to: to.panels.larger_panel(),
            editor.noop("Enlarge the panel with the keyboard focus"), shortcut="Alt+Shift+Right"),
    Command("smaller_panel", "panels", editor.noop("Sma&ller Panel"),
            lambda to: to.panels.smaller_panel(),
            editor.noop("Shrink the panel with the keyboard focus"), shortcut="Alt+Shift+Left"),
    Command("move_panel", "panels", editor.noop("Mo&ve Panel"), lambda to: to.panels.move_panel(),
            editor.noop("Move the panel with the keyboard focus: left, bottom, right")),
    Separator("panels"),
    Submenu("windows", "view", editor.noop("&Windows"), editor.noop("Go to another window")),
    Command("reduced_motion", "view", editor.noop("Reduced &Motion"),
            lambda to: to.view.toggle_motion(), editor.noop("Turn off animations"), checkable=True),
    Command("numbers_value", "numbers", editor.noop("&Value"),
            lambda to: to.view.choose_numbers("value"),
            editor.noop("Show the value that a wire carries"), group="numbers"),
    Command("numbers_gradient", "numbers", editor.noop("&Gradient"),
            lambda to: to.view.choose_numbers("gradient"),
            editor.noop("Show the gradient that a wire brings back"), group="numbers"),
    Command("numbers_both", "numbers", editor.noop("&Both"),
            lambda to: to.view.choose_numbers("both"),
            editor.noop("Show value and gradient of a wire"), group="numbers"),
    Command("numbers_none", "numbers", editor.noop("&None"),
            lambda to: to.view.choose_numbers("none"),
            editor.noop("Show no numbers beside wires, only states"), group="numbers"),
    Separator("numbers"),
    Command("numbers_on_all", "numbers", editor.noop("On &All Wires"),
            lambda to: to.view.choose_numbered("all"),
            editor.noop("Show the numbers on every wire where there is room"), group="numbers_on"),
    Command("numbers_on_selection", "numbers", editor.noop("On the &Selection"),
            lambda to: to.view.choose_numbered("selection"),
            editor.noop("Show the numbers on the selected wire, and at the selected blocks"),
            group="numbers_on"),
    Command("text_small", "text", editor.noop("&Small"), lambda to: to.view.choose_text("small"),
            editor.noop("Use small text in panels, menus and on the canvas"), group="text"),
    Command("text_normal", "text", editor.noop("&Normal"), lambda to: to.view.choose_text("normal"),
            editor.noop("Use the default text size"), group="text"),
    Command("text_large", "text", editor.noop("&Large"), lambda to: to.view.choose_text("large"),
            editor.noop("Use large text in panels, menus and on the canvas"), group="text"),
    Command("theme_system", "theme", editor.noop("&System"),
            lambda to: to.view.choose_theme("system"),
            editor.noop("Follow the theme of the desktop"), group="theme"),
    Command("theme_light", "theme", editor.noop("&Light"), lambda to: to.view.choose_theme("light"),
            editor.noop("Dark text on white"), group="theme"),
    Command("theme_dark", "theme", editor.noop("&Dark"), lambda to: to.view.choose_theme("dark"),
            editor.noop("Light text on a dark background"), group="theme"),
    Command("theme_high_contrast", "theme", editor.noop("&High Contrast"),
            lambda to: to.view.choose_theme("high contrast"),
            editor.noop("Bright lines and text on black"), group="theme"),
    Command("explain", "run", editor.noop("&Why"), lambda to: to.targets.explain(),
            editor.noop("Explain the gradient of the selected wire, port or variable")),
    Command("try_selected", "run", editor.noop("&Try Opening or Cutting"),
            lambda to: to.trial.try_selected(),
            editor.noop("Try opening the selected stops, or cutting the selected wire, "
                         "without changing the diagram"), shortcut="Ctrl+T"),
    Command("evaluate", "run", editor.noop("&Evaluate Now"), lambda to: to.run.evaluate(),
            editor.noop("Recompute all values and gradients"), shortcut="F5"),
    Command("cancel", "run", editor.noop("C&ancel Evaluation"), lambda to: to.run.cancel(),
            editor.noop("Stop everything that is being computed"), shortcut="Ctrl+."),
    Command("check_gradients", "run", editor.noop("&Check Gradients"),
            lambda to: to.gradient_check.check_gradients(),
            editor.noop("Compare every block's derivative with a central difference"),
            shortcut="Shift+F5"),
    Command("train", "run", editor.noop("&Play Training"), lambda to: to.training.toggle(),
            editor.noop("Train by the recipe of the diagram until it is paused"), shortcut="F7",
            checkable=True),
    Command("step", "run", editor.noop("Training &Step"), lambda to: to.training.step(),
            editor.noop("Make one step of training"), shortcut="F10"),
    Command("train_reset", "run", editor.noop("&Reset Training"), lambda to: to.training.reset(),
            editor.noop("Go back to the values with which the training began")),
    Command("train_compare", "run", editor.noop("Compare Trai&ning"),
            lambda to: to.comparison.toggle(),
            editor.noop("Train with stops closed and open, side by side, from the same values"),
            checkable=True),
    Command("derivative", "run", editor.noop("Deri&vative Card"),
            lambda to: to.panels.show_panel("derivative"),
            editor.noop("Show the formula of the selected block, its rules, and its derivative in "
                         "numbers"), shortcut="D", on_canvas=True),
    Command("timeline", "run", editor.noop("Ti&meline"), lambda to: to.lazy.timeline.toggle(),
            editor.noop("Play a training step: forward, seed, backward and update, event by event"),
            shortcut="F8", checkable=True),
    Command("predict", "run", editor.noop("&Predict"), lambda to: to.lazy.predict.toggle(),
            editor.noop("Hide values, gradients and states, say what they will be, and compare"),
            shortcut="P", checkable=True, on_canvas=True),
    Command("lesson", "run", editor.noop("Play &Lesson"), lambda to: to.lessons.play(),
            editor.noop("Play the lesson of the diagram on a copy of it, or leave it"),
            shortcut="Shift+F8"),
    Command("write_lesson", "run", editor.noop("&Write Lesson"),
            lambda to: to.lazy.authoring.show(),
            editor.noop("Write the lesson of the diagram: its steps, what they ask, and hints")),
    Command("rate", "run", editor.noop("Learning &Rate…"), lambda to: to.run.rate(),
            editor.noop("Choose the learning rate of gradient steps")),
    Command("engine_numpy", "engine", editor.noop("&NumPy"), lambda to: to.run.use_engine("numpy"),
            editor.noop("Compute at once, block by block"), group="engine"),
    Command("engine_jax", "engine", editor.noop("&JAX"), lambda to: to.run.use_engine("jax"),
            editor.noop("Compile the diagram first, which takes seconds; then large ones are fast"),
            group="engine"),
    Command("doctor", "run", editor.noop("&Doctor"), lambda to: to.panels.show_panel("doctor"),
            editor.noop("List what is wrong with the gradients, the worst first"),
            shortcut="Ctrl+Shift+D"),
    Command("find_command", "help", editor.noop("Command &Palette…"),
            lambda to: to.help.find_command(),
            editor.noop("Find any action by typing a few letters"), shortcut="Ctrl+Shift+P"),
    Command("shortcuts", "help", editor.noop("Keyboard &Shortcuts"), lambda to: to.help.shortcuts(),
            editor.noop("Search, change, export and import all keyboard shortcuts"), shortcut="F1"),
    Command("manual", "help", editor.noop("&Manual"), lambda to: to.help.manual(),
            editor.noop("Read and search the manual"), shortcut="Ctrl+F1"),
    Command("tour", "help", editor.noop("&Tour"), lambda to: to.help.tourRequested.emit(),
            editor.noop("Learn by doing, in three minutes, on a diagram of its own")),
    Submenu("examples", "help", editor.noop("&Examples"), editor.noop("Open an example as a copy")),
    Separator("help"),
    Command("about", "help", editor.noop("&About Gradwire"), lambda to: to.help.about(),
            editor.noop("Show the version and the licence")),
)  # fmt: skip
"""Every action, menu by menu, in the order shown."""

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {row.name: row for row in TABLE if isinstance(row, Command)}
)
"""The commands of the table, by name."""
