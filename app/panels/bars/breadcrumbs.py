"""Breadcrumbs that lead back out of nested pages: main, encoder, layer1."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.panels import labels
from app.services.plain_text import unmarked
from runtime.diagram import MAIN


class Breadcrumbs(QWidget):
    """A button for each page on the way to the current one; hidden on ``main``."""

    trailRequested = Signal(object, str)
    """Names of the page blocks to enter, as a tuple, and the page to start from."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[tuple[str, ...], str] | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(8, 4, 8, 4)
        self._row.setSpacing(2)
        self.hide()

    def show_trail(self, trail: tuple[str, ...], root: str = MAIN) -> None:
        """Show the blocks that were entered, starting from ``root``."""
        if (trail, root) == self._shown:
            return
        self._shown = trail, root
        labels.clear(self._row)
        self.setVisible(bool(trail) or root != MAIN)
        steps = [(name, trail[:depth], root) for depth, name in enumerate((root, *trail))]
        if root != MAIN:
            steps.insert(0, (MAIN, (), MAIN))
        for number, (name, to, start) in enumerate(steps):
            if number:
                separator = labels.plain("▸")
                separator.setForegroundRole(labels.Role.PlaceholderText)
                self._row.addWidget(separator)
            button = QToolButton(self)
            button.setText(unmarked(name))
            button.setAutoRaise(True)
            button.setEnabled(number < len(steps) - 1)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.clicked.connect(
                lambda _=False, to=to, start=start: self.trailRequested.emit(to, start)
            )
            self._row.addWidget(button)
        if root != MAIN:
            unused = labels.plain(self.tr("Nothing uses {0}, so it does not run.").format(root))
            unused.setForegroundRole(labels.Role.PlaceholderText)
            self._row.addSpacing(12)
            self._row.addWidget(unused)
        self._row.addStretch(1)
