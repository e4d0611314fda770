"""The way back from inside a page: main, encoder, layer1."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app.panels import labels


class Breadcrumbs(QWidget):
    """A button for every page on the way here; hidden on the outermost one."""

    trailRequested = Signal(object)
    """Names of the blocks to have entered, a tuple."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(8, 4, 8, 4)
        self._row.setSpacing(2)
        self.hide()

    def show_trail(self, trail: tuple[str, ...]) -> None:
        """Show another place."""
        labels.clear(self._row)
        self.setVisible(bool(trail))
        for depth, name in enumerate(("main", *trail)):
            if depth:
                separator = QLabel("▸")
                separator.setForegroundRole(labels.Role.PlaceholderText)
                self._row.addWidget(separator)
            button = QToolButton(self)
            button.setText(name)
            button.setAutoRaise(True)
            button.setEnabled(depth < len(trail))
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(lambda _=False, to=trail[:depth]: self.trailRequested.emit(to))
            self._row.addWidget(button)
        self._row.addStretch(1)
