"""The commands of the undo stack, and which successive edits become one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtGui import QUndoCommand

from gradwire.runtime.diagram import Change, MoveBlocks, SetParameters

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
        restore: Callable[[Diagram], None],
    ) -> None:
        super().__init__(label)
        self._before = before
        self._after = after
        self._make: Callable[[Diagram], None] | None = make
        self._restore = restore

    def redo(self) -> None:
        make, self._make = self._make, None
        (make or self._restore)(self._after)  # the stack also calls this when one is pushed

    def undo(self) -> None:
        self._restore(self._before)

    def amend(self, after: Diagram) -> None:
        """Lead to another snapshot, which is shown already."""
        self._after = after

    def id(self) -> int:
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not (isinstance(other, Swap) and other.continues):
            return False
        self._after = other._after
        return True
