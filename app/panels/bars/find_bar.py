"""The search bar above the canvas: finds blocks, counts them, and steps through them.

They are found on all pages of a diagram by name, type, state of a wire, or problem.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import line_edit, make_row, tool_button
from gradwire.blocks.block import Opaque
from gradwire.runtime.diagram import InstancePath, WirePath, all_blocks

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram

MAX_BLOCKS = 20_000
"""Largest number of blocks searched, since uses of pages multiply."""


def search(diagram: Diagram, result: EvaluationResult | None, text: str) -> list[str]:
    """Instance paths (``enc/mul1``) of the blocks that match every word of ``text``, in order.

    A word matches a part of the name, the type, the state of a wire into the block (``stopped``,
    ``NaN``, ``no path``), or a problem of the block.
    """
    words = text.casefold().split()
    if not words:
        return []
    known = _known_words(result)
    return [
        path
        for path, block in islice(all_blocks(diagram), MAX_BLOCKS)
        if all(word in _words(path, block) or word in known.get(path, "") for word in words)
    ]


def _words(path: InstancePath, block: Block) -> str:
    kind = block.original_type if isinstance(block, Opaque) else type(block).type_name()
    return f"{path.name} {kind} {type(block).symbol}".casefold()


def _known_words(result: EvaluationResult | None) -> dict[str, str]:
    """The states of wires into each block, and its problems, as one text."""
    known: dict[str, list[str]] = {}
    if result is None:
        return {}
    for key, state in result.states.items():
        words = f"{state.value} {state.row.search}"
        known.setdefault(WirePath(key).block, []).append(words)
    for diagnostic in result.diagnostics:
        place = diagnostic.location
        known.setdefault(place.block or "", []).append(f"{diagnostic.severity} {diagnostic.what}")
    return {path: " ".join(dict.fromkeys(words)).casefold() for path, words in known.items()}


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
