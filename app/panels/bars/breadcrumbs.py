"""Breadcrumbs that lead back out of nested pages: main, encoder, layer1."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QApplication, QToolButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_row, tool_button
from gradwire.app.services.plain_text import unmarked
from gradwire.runtime.diagram import MAIN

NO_STEPS: Mapping[int, int] = MappingProxyType({})


class Breadcrumbs(QWidget):
    """A button for each page on the way to the current one; hidden on ``main``.

    Behind a Scan it shows the step, with buttons to those before and after it.
    """

    trailRequested = Signal(object, str)
    """Names of the page blocks to enter and the steps of Scans, and the page to start from."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[tuple[str, ...], str, dict[int, int]] | None = None
        self._row = make_row(self, margins=(8, 4, 8, 4), spacing=2)
        self.hide()

    def show_trail(
        self, trail: tuple[str, ...], root: str = MAIN, steps: Mapping[int, int] = NO_STEPS
    ) -> None:
        """Show the blocks that were entered, starting from ``root``.

        ``steps`` has the places of the trail that are steps of a Scan, with how many it has.
        """
        if (trail, root, steps) == self._shown:
            return
        self._shown = trail, root, dict(steps)
        focused = self._focused()
        labels.clear(self._row)
        self.setVisible(bool(trail) or root != MAIN)
        if root != MAIN:
            self._add_page(MAIN, (), MAIN)
            self._add_separator()
        self._add_page(root, (), root, is_last=not trail)
        for place, name in enumerate(trail):
            if place in steps:
                self._add_step(place, steps[place])
                continue
            inside = place + 1 + (place + 1 in steps)
            self._add_separator()
            self._add_page(name, trail[:inside], root, is_last=inside == len(trail))
        if root != MAIN:
            unused = labels.plain(self.tr("Nothing uses {0}, so it does not run.").format(root))
            unused.setForegroundRole(labels.Role.PlaceholderText)
            self._row.addSpacing(12)
            self._row.addWidget(unused)
        self._row.addStretch(1)
        if focused and (again := self.findChild(QToolButton, focused)) is not None:
            again.setFocus(Qt.FocusReason.OtherFocusReason)

    def _focused(self) -> str:
        """The name of the button of a step that has the keyboard focus."""
        widget = QApplication.focusWidget()
        return widget.objectName() if widget is not None and self.isAncestorOf(widget) else ""

    def _add_separator(self) -> None:
        separator = labels.plain("▸")
        separator.setForegroundRole(labels.Role.PlaceholderText)
        self._row.addWidget(separator)

    def _add_page(self, name: str, to: tuple[str, ...], start: str, is_last: bool = False) -> None:
        button = self._button(unmarked(name), to, start)
        button.setEnabled(not is_last)

    def _add_step(self, place: int, count: int) -> None:
        """Which step of a Scan is shown, and the way to those before and after it."""
        assert self._shown is not None
        trail, root, _ = self._shown
        step = int(trail[place])
        for by, sign, name in ((-1, "←", self.tr("Previous step")), (1, "→", self.tr("Next step"))):
            to = (*trail[:place], str(step + by), *trail[place + 1 :])
            button = self._button(sign, to, root)
            button.setEnabled(0 <= step + by < count)
            button.setToolTip(name)
            button.setAccessibleName(name)
            button.setObjectName(f"{place}{sign}")
            if by < 0:
                text = self.tr("step {0} of 0–{1}").format(step, count - 1)
                self._row.addWidget(labels.plain(text))

    def _button(self, text: str, to: tuple[str, ...], start: str) -> QToolButton:
        button = tool_button(self, text, lambda: self.trailRequested.emit(to, start))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row.addWidget(button)
        return button
