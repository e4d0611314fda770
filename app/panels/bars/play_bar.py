"""What bars that play something have in common: buttons with icons that follow the theme."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QToolButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.bars.toolbar import tool_icon
from gradwire.app.panels.layouts import tool_button
from gradwire.app.services.theme import LIGHT, Theme, scaled

_ICON = 18
"""Width of the icons at normal text size, px."""


class PlayBar(QFrame):
    """A bar with a button that plays and pauses. Bars name their icons in ``icons``."""

    played = Signal()
    """Play or pause."""
    closed = Signal()

    def __init__(self, parent: QWidget | None, sentence: QLabel, lines: int = 1) -> None:
        """The ``sentence`` has room for so many ``lines``, so that nothing else moves."""
        super().__init__(parent)
        self.icons: dict[QToolButton, str] = {}
        """The names of the icons of buttons."""
        self._theme = LIGHT
        self._text, self._lines = sentence, lines

    def show_text(self, text: str) -> None:
        """Show a sentence, and announce it."""
        labels.say(self, self._text, text)

    def text(self) -> str:
        """The sentence shown."""
        return self._text.text()

    def icon_button(self, tip: str, pressed: Callable[[], object]) -> QToolButton:
        """A button that has an icon alone; ``tip`` says what it does."""
        button = tool_button(self, "", pressed, tip=tip, name=tip)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
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
        """Draw all icons, and leave room for the sentence, at the size of the text."""
        self._text.setMinimumHeight(self._lines * self._text.fontMetrics().lineSpacing())
        size = scaled(_ICON)
        for button, name in self.icons.items():
            button.setIcon(tool_icon(name, self._theme))
            button.setIconSize(QSize(size, size))
