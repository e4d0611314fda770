"""The slots of a program as edges: open, closed by a stop, or closed because a rule is missing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gradwire.runtime.calculus import Value, passes_gradient
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import WIRE
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.runtime.engine.program import Program

T = TypeVar("T")


class Gate(IntEnum):
    """Whether an edge passes gradient; a search at one level also follows all edges up to it."""

    OPEN = 0
    STOP = 1
    NO_RULE = 2


class Edge(NamedTuple):
    """The step of gradient from ``value`` to ``source``, its input, through one slot.

    Opening a closed edge costs 1 if its source is a float. Where integers turn into floats it
    costs nothing: that is the other end of an edge that was counted where floats ended.
    """

    source: Value
    value: Value
    slot: int
    gate: Gate
    cost: int


class Reach:
    """The result of a search: the value before each that it found, on the way from the start.

    ``closed`` has the closed slots that a way was charged for, by the value behind them; ``costs``
    how many a way has, where that is not 0. Values are given by their places in the trace, since
    tables of objects would not stay in the caches. Results are memoised along routes, so that
    describing the routes of all values takes linear time.
    """

    def __init__(
        self,
        values: Sequence[Value],
        via: dict[int, int],
        closed: dict[int, Edge],
        costs: dict[int, int],
    ) -> None:
        self.via = via
        """The place before each, in the order in which they were found; -1 at the start."""
        self._values = values
        self._closed = closed
        self._costs = costs
        self._first: dict[int, tuple[Edge, ...]] = {}
        self._nearest: dict[int, int] = {}
        self._blocks: dict[int, tuple[int, tuple[str, ...]]] = {}

    def __contains__(self, value: Value | None) -> bool:
        return value is not None and value.index in self.via

    def __iter__(self) -> Iterator[Value]:
        return map(self._values.__getitem__, self.via)

    def add(self, other: Reach) -> None:
        """Add the findings of a search that found nothing of this one's."""
        self.via |= other.via
        self._closed |= other._closed
        self._costs |= other._costs

    def cost(self, value: Value) -> int:
        """The number of closed slots on the way to a value that the search found."""
        return self._costs.get(value.index, 0)

    def route(self, value: Value) -> Iterator[Value]:
        """The values on the route from this one back to the start of the search."""
        at = value.index
        while at >= 0:
            yield self._values[at]
            at = self.via.get(at, -1)

    def closed(self, value: Value) -> Iterator[Edge]:
        """The closed slots on the route from this value back to the start of the search."""
        at = value.index
        while at >= 0 and (at := self._closed_at(at)) >= 0:
            yield self._closed[at]
            at = self.via[at]

    def first_closed(self, value: Value) -> tuple[Edge, ...]:
        """The first closed slots on the route, from the start of the search; at most ``MANY``."""
        if not self._closed:
            return ()
        for at in self._missing(value.index, self._first):
            found = self._first.get(self.via.get(at, -1), ())
            if at in self._closed and len(found) < MANY:
                found = (*found, self._closed[at])
            self._first[at] = found
        return self._first[value.index]

    def blocks(self, value: Value) -> tuple[int, tuple[str, ...]]:
        """The number of blocks on the route, and the first of them; at most ``MANY``."""
        missing = self._missing(value.index, self._blocks)
        if missing:
            before = self.via.get(missing[0], -1)
            count, found = (0, ()) if before < 0 else self._blocks[before]
            last = None if before < 0 else self._values[before].owner
            for at in missing:
                if (owner := self._values[at].owner) != last:
                    found = (*found, str(owner)) if count < MANY else found
                    count, last = count + 1, owner
                self._blocks[at] = count, found
        return self._blocks[value.index]

    def reduced(
        self, value: Value, step: Callable[[T, str], T], start: T, known: dict[int, T]
    ) -> T:
        """What ``step`` makes of ``start`` and the blocks of the route, one after the other.
        ``known`` has it by the places where routes were followed before.
        """
        for at in self._missing(value.index, known):
            before = self.via.get(at, -1)
            found = start if before < 0 else known[before]
            owner = self._values[at].owner
            is_same = before >= 0 and self._values[before].owner == owner
            known[at] = found if is_same else step(found, str(owner))
        return known[value.index]

    def _closed_at(self, place: int) -> int:
        """The nearest place on the route, possibly this one, that was reached by a closed slot;
        -1 if none was.
        """
        if not self._closed:
            return -1
        for at in self._missing(place, self._nearest):
            nearest = self._nearest.get(self.via.get(at, -1), -1)
            self._nearest[at] = at if at in self._closed else nearest
        return self._nearest[place]

    def _missing(self, place: int, known: Container[int]) -> list[int]:
        """The places on the route for which no result is memoised, in route order."""
        found: list[int] = []
        while place >= 0 and place not in known:
            found.append(place)
            place = self.via.get(place, -1)
        return found[::-1]


