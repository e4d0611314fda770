"""The View menu: zoom, theme, text size, motion, numbers on wires, and thresholds of the states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from gradwire.runtime.flow import Thresholds


class ViewCommands(WindowPart):
    """Zooms one canvas, and changes the appearance of all windows."""

    looksChanged = Signal()
    """A setting of the appearance of all windows was changed."""

    def zoom_by(self, factor: float) -> None:
        """Zoom by ``factor``."""
        self._canvas.set_zoom(self._canvas.zoom() * factor)

    def zoom_actual(self) -> None:
        """Show the page at 100 %."""
        self._canvas.set_zoom(self._canvas.actual_zoom())

    def choose_theme(self, name: str) -> None:
        """Choose the theme ``name``; ``system`` follows the desktop."""
        self._settings.theme = name
        self.looksChanged.emit()

    def choose_text(self, size: str) -> None:
        """Choose the text size, a key of ``TEXT_SIZES``."""
        self._settings.text = size
        self.looksChanged.emit()

    def choose_numbers(self, numbers: str) -> None:
        """Choose the numbers beside wires: ``value``, ``gradient``, ``both`` or ``none``."""
        self._settings.wire_numbers = numbers
        self.looksChanged.emit()

    def choose_numbered(self, wires: str) -> None:
        """Choose the wires with numbers: ``all``, or those of the ``selection``."""
        self._settings.numbered_wires = wires
        self.looksChanged.emit()

    def toggle_motion(self) -> None:
        """Turn animations off or on."""
        self._settings.reduced_motion = not self._settings.reduced_motion
        self.looksChanged.emit()

    def toggle_toolbar(self) -> None:
        """Show or hide the tool bar."""
        self._settings.toolbar = not self._settings.toolbar
        self.looksChanged.emit()

    def thresholds(self) -> None:
        """Open the dialog of thresholds, which leaves the lanes visible."""
        from gradwire.app.panels.dialogs.thresholds import ThresholdsDialog

        dialog = ThresholdsDialog(self._settings.thresholds, self._frame)
        dialog.chosen.connect(self._take_thresholds)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    def _take_thresholds(self, chosen: Thresholds) -> None:
        self._settings.thresholds = chosen
        self.looksChanged.emit()
