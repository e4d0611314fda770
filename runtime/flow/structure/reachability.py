"""The slots of a program as edges: open, closed by a stop, or closed for want of a rule."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from runtime.calculus import Value, passes_gradient
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import WIRE
from runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from runtime.engine.program import Program


class Gate(IntEnum):
    """How an edge lets gradient through; a search at one level opens all edges up to it."""

    OPEN = 0
    STOP = 1
    NO_RULE = 2


class Edge(NamedTuple):
    """Gradient goes from ``value`` to ``source``, its input, when the edge is open.

    Opening costs 1 for a stop and where floats end; where they begin again is the same slot.
    """

    source: Value
    value: Value
    slot: int
    gate: Gate
    cost: int


class Reach:
    """Result of a search: how many closed slots each value cost, and the edge it came by.

    ``ahead`` tells a search that went forward. Values on one route share what is kept of it, so
    that asking for the ends of all routes takes linear time.
    """

    def __init__(self, cost: dict[Value, int], by: dict[Value, Edge], ahead: bool) -> None:
        self.cost = cost
        self.by = by
        self._ahead = ahead
        self._first: dict[Value, tuple[Edge, ...]] = {}
        self._nearest: dict[Value, Value | None] = {}
        self._blocks: dict[Value, tuple[int, tuple[str, ...]]] = {}

    def towards(self, value: Value) -> Value | None:
        """The next value on the way back to where the search began; None at the beginning."""
        edge = self.by.get(value)
        if edge is None:
            return None
        return edge.source if self._ahead else edge.value

    def route(self, value: Value) -> Iterator[Value]:
        """The values on the way back to where the search began, from the value on."""
        at: Value | None = value
        while at is not None:
            yield at
            at = self.towards(at)

    def closed(self, value: Value) -> Iterator[Edge]:
        """The slots to open between a value and where the search began, from the value on."""
        at = self._closed_at(value)
        while at is not None:
            yield self.by[at]
            ahead = self.towards(at)
            at = None if ahead is None else self._closed_at(ahead)

    def first_closed(self, value: Value) -> tuple[Edge, ...]:
        """The first slots to open, ``MANY`` at most, from where the search began on."""
        for at in self._unknown(value, self._first):
            ahead, edge = self.towards(at), self.by.get(at)
            found = () if ahead is None else self._first[ahead]
            if edge is not None and edge.cost and len(found) < MANY:
                found = (*found, edge)
            self._first[at] = found
        return self._first[value]

    def blocks(self, value: Value) -> tuple[int, tuple[str, ...]]:
        """How many blocks the route has, and the first, ``MANY`` at most, from the beginning."""
        unknown = self._unknown(value, self._blocks)
        if unknown:
            ahead = self.towards(unknown[0])
            count, found = (0, ()) if ahead is None else self._blocks[ahead]
            last = None if ahead is None else ahead.owner
            for at in unknown:
                if (owner := at.owner) != last:
                    found = (*found, str(owner)) if count < MANY else found
                    count, last = count + 1, owner
                self._blocks[at] = count, found
        return self._blocks[value]

    def _closed_at(self, value: Value) -> Value | None:
        """The nearest value on the route, from this one on, that came by a closed slot."""
        for at in self._unknown(value, self._nearest):
            ahead, edge = self.towards(at), self.by.get(at)
            nearest = None if ahead is None else self._nearest[ahead]
            self._nearest[at] = at if edge is not None and edge.cost else nearest
        return self._nearest[value]

    def _unknown(self, value: Value, known: Container[Value]) -> list[Value]:
        """The values of a route that are not known yet, the first of the route first."""
        found: list[Value] = []
        at: Value | None = value
        while at is not None and at not in known:
            found.append(at)
            edge = self.by.get(at)  # not ``towards``: on a long route the calls are what takes time
            at = None if edge is None else edge.source if self._ahead else edge.value
        return found[::-1]


class Graph:
    """The forward part of a program as edges, both ways.

    A closed edge inside a block is left out where the same block has an open way between the same
    ports: a softmax that holds its shift constant cuts nothing.
    """

    def __init__(self, program: Program) -> None:
        self.inputs: dict[Value, list[Edge]] = {}
        self.readers: dict[Value, list[Edge]] = defaultdict(list)
        values = program.trace.values[: program.forward_end]
        outputs = set(program.ports.values())
        owned: dict[object, list[Edge]] = defaultdict(list)
        wired: set[object] = set()
        for value in values:
            if value.primitive is WIRE:
                wired.add(value.owner)
            edges = [_edge(value, slot) for slot in range(len(value.inputs))]
            self.inputs[value] = edges
            owned[value.owner] += edges
        for owner, edges in owned.items():
            closed = [edge for edge in edges if edge.gate and edge.value.primitive is not WIRE]
            if closed:
                dropped = _redundant(edges, closed, outputs) if owner in wired else set(closed)
                for value in {edge.value for edge in dropped}:
                    self.inputs[value] = [e for e in self.inputs[value] if e not in dropped]
        for edges in self.inputs.values():
            for edge in edges:
                self.readers[edge.source].append(edge)

    def backward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values that gradient from ``starts`` reaches with edges up to ``level`` opened, by the
        fewest closed slots (0-1 breadth-first search: linear).
        """
        return self._search(starts, level, self.inputs, ahead=False)

    def forward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values whose gradient could come to ``starts``, likewise."""
        return self._search(starts, level, self.readers, ahead=True)

    def _search(
        self,
        starts: Iterable[Value],
        level: Gate,
        edges: dict[Value, list[Edge]],
        ahead: bool,
    ) -> Reach:
        cost = {value: 0 for value in starts}
        by: dict[Value, Edge] = {}
        queue = deque(cost)
        while queue:
            value = queue.popleft()
            here = cost[value]
            for edge in edges.get(value, ()):
                if edge.gate > level:
                    continue
                there = edge.value if ahead else edge.source
                price = here + edge.cost
                if price < cost.get(there, 1 << 60):
                    cost[there] = price
                    by[there] = edge
                    (queue.append if edge.cost else queue.appendleft)(there)
        return Reach(cost, by, ahead)


def _edge(value: Value, slot: int) -> Edge:
    source, gate = value.inputs[slot], _gate(value, slot)
    return Edge(source, value, slot, gate, int(gate is not Gate.OPEN and is_float(source.dtype)))


def _gate(value: Value, slot: int) -> Gate:
    """How a slot lets gradient through.

    From one integer or boolean to another it counts as open: gradient is lost where floats end
    and where they begin, and those are the slots to name.
    """
    if passes_gradient(value, slot) or not (
        is_float(value.dtype) or is_float(value.inputs[slot].dtype)
    ):
        return Gate.OPEN
    return Gate.STOP if value.primitive.stops else Gate.NO_RULE


def _redundant(edges: list[Edge], closed: list[Edge], outputs: set[Value]) -> set[Edge]:
    """Closed edges of one block between whose ends the block has an open way as well."""
    into: dict[Value, list[Edge]] = defaultdict(list)
    out: dict[Value, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.value.primitive is not WIRE:
            into[edge.value].append(edge)
            out[edge.source].append(edge)

    def entries(start: Value, only_open: bool) -> frozenset[Value]:
        """The wires, and values of other blocks, from which the block gets to ``start``."""
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