class FlowGraph:
    """The forward part of a program as edges, indexed by both ends.

    A closed edge inside a block is omitted if the block also has an open path between the same
    ports: a softmax that treats its shift as a constant cuts nothing.
    """

    @uncollected()
    def __init__(self, program: Program) -> None:
        self.values = program.trace.values[: program.forward_end]
        self.sources: list[tuple[int, ...]] = []
        """The values at the other ends of the open edges to each value, by place."""
        self.gated: dict[int, list[Edge]] = {}
        """All edges to the values that have a closed slot, by place."""
        self._read_slots()
        if self.gated:
            self._omit(set(program.ports.values()))
        self.readers = self._turned()
        """The values at the other ends of the open edges from each value, by place."""
        self.gated_readers = self._turned_gated()
        """All edges from the values that a closed one comes from, by place."""
        self._gates = sorted({edge.gate for edges in self.gated.values() for edge in edges})

    def _read_slots(self) -> None:
        kinds: dict[object, tuple[Gate, int]] = {}
        sources = self.sources
        for value in self.values:
            found = []
            for slot, source in enumerate(value.inputs):
                alike = id(value.primitive), slot, value.dtype, source.dtype
                if (kind := kinds.get(alike)) is None:
                    kind = kinds[alike] = _gate(value, slot), _cost(value, slot)
                if not kind[0]:
                    found.append(source.index)
            sources.append(tuple(found))
            if len(found) != len(value.inputs):
                self.gated[value.index] = [
                    Edge(x, value, i, _gate(value, i), _cost(value, i))
                    for i, x in enumerate(value.inputs)
                ]

    def _omit(self, outputs: set[Value]) -> None:
        """Omit the closed edges that run parallel to an open path of their block."""
        edges = (edge for several in self.gated.values() for edge in several)
        closed: dict[object, list[Edge]] = defaultdict(list)
        for edge in edges:
            if edge.gate and edge.value.primitive is not WIRE:
                closed[edge.value.owner].append(edge)
        owned: dict[object, list[Edge]] = defaultdict(list)
        wired: set[object] = set()
        for value in self.values:
            if value.owner in closed:
                owned[value.owner] += self.inputs(value)
                if value.primitive is WIRE:
                    wired.add(value.owner)
        for owner, shut in closed.items():
            dropped = _redundant(owned[owner], shut, outputs) if owner in wired else set(shut)
            for place in {edge.value.index for edge in dropped}:
                self.gated[place] = [e for e in self.gated[place] if e not in dropped]

    def _turned(self) -> list[tuple[int, ...]]:
        found: list[list[int]] = [[] for _ in self.values]
        for value, sources in zip(self.values, self.sources, strict=True):
            place = value.index
            for source in sources:
                found[source].append(place)
        return [*map(tuple, found)]

    def _turned_gated(self) -> dict[int, list[Edge]]:
        """All edges from the values that a closed edge comes from, by place."""
        edges = (edge for several in self.gated.values() for edge in several)
        found: dict[int, list[Edge]] = {edge.source.index: [] for edge in edges if edge.gate}
        for value in self.values if found else ():
            if any(source.index in found for source in value.inputs):
                for edge in self.inputs(value):
                    if edge.source.index in found:
                        found[edge.source.index].append(edge)
        return found

    def inputs(self, value: Value) -> list[Edge]:
        """The edges to a value, in order."""
        if (gated := self.gated.get(value.index)) is not None:
            return gated
        return [Edge(x, value, slot, Gate.OPEN, 0) for slot, x in enumerate(value.inputs)]

    def read_by(self, value: Value) -> list[tuple[Value, Gate]]:
        """The values at the other ends of the edges from a value, and whether these are open."""
        if (gated := self.gated_readers.get(value.index)) is not None:
            return [(edge.value, edge.gate) for edge in gated]
        return [(self.values[place], Gate.OPEN) for place in self.readers[value.index]]

    def same_as(self, level: Gate) -> Gate:
        """The lowest level at which a search follows the edges that it follows at this one."""
        return max((gate for gate in self._gates if gate <= level), default=Gate.OPEN)

    def backward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values that gradient from ``starts`` reaches through edges up to ``level``.

        Routes have the fewest closed slots (0-1 breadth-first search, linear time).
        """
        return self._search(starts, level, is_forward=False)

    def claimed(self, starts: Sequence[Value], level: Gate) -> tuple[Reach, dict[int, int]]:
        """As ``backward``, but each value belongs to the first start that reaches it, which is
        returned with it, and its route leads back to that one. A single start owns all.

        All starts together take linear time: what a start reaches through a value of an earlier
        one belongs to the earlier one as well.
        """
        if len(starts) == 1:
            return self._search(starts, level, is_forward=False), {}
        all_of = Reach(self.values, {}, {}, {})
        owner: dict[int, int] = {}
        for start in starts:
            if start.index not in owner:
                found = self._search([start], level, False, owner)
                all_of.add(found)
                owner |= dict.fromkeys(found.via, start.index)
        return all_of, owner

    def forward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values from which gradient reaches ``starts`` through edges up to ``level``, likewise."""
        return self._search(starts, level, is_forward=True)

    def _search(
        self,
        starts: Iterable[Value],
        level: Gate,
        is_forward: bool,
        taken: Container[int] = (),
    ) -> Reach:
        via = dict.fromkeys([start.index for start in starts], -1)
        ends = self.readers if is_forward else self.sources
        if level is Gate.OPEN:
            pending = [*reversed(via)]
            while pending:
                at = pending.pop()
                for there in ends[at]:
                    if there not in via and there not in taken:
                        via[there] = at
                        pending.append(there)
            return Reach(self.values, via, {}, {})
        return self._cheapest(via, level, is_forward, taken)

    def _cheapest(
        self, via: dict[int, int], level: Gate, is_forward: bool, taken: Container[int]
    ) -> Reach:
        """The search from ``via`` at a level at which it passes closed edges."""
        ends, gated = self.sources, self.gated
        if is_forward:
            ends, gated = self.readers, self.gated_readers
        cost, closed = dict.fromkeys(via, 0), dict[int, Edge]()
        queue = deque(cost)
        while queue:
            at = queue.popleft()
            here = cost[at]
            if at not in gated:
                for there in ends[at]:
                    if here < cost.get(there, 1 << 60) and there not in taken:
                        cost[there], via[there] = here, at
                        closed.pop(there, None)
                        queue.appendleft(there)
                continue
            for edge in gated[at]:
                if edge.gate > level:
                    continue
                there = (edge.value if is_forward else edge.source).index
                total = here + edge.cost
                if total < cost.get(there, 1 << 60) and there not in taken:
                    cost[there], via[there] = total, at
                    if edge.cost:
                        closed[there] = edge
                        queue.append(there)
                    else:
                        closed.pop(there, None)
                        queue.appendleft(there)
        return Reach(self.values, via, closed, {place: n for place, n in cost.items() if n})


