"""Closing windows at the end of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.app.shell.main_window import MainWindow


def give_up(window: MainWindow) -> None:
    """Close a window whatever is unsaved in it, or still being written."""
    if (typing := window.focusWidget()) is not None:
        typing.clearFocus()
    window.document.undo_stack.setClean()
    window.close()
