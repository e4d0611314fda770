"""Help: the command palette, the sheet of keys and the manual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.panels.dialogs.command_palette import CommandPalette
from app.panels.dialogs.shortcuts import Shortcuts
from app.panels.help.window import ManualWindow

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDialog

    from app.shell.main_window import MainWindow


class HelpCommands(QObject):
    """What the Help menu shows."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._shown: QDialog | None = None
        self._manual: ManualWindow | None = None

    def find_command(self) -> None:
        """Search all actions."""
        if self._shown is None:
            self._show(CommandPalette(self._window.menus.by_name, self._window))

    def shortcuts(self) -> None:
        """Show all keys."""
        if self._shown is None:
            self._show(Shortcuts(self._window))

    def manual(self) -> None:
        """Show the manual, on the page where it was left."""
        if self._manual is None:
            self._manual = ManualWindow(self._window)
            self._manual.exampleRequested.connect(self._window.files.open_example)
            self._window.closed.connect(self._manual.close)
        self._manual.show()
        self._manual.raise_()
        self._manual.activateWindow()

    def _show(self, dialog: QDialog) -> None:
        self._shown = dialog
        dialog.finished.connect(self._forget)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _forget(self) -> None:
        self._shown = None