def _cost(value: Value, slot: int) -> int:
    """What opening a slot costs."""
    return int(_gate(value, slot) is not Gate.OPEN and is_float(value.inputs[slot].dtype))


def _gate(value: Value, slot: int) -> Gate:
    """Whether a slot passes gradient, by its primitive and the dtypes at both ends alone.

    A slot from integers or booleans to integers or booleans counts as open: gradient is lost where
    floats end and where they begin again, and messages should name those slots.
    """
    if passes_gradient(value, slot) or not (
        is_float(value.dtype) or is_float(value.inputs[slot].dtype)
    ):
        return Gate.OPEN
    return Gate.STOP if value.primitive.stops else Gate.NO_RULE


def _redundant(edges: list[Edge], closed: list[Edge], outputs: set[Value]) -> set[Edge]:
    """The closed edges of one block that run parallel to an open path of the block."""
    into: dict[Value, list[Edge]] = defaultdict(list)
    out: dict[Value, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.value.primitive is not WIRE:
            into[edge.value].append(edge)
            out[edge.source].append(edge)

    def entries(start: Value, only_open: bool) -> frozenset[Value]:
        """The wires, and values of other blocks, from which ``start`` is computed."""
        found, pending, seen = set(), [start], {start}
        while pending:
            value = pending.pop()
            if not into[value] and (value.primitive is WIRE or value.owner != owner):
                found.add(value)
            for edge in into[value]:
                if edge.source not in seen and not (only_open and edge.gate):
                    seen.add(edge.source)
                    pending.append(edge.source)
        return frozenset(found)

    def exits(start: Value) -> set[Value]:
        pending, seen = [start], {start}
        while pending:
            for edge in out[pending.pop()]:
                if edge.value not in seen:
                    seen.add(edge.value)
                    pending.append(edge.value)
        return seen & outputs

    owner = closed[0].value.owner
    open_entries: dict[Value, frozenset[Value]] = {}
    dropped = set()
    for edge in closed:
        sources = entries(edge.source, only_open=False)
        for output in exits(edge.value):
            if output not in open_entries:
                open_entries[output] = entries(output, only_open=True)
            if not sources <= open_entries[output]:
                break
        else:
            dropped.add(edge)
    return dropped
