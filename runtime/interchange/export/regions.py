"""Divides values among functions: one for each use of a page, forwards and backwards."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Sequence, Set
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus import result_of
from gradwire.runtime.diagram.paths import ROOT, InstancePath

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Body, Value
    from gradwire.runtime.interchange.export.graph import ExportGraph

Item: TypeAlias = "Value | ExportRegion | ExportLoop"
SMALL = 2
"""Steps up to which the use of a page is no function of its own."""
LARGE = 40
"""Steps from which a block is a function of its own."""


@dataclass(eq=False)
class ExportRegion:
    """What one function computes: single values, loops, and the regions that it calls, in order."""

    use: InstancePath
    """The use of a page that it is from; the root for what is outside all pages."""
    backward: bool
    items: list[Item] = field(default_factory=list)

    def values(self) -> list[Value]:
        """All values, those of the functions that it calls among them."""
        return [value for item in self.items for value in values_of(item)]

    def wanted(
        self, inner: ExportRegion, outputs: Set[Value], graph: ExportGraph
    ) -> frozenset[Value]:
        """What a region inside must give: what is read outside it, and outputs."""
        others = [v for item in self.items if item is not inner for v in values_of(item)]
        read = {x for value in others for x in graph.inputs(value)}
        return frozenset(x for x in inner.values() if x in read or x in outputs)

    def ends(
        self, graph: ExportGraph, wanted: Set[Value], given: Container[Value] = ()
    ) -> tuple[list[Value], list[Value]]:
        """What it reads and isn't ``given``, and which of its values are wanted."""
        inside = self.values()
        members = set(inside)
        read = dict.fromkeys(x for value in inside for x in graph.inputs(value))
        arguments = [
            x for x in read if x not in members and x not in given and graph.number(x) is None
        ]
        return arguments, [value for value in inside if value in wanted]


@dataclass(eq=False)
class ExportLoop:
    """The results of a scan that are needed, and what a step computes for them."""

    results: list[Value]
    step: ExportRegion

    @property
    def body(self) -> Body:
        """The body of the scan."""
        found: Body = self.results[0].attributes["body"]
        return found

    @property
    def ends(self) -> list[Value]:
        """What a step must compute: what is carried on, and what the results are of."""
        return [*(each.after for each in self.body.carried), *map(result_of, self.results)]


def values_of(item: Item) -> list[Value]:
    """What an item gives."""
    if isinstance(item, ExportRegion):
        return item.values()
    return item.results if isinstance(item, ExportLoop) else [item]


@dataclass(eq=False)
class Divider:
    """Divides by the uses of pages; a use that can't be one call is left in its surroundings.

    All results of a scan are one loop, where the first of them is.
    """

    uses: frozenset[InstancePath]
    graph: ExportGraph
    _first: dict[object, Value] = field(default_factory=dict)

    def divide(self, values: Sequence[Value]) -> ExportRegion:
        """The region of the whole, with those inside."""
        region = ExportRegion(ROOT, False)
        region.items = self._items(values, ROOT, frozenset())
        return region

    def _items(
        self, values: Sequence[Value], use: InstancePath, open_: frozenset[InstancePath]
    ) -> list[Item]:
        """The values and calls of a function in an order in which each has what it reads."""
        while True:
            groups: dict[object, list[Value]] = {}
            for value in values:
                first = self._with(value)
                below = self._below(first, use, open_)
                key = first if below is None else (below, self.graph.is_backward(first))
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
                return [self._item(key, groups[key], use, open_) for key in order]
            open_ |= {key[0] for key in stuck if isinstance(key, tuple)}

    def _with(self, value: Value) -> Value:
        """The value with which one is computed: the first result of a scan, or itself."""
        if value.primitive.together is None:
            return value
        key = value.attributes["body"], tuple(map(self.graph.real, value.inputs))
        return self._first.setdefault(key, value)

    def _item(
        self, key: object, members: list[Value], use: InstancePath, open_: frozenset[InstancePath]
    ) -> Item:
        if not isinstance(key, tuple):
            return (
                members[0]
                if members[0].primitive.together is None
                else self._loop(members, use, open_)
            )
        region = ExportRegion(*key)
        region.items = self._items(members, key[0], open_)
        return region

    def _loop(
        self, results: list[Value], use: InstancePath, open_: frozenset[InstancePath]
    ) -> ExportLoop:
        self.graph.enter(results[0])
        loop = ExportLoop(results, ExportRegion(use, self.graph.is_backward(results[0])))
        values = self.graph.needed(loop.ends, loop.body.trace)
        loop.step.items = self._items(values, use, open_)
        return loop

    def _below(
        self, value: Value, use: InstancePath, open_: frozenset[InstancePath]
    ) -> InstancePath | None:
        """The outermost use inside ``use`` that a value belongs to and that is one call."""
        if not value.inputs and value.primitive.name == "leaf":
            return None
        owner = InstancePath(value.owner if isinstance(value.owner, str) else "")
        names = self._outside(value, owner).names
        for end in range(1, len(names) + 1):
            found = InstancePath.of(*names[:end])
            if found != use and found.is_inside(use) and found in self.uses and found not in open_:
                return found
        return None

    def _outside(self, value: Value, owner: InstancePath) -> InstancePath:
        """The owner; of what a step of a loop need not compute itself, the loop."""
        program = self.graph.program
        for loop, how in program.flat.loops.items() if value.trace is program.trace else ():
            if owner.is_inside(loop / str(how.standing)):
                return loop
        return owner

    def _order(self, groups: dict[object, list[Value]]) -> tuple[list[object], list[object]]:
        """Groups in order, and those that wait for each other."""
        group_of = {value: key for key, members in groups.items() for value in members}
        before: dict[object, set[object]] = {}
        after: dict[object, set[object]] = {}
        for key, members in groups.items():
            read = (x for value in members for x in self.graph.inputs(value) if x in group_of)
            before[key] = sources = {group_of[x] for x in read} - {key}
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


def divided(graph: ExportGraph, values: Sequence[Value]) -> ExportRegion:
    """The region of the whole, where blocks of many steps, such as random numbers, are functions
    too.
    """
    program = graph.program
    owners = (value.owner for value in values if value.index < program.forward_end)
    counts = Counter(owner for owner in owners if isinstance(owner, str))
    large = (InstancePath(path) for path, count in counts.items() if count >= LARGE)
    uses = (use for several in program.flat.uses.values() for use in several if use)
    return Divider(frozenset((*uses, *large)), graph).divide(values)
