"""What a region of rows computes, and in which of its loops."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.kernels import Operation

FOLDS = frozenset({"sum", "short_sum", "squares", "max", "min", "top", "union", "any", "all"})
"""Operations that make one element of many. Sums are added in float64, a "short_sum" in its own
dtype; "top" is the largest one, where NaN may be the least; "union" has the bits of all elements.
"""

_CHEAP = frozenset({"add", "subtract", "multiply", "negative", "square", "where", "not_equal",
                    "equal", "less", "greater", "at"})  # fmt: skip
"""Operations that cost no more than reading their result."""


class MemoryPlace(NamedTuple):
    """Where a value is in memory: in which array of the frame, from which element on, and how many
    elements it is from column to column and from line to line: 0 where it has one for all.
    """

    array: int
    step: int = 1
    offset: int = 0
    depth: int = 0


class Recipe(NamedTuple):
    """What a kernel computes of rows, of which each has ``lines`` of ``columns`` elements, or one
    of as many as its second argument says where that is 0; equal recipes share one kernel.

    ``operands`` have a dtype and a place each. ``wide`` tells of each operation whether it has an
    element for every place. ``results`` are numbers, as operands of operations are, with the place
    to which they are written. Folds are of whole rows; where they are ``across`` columns, each
    column has its own. Of what ``is_short`` there is one vector at a time. ``totals`` are the
    numbers of what is written as one float64 for each row, or for each line of those in
    ``by_line``; ``added`` are those of what is added to a row, so that it has the sum of each
    column.
    """

    columns: int
    operands: tuple[tuple[str, MemoryPlace], ...]
    operations: tuple[Operation, ...]
    wide: tuple[bool, ...]
    results: tuple[tuple[int, MemoryPlace], ...]
    totals: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    lines: int = 1
    by_line: frozenset[int] = frozenset()
    across: bool = False
    is_short: bool = False
    is_listed: bool = False
    """Whether a table, at the end of the frame, says to which rows they are added."""

    @property
    def is_fold(self) -> bool:
        """Whether it is one fold alone."""
        return len(self.operations) == 1 and self.operations[0].name in FOLDS

    @property
    def arrays(self) -> int:
        """The number of arrays of operands and results."""
        places = [place for _, place in (*self.operands, *self.results)]
        return 1 + max((place.array for place in places), default=-1)


class Order:
    """In which loops each operation is computed and needed, by its number.

    Folds belong to the loop that reads them; what is not wide is computed between loops, before
    that of its level.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._first = len(recipe.operands)
        self._wide = recipe.wide
        self._written = {i for i, _ in recipe.results}
        self.level = [0] * self._first
        for operation in recipe.operations:
            levels = [self.level[i] for i in operation.operands]
            self.level.append(max(levels, default=0) + (operation.name in FOLDS))
        self.needed: dict[int, set[int]] = defaultdict(set)
        self.computed: dict[int, set[int]] = {}
        ends = {*(i for i, _ in recipe.results), *recipe.totals, *recipe.added}
        for at in reversed(range(len(recipe.operations))):
            i, operation = at + self._first, recipe.operations[at]
            if operation.name in FOLDS:
                self.computed[i] = {self.level[i] - 1}
            elif not recipe.wide[at]:
                continue
            else:
                needed = self.needed[i] or ({self.level[i]} if i in ends else set())
                self.needed[i] = needed
                again = operation.name in _CHEAP and i not in ends and self._at_hand(recipe, at)
                self.computed[i] = set(needed) if again else {min(needed)} if needed else set()
            for x in operation.operands:
                self.needed[x] |= self.computed[i]
        for i in recipe.added:
            if i < self._first and not self.needed[i]:
                self.needed[i] = {0}
        self.count = 1 + max((k for some in self.computed.values() for k in some), default=0)

    def _at_hand(self, recipe: Recipe, at: int) -> bool:
        return all(
            x < self._first or not recipe.wide[x - self._first]
            for x in recipe.operations[at].operands
        )

    def adding(self, i: int) -> int:
        """The loop in which a value is added to its row."""
        return min(self.computed.get(i) or self.needed[i])

    @property
    def stored(self) -> list[int]:
        """What a later loop reads of an earlier one that is no result."""
        return [i for i in sorted(self.computed) if self._wide[i - self._first]
                and self.computed[i] < self.needed[i] and i not in self._written]  # fmt: skip
