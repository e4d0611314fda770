"""The Help menu: command palette, keyboard shortcuts, manual, and the About box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMessageBox

from app.panels.dialogs.command_palette import CommandPalette
from app.panels.dialogs.shortcuts import Shortcuts
from app.panels.help.window import ManualWindow
from runtime.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QDialog, QMenu, QWidget

    from app.panels.dialogs.shortcuts import Section
    from app.services.settings import Settings


class HelpCommands(QObject):
    """The palette searches ``menus``, and the list of shortcuts shows ``sections``."""

    exampleRequested = Signal(object)
    """Path of an example linked from the manual, to be opened as a copy."""

    def __init__(
        self,
        menus: Callable[[], Mapping[str, QMenu]],
        sections: Callable[[], list[Section]],
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._menus = menus
        self._sections = sections
        self._settings = settings
        self._shown: QDialog | None = None
        self._manual: ManualWindow | None = None

    def find_command(self) -> None:
        """Search all actions."""
        if self._shown is None:
            palette = CommandPalette(self._menus(), self._settings.commands, self._parent)
            palette.ran.connect(self._settings.remember_command)
            self._show(palette)

    def shortcuts(self) -> None:
        """Show all keyboard shortcuts."""
        if self._shown is None:
            self._show(Shortcuts(self._sections(), self._parent))

    def manual(self) -> None:
        """Show the manual at its last page."""
        if self._manual is None:
            self._manual = ManualWindow(self._parent)
            self._manual.exampleRequested.connect(self.exampleRequested)
        self._manual.show()
        self._manual.raise_()
        self._manual.activateWindow()

    def close_manual(self) -> None:
        """Close the manual, if it is open."""
        if self._manual is not None:
            self._manual.close()

    def about(self) -> None:
        """Show version and licence."""
        QMessageBox.about(
            self._parent,
            self.tr("About Gradwire"),
            self.tr(
                "<p><b>Gradwire {0}</b></p><p>Diagrams of differentiable arithmetic that show "
                "which wires carry gradient, and why not.</p><p>MIT licence.</p>"
            ).format(__version__),
        )

    def _show(self, dialog: QDialog) -> None:
        self._shown = dialog
        dialog.finished.connect(self._forget)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _forget(self) -> None:
        self._shown = None
