"""The search bar above the canvas: finds blocks, counts them, and steps through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.search import search
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import line_edit, make_row, tool_button

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import Diagram


class FindBar(QWidget):
    """Hidden until opened. Enter and Shift+Enter go to the next and previous block, Esc closes."""

    pathRequested = Signal(str)
    """Instance path of the block to show."""
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._diagram: Diagram | None = None
        self._result: EvaluationResult | None = None
        self._paths: list[str] = []
        self._at = -1
        hint, name = self.tr("Find by name, type, state or error"), self.tr("Find in the diagram")
        self.line = line_edit(self, hint, name, clears=True)
        self.count = labels.plain(parent=self)
        back, on = self.tr("Previous (Shift+Enter)"), self.tr("Next (Enter)")
        buttons = (
            tool_button(self, "▴", lambda: self.go(-1), tip=back, name=back),
            tool_button(self, "▾", lambda: self.go(1), tip=on, name=on),
        )
        make_row(self, (self.line, 1), self.count, *buttons, margins=(8, 4, 8, 4))
        self.line.textChanged.connect(self._search)
        self.line.installEventFilter(self)
        self.hide()

    def open(self) -> None:
        """Show the bar with its text selected."""
        self.show()
        self._search()
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.line.selectAll()

    def set_result(self, result: EvaluationResult | None) -> None:
        """Search another result."""
        self._result = result
        if self.isVisible():
            self._search()

    def set_diagram(self, diagram: Diagram) -> None:
        """Search another diagram."""
        self._diagram = diagram
        if self.isVisible():
            self._search()

    def go(self, step: int) -> None:
        """Go to the next (1) or previous (−1) match, wrapping around at the ends."""
        if self._paths:
            start = -1 if step > 0 else 0
            self._at = ((self._at if self._at >= 0 else start) + step) % len(self._paths)
            self.pathRequested.emit(self._paths[self._at])
        self._show_count()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                back = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
                self.go(-1 if back else 1)
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.hide()
                self.closed.emit()
                return True
        return super().eventFilter(watched, event)

    def _search(self) -> None:
        """Search again; the current match stays current if it still matches."""
        shown = self._paths[self._at] if self._at >= 0 else None
        text = self.line.text()
        self._paths = search(self._diagram, self._result, text) if self._diagram else []
        self._at = self._paths.index(shown) if shown in self._paths else -1
        self._show_count()

    def _show_count(self) -> None:
        if not self.line.text().strip():
            self.count.clear()
        elif not self._paths:
            self.count.setText(self.tr("no matches"))
        elif self._at < 0:
            self.count.setText(str(len(self._paths)))
        else:
            self.count.setText(self.tr("{0} of {1}").format(self._at + 1, len(self._paths)))
