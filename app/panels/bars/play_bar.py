"""What bars that play something have in common: buttons with icons that follow the theme."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QToolButton, QWidget

from gradwire.app.panels.bars.icons import tool_icon
from gradwire.app.services.theme import LIGHT, Theme, scaled

_ICON = 18
"""Width of the icons at normal text size, px."""


class PlayBar(QFrame):
    """A bar with a button that plays and pauses. Bars name their icons in ``icons``."""

    played = Signal()
    """Play or pause."""
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.icons: dict[QToolButton, str] = {}
        """The names of the icons of buttons."""
        self._theme = LIGHT

    def icon_button(self, tip: str, pressed: Callable[[], object]) -> QToolButton:
        """A button that has an icon alone; ``tip`` says what it does."""
        button = QToolButton(self)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setAutoRaise(True)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(lambda: pressed())
        return button

    def show_icon(self, button: QToolButton, name: str, tip: str) -> None:
        """Let a button do something else."""
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        self.icons[button] = name
        self.draw_icons()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self.draw_icons()

    def draw_icons(self) -> None:
        """Draw all icons at the size of the text."""
        size = scaled(_ICON)
        for button, name in self.icons.items():
            button.setIcon(tool_icon(name, self._theme))
            button.setIconSize(QSize(size, size))
