"""The context menus of the canvas: for each sort of item the actions that make sense there."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.focus import FocusKind
from gradwire.app.panels.menu import Menu
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu, QWidget

    from gradwire.app.canvas.state.view_state import ViewState


class MenuTarget(Enum):
    """The sorts of items that have a context menu of their own."""

    CANVAS = auto()
    BLOCK = auto()
    PAGE = auto()
    """A block that uses a page."""
    FORMULA = auto()
    """A Formula block."""
    STOP = auto()
    """A StopGradient."""
    PORT = auto()
    WIRE = auto()
    """A wire or one of its bends."""
    FRAME = auto()
    NOTE = auto()
    SELECTION = auto()
    """Several blocks, notes or bends."""


def target_of(view: ViewState) -> MenuTarget:
    """The focused port, or else what is selected, or else the page."""
    if view.focus is not None and view.focus.kind in (FocusKind.INPUT, FocusKind.OUTPUT):
        return MenuTarget.PORT
    blocks, notes, bends, wire = view.selection
    if len(blocks) + len(notes) + len(bends) > 1:
        return MenuTarget.SELECTION
    if blocks:
        return _of_block(view, *blocks)
    if notes:
        (name,) = notes
        return MenuTarget.FRAME if view.scene.page.notes[name].frame else MenuTarget.NOTE
    return MenuTarget.WIRE if bends or wire is not None else MenuTarget.CANVAS


def _of_block(view: ViewState, name: str) -> MenuTarget:
    match view.scene.page.blocks[name]:
        case StopGradient():
            return MenuTarget.STOP
        case PageBlock():
            return MenuTarget.PAGE
        case Formula():
            return MenuTarget.FORMULA
    return MenuTarget.BLOCK


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
