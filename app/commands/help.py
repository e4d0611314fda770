"""The Help menu: command palette, keyboard shortcuts, manual, and the About box."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMessageBox

from gradwire.app.panels.workspace import WindowPart
from gradwire.runtime.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from PySide6.QtWidgets import QMenu

    from gradwire.app.panels.dialogs.command_palette import CommandPalette
    from gradwire.app.panels.dialogs.shortcuts import ShortcutSheet
    from gradwire.app.panels.help.window import ManualWindow
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.keymap import Keymap


class HelpCommands(WindowPart):
    """The palette searches ``menus``, and the sheet of shortcuts shows ``keymap``."""

    exampleRequested = Signal(object)
    """Path of an example linked from the manual, to be opened as a copy."""
    tourRequested = Signal()
    """The tour is to begin."""

    def __init__(
        self, workspace: Workspace, menus: Callable[[], Mapping[str, QMenu]], keymap: Keymap
    ) -> None:
        super().__init__(workspace)
        self._menus = menus
        self._keymap = keymap
        self._palette: CommandPalette | None = None
        self._sheet: ShortcutSheet | None = None
        self._manual: ManualWindow | None = None

    def find_command(self) -> None:
        """Search all actions."""
        if self._palette is None:
            from gradwire.app.panels.dialogs.command_palette import CommandPalette

            palette = CommandPalette(self._menus(), self._settings.commands, self._frame)
            palette.ran.connect(self._settings.remember_command)
            palette.finished.connect(self._forget_palette)
            palette.finished.connect(palette.deleteLater)
            palette.open()
            self._palette = palette

    def shortcuts(self) -> None:
        """Show all keyboard shortcuts beside the diagram, to be searched and changed."""
        if self._sheet is None:
            from gradwire.app.panels.dialogs.shortcuts import ShortcutSheet

            self._sheet = ShortcutSheet(self._keymap, self._frame)
        self._sheet.show()
        self._sheet.raise_()
        self._sheet.activateWindow()

    def manual(self) -> None:
        """Show the manual at its last page."""
        if self._manual is None:
            from gradwire.app.panels.help.window import ManualWindow  # which few starts need

            self._manual = ManualWindow(self._frame)
            self._manual.exampleRequested.connect(self.exampleRequested)
        self._manual.show()
        self._manual.raise_()
        self._manual.activateWindow()

    def manual_page(self, page: str, word: str) -> None:
        """Show a page of the manual, with the places of a word marked."""
        self.manual()
        assert self._manual is not None  # it was just shown
        self._manual.browser.show_page(page)
        self._manual.browser.highlight([word])

    def close_manual(self) -> None:
        """Close the manual, if it is open."""
        if self._manual is not None:
            self._manual.close()

    def about(self) -> None:
        """Show version and licence."""
        QMessageBox.about(
            self._frame,
            self.tr("About Gradwire"),
            self.tr(
                "<p><b>Gradwire {0}</b></p><p>Diagrams of differentiable arithmetic that show "
                "which wires carry gradient, and why not.</p><p>MIT licence.</p>"
            ).format(__version__),
        )

    def _forget_palette(self) -> None:
        self._palette = None
