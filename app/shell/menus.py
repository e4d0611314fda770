"""The menus that are filled when they are opened, and the context menus of the canvas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence

from gradwire.app.canvas.input.changes import MenuTarget
from gradwire.app.canvas.paint.wires import swatches
from gradwire.app.panels.menu import Menu
from gradwire.app.panels.start.welcome import HEADINGS
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.examples import ExampleGroup, examples
from gradwire.app.services.palette import colour_icon
from gradwire.app.services.plain_text import unmarked
from gradwire.app.services.theme import follow_theme
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import GradwireError

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QDockWidget, QMenu, QWidget

    from gradwire.app.commands.presets import PresetCommands
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.theme import Theme
    from gradwire.app.shell.windows import OpenWindows


_CLIPBOARD = ("", "cut", "copy", "duplicate", "delete")
_LOOKS = ("collapse", "colour")
_PLACE = ("", "zoom_selection", "copy_picture")

CONTEXT_MENUS: Mapping[MenuTarget, tuple[str, ...]] = MappingProxyType(
    {
        MenuTarget.CANVAS: (
            "quick_add", "paste", "add_note", "new_page", "", "select_all", "arrange", "",
            "zoom_fit", "leave_page", "legend", "", "copy_picture", "export",
        ),
        MenuTarget.BLOCK: (
            "explain", "inspect", "rename", "bypass", *_LOOKS, "presets", "", "own_parameters",
            "move_out", *_CLIPBOARD, "", "group", "fold", "add_frame", *_PLACE,
        ),
        MenuTarget.PAGE: (
            "enter_page", "inspect", "rename", *_LOOKS, "", "unique_page", "ungroup", *_CLIPBOARD,
            *_PLACE,
        ),
        MenuTarget.FORMULA: (
            "explain", "edit_formula", "inspect", "rename", "bypass", *_LOOKS, "presets", "",
            "unfold", *_CLIPBOARD, "", "group", "add_frame", *_PLACE,
        ),
        MenuTarget.STOP: (
            "try_selected", "switch_stop", "", "inspect", "rename", *_LOOKS, "presets", *_CLIPBOARD,
            *_PLACE,
        ),
        MenuTarget.PORT: ("explain", "", "wire_port", "add_at_port", "", "disconnect_port"),
        MenuTarget.WIRE: (
            "explain", "try_selected", "", "stop_wire", "quick_add", "bend_wire", "", "delete",
        ),
        MenuTarget.FRAME: ("rename", "colour", *_CLIPBOARD, *_PLACE),
        MenuTarget.NOTE: ("rename", "colour", *_CLIPBOARD, *_PLACE),
        MenuTarget.SELECTION: (
            "group", "fold", "add_frame", "arrange", "align", *_LOOKS, "presets", *_CLIPBOARD, "",
            "copy_formula",
            "copy_python", "export_selection", *_PLACE,
        ),
    }
)  # fmt: skip
"""Names of actions and of submenus by target; an empty name is a separator."""


def context_menu(
    parent: QWidget, target: MenuTarget, actions: Mapping[str, QAction], menus: Mapping[str, QMenu]
) -> QMenu:
    """The context menu for a target."""
    made = Menu(parent)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for name in CONTEXT_MENUS[target]:
        if not name:
            made.addSeparator()
        elif name in actions:
            made.addAction(actions[name])
        else:
            made.addAction(menus[name].menuAction())  # addMenu would delete it with this menu
    return made


class Menus(WindowPart):
    """Fills the submenus of one window; ``by_name`` has every menu."""

    exampleChosen = Signal(object)
    """Path of an example to open as a copy."""
    bookmarkChosen = Signal(object)
    """The View of a bookmark to go to."""
    fileChosen = Signal(object)
    """Path of a file to open."""

    def __init__(
        self,
        workspace: Workspace,
        by_name: Mapping[str, QMenu],
        docks: Mapping[str, QDockWidget],
        presets: PresetCommands,
        windows: OpenWindows,
    ) -> None:
        super().__init__(workspace)
        groups = {
            group: Menu(editor.tr(HEADINGS[group]), by_name["examples"]) for group in ExampleGroup
        }
        for menu in groups.values():
            by_name["examples"].addMenu(menu)
        self.by_name = {**by_name, **{f"examples_{g.name.lower()}": m for g, m in groups.items()}}
        self._presets = presets
        self._windows = windows
        for dock in docks.values():
            by_name["panels"].addAction(dock.toggleViewAction())
        for group, menu in groups.items():
            menu.aboutToShow.connect(partial(self._fill_examples, group, menu))
            menu.triggered.connect(lambda act: self.exampleChosen.emit(act.data()))
        by_name["bookmarks"].triggered.connect(self._choose_bookmark)
        by_name["bookmarks"].aboutToShow.connect(self._fill_bookmarks)
        by_name["presets"].triggered.connect(self._choose_preset)
        by_name["presets"].aboutToShow.connect(self._fill_presets)
        by_name["recent"].triggered.connect(lambda act: self.fileChosen.emit(act.data()))
        by_name["losses"].triggered.connect(lambda act: self._losses.choose(act.data()))
        by_name["windows"].triggered.connect(self._show_window)
        by_name["engine"].setToolTipsVisible(True)
        by_name["recent"].aboutToShow.connect(self._fill_recent)
        by_name["losses"].aboutToShow.connect(self._fill_losses)
        by_name["windows"].aboutToShow.connect(self._fill_windows)
        follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Show the colours of blocks in the shades of ``theme``."""
        for action in self.by_name["colour"].actions():
            action.setIcon(colour_icon(theme, action.objectName().removeprefix("colour_")))

    def _fill_examples(self, group: ExampleGroup, menu: QMenu) -> None:
        if menu.isEmpty():  # their files are read only now
            for example in [each for each in examples() if each.group is group]:
                action = menu.addAction(unmarked(example.title))
                action.setStatusTip(example.description.partition("\n")[0])
                action.setData(example.path)

    def _fill_bookmarks(self) -> None:
        menu = _emptied(self.by_name["bookmarks"])
        keys = self._windows.keymap.keys("canvas.bookmark")
        for number, view in enumerate(self._document.diagram.views, start=1):
            action = menu.addAction(unmarked(view.name))
            action.setStatusTip(self.tr("Go to this bookmark"))
            action.setData(view)
            if number <= len(keys):
                action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)  # only shown: the
                action.setShortcut(QKeySequence(keys[number - 1]))  # canvas handles the key

    def _fill_presets(self) -> None:
        menu = _emptied(self.by_name["presets"])
        try:
            offered = self._presets.offered()
        except GradwireError as error:
            action = menu.addAction(self.tr("The presets can't be read"))
            action.setStatusTip(str(error))
            action.setData("")
            action.setEnabled(False)
            return
        for preset in offered:
            action = menu.addAction(unmarked(preset.name))
            action.setStatusTip(self.tr("Give the selected blocks these parameters"))
            action.setData(preset)

    def _fill_recent(self) -> None:
        menu = self.by_name["recent"]
        menu.clear()
        present = self._windows.settings.recent
        for path in self._windows.settings.remembered:
            action = menu.addAction(unmarked(path.name))
            action.setStatusTip(str(path))
            action.setData(path)
            if path not in present:
                action.setText(self.tr("{0} (missing)").format(unmarked(path.name)))
                action.setEnabled(False)
        if menu.isEmpty():
            menu.addAction(self.tr("No recent files")).setEnabled(False)

    def _choose_bookmark(self, action: QAction) -> None:
        if action.data() is not None:
            self.bookmarkChosen.emit(action.data())

    def _choose_preset(self, action: QAction) -> None:
        if action.data() is not None:
            self._presets.apply(action.data())

    def _fill_windows(self) -> None:
        menu = self.by_name["windows"]
        menu.clear()
        for number, window in enumerate(self._windows.listed):
            mark = "*" if window.isWindowModified() else ""
            action = menu.addAction(unmarked(window.document.name) + mark)
            action.setCheckable(True)
            action.setChecked(window is self.parent())
            action.setStatusTip(str(window.document.path or ""))
            action.setData(number)

    def _fill_losses(self) -> None:
        menu = self.by_name["losses"]
        menu.clear()
        for name, loss in self._losses.choices():
            action = menu.addAction(unmarked(name))
            action.setCheckable(True)
            action.setChecked(loss == self._losses.switch.currentData())
            action.setIcon(self._losses.swatch(loss, swatches.ICON))
            action.setData(loss)

    def _show_window(self, action: QAction) -> None:
        self._windows.listed[action.data()].come_forward()


def _emptied(menu: QMenu) -> QMenu:
    """A menu without its entries of before, which have data, and with a separator at the end."""
    for action in menu.actions():
        if action.isSeparator() or action.data() is not None:
            menu.removeAction(action)
            action.deleteLater()
    menu.addSeparator()
    return menu
