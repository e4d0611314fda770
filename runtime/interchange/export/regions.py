"""Divides values among functions: one for each use of a page, forwards and backwards."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.paths import ROOT, InstancePath

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

Reads: TypeAlias = "Callable[[Value], list[Value]]"
SMALL = 2
"""Steps up to which the use of a page is no function of its own."""


@dataclass(eq=False)
class Region:
    """What one function computes: single values, and the regions that it calls, in order."""

    use: InstancePath
    """The use of a page that it is from; the root for what is outside all pages."""
    backward: bool
    items: list[Value | Region] = field(default_factory=list)

    def values(self) -> list[Value]:
        """All values, those of the functions that it calls among them."""
        found: list[Value] = []
        for item in self.items:
            found += item.values() if isinstance(item, Region) else [item]
        return found


@dataclass(frozen=True)
class Divider:
    """Divides by the uses of pages; a use that can't be one call is left in its surroundings."""

    uses: frozenset[InstancePath]
    reads: Reads
    is_backward: Callable[[Value], bool]

    def divide(self, values: Sequence[Value]) -> Region:
        """The region of the whole, with those inside."""
        region = Region(ROOT, False)
        region.items = self._items(values, ROOT, frozenset())
        return region

    def _items(
        self, values: Sequence[Value], use: InstancePath, open_: frozenset[InstancePath]
    ) -> list[Value | Region]:
        """The values and calls of a function in an order in which each has what it reads."""
        while True:
            groups: dict[object, list[Value]] = {}
            for value in values:
                below = self._below(value, use, open_)
                key = value if below is None else (below, self.is_backward(value))
                groups.setdefault(key, []).append(value)
            small = {
                key[0]
                for key, members in groups.items()
                if isinstance(key, tuple) and len(members) <= SMALL
            }
            if small:
                open_ |= small
                continue
            order, stuck = self._order(groups)
            if not stuck:
                return [self._item(key, groups[key], open_) for key in order]
            open_ |= {key[0] for key in stuck if isinstance(key, tuple)}

    def _item(
        self, key: object, members: list[Value], open_: frozenset[InstancePath]
    ) -> Value | Region:
        if not isinstance(key, tuple):
            return members[0]
        region = Region(*key)
        region.items = self._items(members, key[0], open_)
        return region

    def _below(
        self, value: Value, use: InstancePath, open_: frozenset[InstancePath]
    ) -> InstancePath | None:
        """The outermost use inside ``use`` that a value belongs to and that is one call."""
        if not value.inputs and value.primitive.name == "leaf":
            return None
        owner = InstancePath(value.owner if isinstance(value.owner, str) else "")
        names = owner.names
        for end in range(1, len(names) + 1):
            found = InstancePath.of(*names[:end])
            if found != use and found.is_inside(use) and found in self.uses and found not in open_:
                return found
        return None

    def _order(self, groups: dict[object, list[Value]]) -> tuple[list[object], list[object]]:
        """Groups in order, and those that wait for each other."""
        group_of = {value: key for key, members in groups.items() for value in members}
        before: dict[object, set[object]] = {}
        after: dict[object, set[object]] = {}
        for key, members in groups.items():
            sources = {group_of[x] for v in members for x in self.reads(v) if x in group_of} - {key}
            before[key] = sources
            for source in sources:
                after.setdefault(source, set()).add(key)
        rank = {key: members[0].index for key, members in groups.items()}
        by_rank = {number: key for key, number in rank.items()}
        ready = [rank[key] for key, sources in before.items() if not sources]
        heapq.heapify(ready)
        order: list[object] = []
        while ready:
            key = by_rank[heapq.heappop(ready)]
            order.append(key)
            for reader in after.get(key, ()):
                before[reader].discard(key)
                if not before[reader]:
                    heapq.heappush(ready, rank[reader])
        placed = set(order)
        return order, [key for key in groups if key not in placed]


def uses_of(uses: Iterable[Sequence[InstancePath]]) -> frozenset[InstancePath]:
    """All uses of pages but the root."""
    return frozenset(use for several in uses for use in several if use)
