"""The room of the canvas: one, or two side by side under titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QSplitter, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column

if TYPE_CHECKING:
    from PySide6.QtWidgets import QLabel


_GAP = 9
"""Between two halves, px: they are two drawings."""


class Halves(QSplitter):
    """Shows a canvas, and another one beside it while two diagrams are compared."""

    def __init__(self, canvas: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.titles: list[QLabel] = []
        self._halves: list[QWidget] = []
        self.setChildrenCollapsible(False)
        self.setHandleWidth(_GAP)
        self._add(canvas)
        self.titles[0].hide()

    def show_two(self, other: QWidget) -> None:
        """Show another canvas in the right half."""
        if len(self.titles) == 1:
            self._add(other)
        self.titles[0].show()
        self._halves[1].show()
        half = max(1, (self.width() - _GAP) // 2)
        self.setSizes([half, half])

    def show_one(self) -> None:
        """Give the first canvas all the room again, at once."""
        self.titles[0].hide()
        for half in self._halves[1:]:
            half.hide()
        self.refresh()
        if (layout := self._halves[0].layout()) is not None:
            layout.activate()

    def name(self, half: int, text: str, colour: QColor | None = None) -> None:
        """Write above a half what it shows; in the colour of its curves, if there is one."""
        title = self.titles[half]
        title.setText(text)
        if colour is not None:
            shown = QPalette(title.palette())
            shown.setColor(QPalette.ColorRole.WindowText, colour)
            title.setPalette(shown)

    def _add(self, canvas: QWidget) -> None:
        half = QWidget(self)
        title = labels.plain(parent=half)
        title.setContentsMargins(12, 4, 12, 4)
        font = title.font()
        font.setBold(True)
        title.setFont(font)
        self.titles.append(title)
        make_column(half, title, (canvas, 1), spacing=0)
        self.addWidget(half)
        self._halves.append(half)
