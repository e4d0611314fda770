"""Finding one's way: the command palette and the sheet of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.panels.dialogs.command_palette import CommandPalette
from app.panels.dialogs.shortcuts import Shortcuts

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDialog

    from app.shell.main_window import MainWindow


class HelpCommands(QObject):
    """Rows of the Help menu that show all others."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._shown: QDialog | None = None

    def find_command(self) -> None:
        """Search all actions."""
        if self._shown is None:
            self._show(CommandPalette(self._window.menus.by_name, self._window))

    def shortcuts(self) -> None:
        """Show all keys."""
        if self._shown is None:
            self._show(Shortcuts(self._window))

    def _show(self, dialog: QDialog) -> None:
        self._shown = dialog
        dialog.finished.connect(self._forget)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _forget(self) -> None:
        self._shown = None
