"""Steps of a training in the document: what is shown, what a user edits, where an undo leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.document.merging import same_values
from gradwire.runtime.diagram import same_meaning

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
        self._newest: tuple[Diagram, int] | None = None
        """What was shown last with its step, unless it is among the marks."""
        self._shown: Diagram | None = None
        """The document with the numbers and values that the courses have."""
        self._is_own = False
        self._prepared: tuple[Diagram, Diagram, Callable[[Diagram], Diagram], str] | None = None

    def begin(self, step: int = 0) -> None:
        """Show the document as it is as a step; those of other courses are not reached any more."""
        if not step:
            self.forget()
        self._shown = self._document.diagram
        self.mark(step)

    def forget(self) -> None:
        """Know of no step any more."""
        self._shown, self._marks, self._newest = None, [], None

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

    def show(self, step: int) -> bool:
        """Make the change that was prepared, unless an edit has changed more than layout since."""
        if self._prepared is None:
            return False
        (before, after, change, label), self._prepared = self._prepared, None
        if not same_meaning(before, self._document.diagram):
            return False
        self.advance(lambda diagram: after if diagram is before else change(diagram), label)
        self._newest = self._document.diagram, step
        return True

    @property
    def is_untouched(self) -> bool:
        """Whether the document is as it was shown last, but for layout."""
        shown, now = self._shown, self._document.diagram
        return shown is not None and shown.training == now.training and same_meaning(shown, now)

    def mark(self, step: int) -> None:
        """Remember which step the diagram that is shown is."""
        if self._shown is not None:
            self._marks.append((self._shown, step))
            del self._marks[:-_MOST]

    def forget_after(self, step: int) -> None:
        """Forget later steps, as the run goes on from this one."""
        if self._newest is not None:
            self._marks, self._newest = [*self._marks, self._newest], None
        self._marks = [mark for mark in self._marks if mark[1] <= step]

    def step_of(self, diagram: Diagram) -> int | None:
        """The step whose values a diagram has, if that is remembered."""
        known = [*self._marks, *([self._newest] if self._newest else [])]
        return next((step for shown, step in reversed(known) if same_values(shown, diagram)), None)

    def return_to(self, change: Callable[[Diagram], Diagram]) -> None:
        """Count the values that ``change`` stores as what the courses have."""
        if self._shown is not None:
            shown, now = change(self._shown), self._document.diagram
            self._shown = now if _same_numbers(shown, now) else shown

    def take_edit(self, step: int) -> tuple[Diagram, Diagram] | None:
        """What somebody else has changed since the last step or edit: before and after.

        None if nothing but layout. ``step`` is the one whose values the document has.
        """
        before, now = self._shown, self._document.diagram
        if self._is_own or before is None:
            return None
        if self._newest is not None:
            self._marks, self._newest = [*self._marks, self._newest], None
        self._shown = now
        if not self._document.is_previewing and self.step_of(now) is None:
            self.mark(step)
        return None if _same_numbers(before, now) else (before, now)


def _same_numbers(one: Diagram, other: Diagram) -> bool:
    """Whether two diagrams are trained alike: by the same recipe, and compute the same."""
    return one.training == other.training and (
        same_meaning(one, other) or _meaning(one) == _meaning(other)
    )


def _meaning(diagram: Diagram) -> dict[str, object]:
    return {name: (page.blocks, page.wires) for name, page in diagram.pages.items()}
