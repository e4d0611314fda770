"""What a context menu is about: the selected or focused item, or the page."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from gradwire.app.canvas.scene.focus import FocusKind
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
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
