"""Builds the menus from the table of actions, and gives actions and canvas the user's shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from gradwire.app.canvas.input.bindings import KEYS
from gradwire.app.evaluation.worker import why_missing
from gradwire.app.panels.menu import Menu
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.keymap import Binding, Keymap, native
from gradwire.app.services.plain_text import tooltip, unmarked
from gradwire.app.services.translation import editor
from gradwire.app.shell.actions.table import (
    COMMANDS,
    MENUS,
    PARENTS,
    TABLE,
    Command,
    Separator,
    Submenu,
)
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from PySide6.QtWidgets import QMenu, QMenuBar

    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.settings import Settings
    from gradwire.app.shell.actions.table import Owners
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram

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


_MANY = 1000
"""Selected blocks among which none is looked for."""


class ActionStates(WindowPart):
    """Enables and checks the actions of one window."""

    def __init__(self, workspace: Workspace, by_name: Mapping[str, QAction]) -> None:
        super().__init__(workspace)
        self._by_name = by_name
        self._reasons: dict[str, str] = {}
        """Why actions can't work, by name; empty where they can."""
        self._closed: frozenset[str] = frozenset()
        self._canvas.selectionChanged.connect(self.show_selection)
        self._navigation.changed.connect(self._show_page)
        self._history = self._document.undo_stack
        self._document.historyChanged.connect(self._show_history)
        self._document.diagramChanged.connect(self._show_diagram)
        self._show_history()
        self._show_diagram(self._document.diagram)
        self.show_audience(is_open=False)
        self.show_training(is_begun=False)
        self.show_selection(self._canvas.view.selection)
        self._show_page()
        self.close_missing("jax")

    def show_selection(self, selection: Selection) -> None:
        """Enable the actions that apply to ``selection``."""
        has_wire = selection.wire is not None
        count = len(selection.blocks) + len(selection.notes)
        colours = (name for name in self._by_name if name.startswith("colour_"))
        aligning = (name for name in self._by_name if name.startswith("align_"))
        any_item = self.tr("Select a block, a note or a wire first.")
        self._require(selection.has_items or has_wire, any_item, "delete")
        self._require(has_wire, self.tr("Select a wire first."), "bend_wire", "stop_wire")
        item = self.tr("Select a block or a note first.")
        self._require(bool(count), item, "cut", "copy", "duplicate", "zoom_selection", *colours)
        self._require(bool(count), item, "align_grid")
        self._require(
            bool(selection.blocks), self.tr("Select a block first."),
            "group", "export_selection", "own_parameters", "move_out", "bypass", "collapse", "fold",
            "save_preset",
        )  # fmt: skip
        self._require(count == 1, self.tr("Select one block or one note first."), "rename")
        several = self.tr("Select two blocks or notes first.")
        self._require(count > 1, several, *(name for name in aligning if name != "align_grid"))
        is_one = len(selection.blocks) == 1
        self._require(is_one, self.tr("Select one block first."), "inspect")
        page = self.tr("Select a block that uses a page first.")
        has_page = self._has(selection, PageBlock)
        self._require(is_one and has_page, page, "enter_page")
        self._require(has_page, page, "ungroup", "unique_page")
        formula = self.tr("Select a Formula block first.")
        has_formula = self._has(selection, Formula)
        self._require(has_formula, formula, "unfold")
        self._require(is_one and has_formula, formula, "edit_formula")
        has_stop = self._has(selection, StopGradient)
        self._require(is_one and has_stop, self.tr("Select a StopGradient first."), "switch_stop")
        either = self.tr("Select a StopGradient or a wire first.")
        self._require(has_stop or has_wire, either, "try_selected")

    def _has(self, selection: Selection, kind: type[Block]) -> bool:
        """Whether a block of a kind is selected, or so many that looking would take long."""
        blocks, chosen = self._canvas.view.scene.page.blocks, selection.blocks
        return len(chosen) > _MANY or any(isinstance(blocks.get(name), kind) for name in chosen)

    def show_lesson(self, is_played: bool) -> None:
        """Disable what a lesson does itself while it is played."""
        self._require(not is_played, self.tr("A lesson is being played."), "predict")

    def show_audience(self, is_open: bool) -> None:
        """Enable what needs the window for the audience."""
        self._require(is_open, self.tr("First open the window for the audience."), "freeze")

    def show_training(self, is_begun: bool) -> None:
        """Enable what needs a training that has begun."""
        self._require(is_begun, self.tr("No training has begun."), "train_reset")

    def show_settings(self, settings: Settings) -> None:
        """Check the actions of what is chosen in the settings."""
        self._choose("text", settings.text, "normal")
        self._choose("theme", settings.theme.replace(" ", "_"), "system")
        self._choose("numbers", settings.wire_numbers, "gradient")
        self._choose("engine", settings.engine, "numpy")
        self._choose("numbers_on", settings.numbered_wires, "selection")
        self._by_name["reduced_motion"].setChecked(settings.reduced_motion)
        self._by_name["toolbar"].setChecked(settings.toolbar)

    def close(self, names: Iterable[str]) -> None:
        """Disable these actions, and enable those that were closed before."""
        before, self._closed = self._closed, frozenset(names)
        for name in before | self._closed:
            self._show(name)

    def close_missing(self, engine: str) -> None:
        """Disable the choice of an engine that is not installed, and say how to install it."""
        missing = why_missing(engine)
        text = self.tr("Not installed. To install it, run {0}.").format(missing)
        self._require(not missing, text, f"engine_{engine}")

    def _choose(self, group: str, name: str, otherwise: str) -> None:
        """Check an action of a group, or another one where the settings are not of this version."""
        known = f"{group}_{name}" in self._by_name
        self._by_name[f"{group}_{name if known else otherwise}"].setChecked(True)

    def _show_page(self) -> None:
        use, steps = self._navigation.use, self._navigation.steps
        self._require(bool(use), self.tr("This is the main page."), "leave_page")
        outside = self.tr("This is not the page of a Scan.")
        self._require(bool(steps), outside, "previous_step", "next_step")

    def _show_diagram(self, diagram: Diagram) -> None:
        lesson = diagram.lesson
        reason = self.tr("This diagram has no lesson.")
        same = self.tr("The numbers of its lesson don't vary by a seed.")
        varies = lesson is not None and bool(lesson.vary)
        self._require(varies, reason if lesson is None else same, "save_exercises")
        self._require(lesson is not None and bool(lesson.steps), reason, "lesson")

    def _show_history(self) -> None:
        stack, undo, redo = self._history, self._by_name["undo"], self._by_name["redo"]
        self._require(stack.canUndo(), self.tr("Nothing has been changed."), "undo")
        self._require(stack.canRedo(), self.tr("Nothing has been undone."), "redo")
        undo.setText(self.tr("&Undo {0}").format(unmarked(stack.undoText())).rstrip())
        redo.setText(self.tr("&Redo {0}").format(unmarked(stack.redoText())).rstrip())

    def _require(self, met: bool, otherwise: str, *names: str) -> None:
        """Enable actions if a condition is met; say ``otherwise`` why they can't work."""
        reason = "" if met else otherwise
        for name in names:
            if self._reasons.get(name) != reason:
                self._reasons[name] = reason
                self._show(name)

    def _show(self, name: str) -> None:
        closed = self.tr("It would show what you are asked.") if name in self._closed else ""
        reason, action = closed or self._reasons.get(name, ""), self._by_name[name]
        tip = editor.tr(COMMANDS[name].tip)
        action.setStatusTip(self.tr("{0}. {1}").format(tip, reason) if reason else tip)
        action.setProperty(REASON, reason)
        show_tip(action)
        action.setEnabled(not reason)
