"""An edge of the window: a button for each panel that is put away there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QStyle, QStyleOptionToolButton, QStylePainter, QToolBar, QToolButton

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QPaintEvent
    from PySide6.QtWidgets import QWidget


class EdgeBar(QToolBar):
    """Shows the titles of hidden panels; it is hidden itself without any."""

    panelRequested = Signal(str)
    """Name of the panel whose button was pressed."""

    def __init__(self, name: str, title: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.setMovable(False)
        self.setProperty("type", "edge")
        self.toggleViewAction().setVisible(False)
        self._titles: dict[str, str] = {}
        self.hide()

    def show_panels(self, titles: Mapping[str, str]) -> None:
        """Show a button for each panel, by its name and title."""
        if titles != self._titles:
            self._titles = dict(titles)
            self.clear()
            for name, title in titles.items():
                self._add(name, title)
        self.setVisible(bool(titles))

    def _add(self, name: str, title: str) -> None:
        upright = self.orientation() == Qt.Orientation.Vertical
        button = UprightButton(self) if upright else QToolButton(self)
        button.setObjectName(name)
        button.setText(title)
        button.setToolTip(self.tr("Show this panel"))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: self.panelRequested.emit(name))
        self.addWidget(button)


class UprightButton(QToolButton):
    """A tool button whose text reads from bottom to top."""

    def sizeHint(self) -> QSize:
        return super().sizeHint().transposed()

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionToolButton()
        self.initStyleOption(option)
        option.rect = option.rect.transposed()
        painter = QStylePainter(self)
        painter.translate(0, self.height())
        painter.rotate(-90.0)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)
        painter.end()
