"""Steps of a training in the document: what is shown, what a user edits, where an undo leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram.model import same_meaning

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.document.document import Document
    from gradwire.runtime.diagram import Diagram

_MOST = 64
"""Diagrams whose steps are remembered for undo and redo."""


class DocumentSteps:
    """Writes steps into a document, and tells apart what somebody else changes in it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._marks: list[tuple[Diagram, int]] = []
        self._shown: Diagram | None = None
        self._is_own = False
        self._prepared: tuple[Diagram, Diagram, Callable[[Diagram], Diagram], str] | None = None

    def begin(self, step: int = 0) -> None:
        """Show the document as it is as a step."""
        self._shown = self._document.diagram
        self.mark(step)

    def forget(self) -> None:
        """Know of no step any more."""
        self._shown, self._marks = None, []

    def advance(self, change: Callable[[Diagram], Diagram], label: str) -> None:
        """Change the document as a part of the run: see ``Document.advance``."""
        self._is_own = True
        try:
            self._document.advance(change, label)
        finally:
            self._is_own = False
        self._shown = self._document.diagram

    def prepare(self, change: Callable[[Diagram], Diagram], label: str) -> Diagram:
        """Have a change ready that ``show`` makes; returns the diagram that it leads to."""
        before = self._document.diagram
        after = change(before)
        self._prepared = before, after, change, label
        return after

    def show(self) -> bool:
        """Make the change that was prepared, unless an edit has changed more than layout since."""
        if self._prepared is None:
            return False
        (before, after, change, label), self._prepared = self._prepared, None
        if not same_meaning(before, self._document.diagram):
            return False
        self.advance(lambda diagram: after if diagram is before else change(diagram), label)
        return True

    @property
    def is_untouched(self) -> bool:
        """Whether the document is as it was shown last, but for layout."""
        return self._shown is not None and same_meaning(self._shown, self._document.diagram)

    def mark(self, step: int) -> None:
        """Remember which step the diagram that is shown is."""
        if self._shown is not None:
            self._marks.append((self._shown, step))
            del self._marks[:-_MOST]

    def restore(self, diagram: Diagram) -> int | None:
        """The step that a diagram showed, which is shown again; None if it showed none."""
        for known, step in self._marks:
            if known is diagram:
                self._shown = diagram
                return step
        return None

    def take_edit(self) -> tuple[Diagram, Diagram] | None:
        """What somebody else has changed since the last step or edit: before and after.

        None if nothing but layout.
        """
        before, now = self._shown, self._document.diagram
        if self._is_own or before is None or before is now:
            return None
        self._shown = now
        return None if same_meaning(before, now) else (before, now)
