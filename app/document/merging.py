"""The commands of the undo stack, and which successive edits become one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtGui import QUndoCommand

from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Change, MoveBlocks, SetParameters, same_meaning

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from gradwire.runtime.diagram import Diagram

MERGE_SECONDS = 1.0
"""Successive nudges of the same blocks, or edits of the same field, within this time merge."""


def merge_key(change: Change) -> Hashable:
    """The key that two changes must share to merge into one undo; None if one never merges."""
    if isinstance(change, MoveBlocks):
        notes, bends = frozenset(change.notes), frozenset(change.bends)
        return ("move", change.page, frozenset(change.places), notes, bends)
    if isinstance(change, SetParameters):
        return ("set", change.page, change.name, frozenset(change.values))
    return None


def continues(last: tuple[Hashable, float] | None, key: Hashable, now: float) -> bool:
    """Whether an edit merges into the last one, given their keys and times in seconds."""
    return key is not None and last is not None and last[0] == key and now - last[1] < MERGE_SECONDS


def same_values(one: Diagram, other: Diagram) -> bool:
    """Whether two diagrams have the same variables with the same values."""
    return same_meaning(one, other) or _variables(one) == _variables(other)


def _variables(diagram: Diagram) -> dict[tuple[str, str], object]:
    """All variables by page and block, and those that inputs own."""
    return {
        (page, name): block if isinstance(block, Variable) else block.owned
        for page, content in diagram.pages.items()
        for name, block in content.blocks.items()
        if isinstance(block, Variable) or block.owned
    }


class Preview(NamedTuple):
    """A change that is shown but not yet made, with the diagram before it and after it."""

    before: Diagram
    change: Change
    after: Diagram


class Swap(QUndoCommand):
    """Replaces one snapshot by another: calls ``make`` when it is pushed, ``restore`` later."""

    continues = False
    """Whether it merges into the command before."""

    def __init__(
        self,
        before: Diagram,
        after: Diagram,
        label: str,
        make: Callable[[Diagram], None],
        restore: Callable[[Diagram, Swap], None],
    ) -> None:
        super().__init__(label)
        self._before = before
        self._after = after
        self._make: Callable[[Diagram], None] | None = make
        self._restore = restore

    def redo(self) -> None:
        make, self._make = self._make, None
        if make is not None:  # the stack also calls this when one is pushed
            make(self._after)
        else:
            self._restore(self._after, self)

    def undo(self) -> None:
        self._restore(self._before, self)

    def amend(self, change: Callable[[Diagram], Diagram]) -> None:
        """Lead to another snapshot: that of ``change``."""
        self._after = change(self._after)

    def rebase(self, change: Callable[[Diagram], Diagram]) -> None:
        """Lead from and to other snapshots: those of ``change``."""
        self._before = change(self._before)
        self.amend(change)

    def id(self) -> int:
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not (isinstance(other, Swap) and other.continues):
            return False
        self._after = other._after
        return True
