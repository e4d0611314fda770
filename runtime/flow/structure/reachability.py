"""The slots of a program as edges: open, closed by a stop, or closed because a rule is missing."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from runtime.calculus import Value, passes_gradient
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import WIRE
from runtime.flow.lazy import MANY
from runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from runtime.engine.program import Program


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
    """The result of a search: the last edge of the way to each value that it found, None for those
    it started from, and the number of closed slots on the way, where that is not 0.

    ``is_forward`` is the direction of the search. Results are memoised along routes, so that
    describing the routes of all values takes linear time.
    """

    def __init__(
        self, via: dict[Value, Edge | None], costs: dict[Value, int], is_forward: bool
    ) -> None:
        self.via = via
        self.costs = costs
        self._is_forward = is_forward
        self._first: dict[Value, tuple[Edge, ...]] = {}
        self._nearest: dict[Value, Value | None] = {}
        self._blocks: dict[Value, tuple[int, tuple[str, ...]]] = {}

    def cost(self, value: Value) -> int:
        """The number of closed slots on the way to a value that the search found."""
        return self.costs.get(value, 0)

    def previous(self, value: Value) -> Value | None:
        """The value before this one on its route; None at the start of the search."""
        edge = self.via.get(value)
        if edge is None:
            return None
        return edge.source if self._is_forward else edge.value

    def route(self, value: Value) -> Iterator[Value]:
        """The values on the route from this one back to the start of the search."""
        at: Value | None = value
        while at is not None:
            yield at
            at = self.previous(at)

    def closed(self, value: Value) -> Iterator[Edge]:
        """The closed slots on the route from this value back to the start of the search."""
        at = self._closed_at(value)
        while at is not None:
            edge = self.via[at]
            assert edge is not None  # a search starts at no closed slot
            yield edge
            before = self.previous(at)
            at = None if before is None else self._closed_at(before)

    def first_closed(self, value: Value) -> tuple[Edge, ...]:
        """The first closed slots on the route, from the start of the search; at most ``MANY``."""
        for at in self._missing(value, self._first):
            before, edge = self.previous(at), self.via.get(at)
            found = () if before is None else self._first[before]
            if edge is not None and edge.cost and len(found) < MANY:
                found = (*found, edge)
            self._first[at] = found
        return self._first[value]

    def blocks(self, value: Value) -> tuple[int, tuple[str, ...]]:
        """The number of blocks on the route, and the first of them; at most ``MANY``."""
        missing = self._missing(value, self._blocks)
        if missing:
            before = self.previous(missing[0])
            count, found = (0, ()) if before is None else self._blocks[before]
            last = None if before is None else before.owner
            for at in missing:
                if (owner := at.owner) != last:
                    found = (*found, str(owner)) if count < MANY else found
                    count, last = count + 1, owner
                self._blocks[at] = count, found
        return self._blocks[value]

    def _closed_at(self, value: Value) -> Value | None:
        """The nearest value on the route, possibly this one, that was reached by a closed slot."""
        for at in self._missing(value, self._nearest):
            before, edge = self.previous(at), self.via.get(at)
            nearest = None if before is None else self._nearest[before]
            self._nearest[at] = at if edge is not None and edge.cost else nearest
        return self._nearest[value]

    def _missing(self, value: Value, known: Container[Value]) -> list[Value]:
        """The values on the route for which no result is memoised, in route order."""
        found: list[Value] = []
        at: Value | None = value
        while at is not None and at not in known:
            found.append(at)
            edge = self.via.get(at)  # ``previous`` inlined: the calls are slow on long routes
            at = None if edge is None else edge.source if self._is_forward else edge.value
        return found[::-1]


class Graph:
    """The forward part of a program as edges, indexed by both ends.

    A closed edge inside a block is omitted if the block also has an open path between the same
    ports: a softmax that treats its shift as a constant cuts nothing.
    """

    @uncollected()
    def __init__(self, program: Program) -> None:
        self.inputs: dict[Value, list[Edge]] = {}
        self.readers: dict[Value, list[Edge]] = defaultdict(list)
        values = program.trace.values[: program.forward_end]
        outputs = set(program.ports.values())
        owned: dict[object, list[Edge]] = defaultdict(list)
        wired: set[object] = set()
        kinds: dict[object, tuple[Gate, int]] = {}
        for value in values:
            if value.primitive is WIRE:
                wired.add(value.owner)
            edges = []
            for slot, source in enumerate(value.inputs):
                alike = id(value.primitive), slot, value.dtype, source.dtype
                if (kind := kinds.get(alike)) is None:
                    kind = kinds[alike] = _gate(value, slot), _cost(value, slot)
                edges.append(Edge(source, value, slot, *kind))
            self.inputs[value] = edges
            owned[value.owner] += edges
        for owner, edges in owned.items():
            closed = [edge for edge in edges if edge.gate and edge.value.primitive is not WIRE]
            if closed:
                dropped = _redundant(edges, closed, outputs) if owner in wired else set(closed)
                for value in {edge.value for edge in dropped}:
                    self.inputs[value] = [e for e in self.inputs[value] if e not in dropped]
        gates = set()
        for edges in self.inputs.values():
            for edge in edges:
                self.readers[edge.source].append(edge)
                gates.add(edge.gate)
        self._gates = sorted(gates)

    def same_as(self, level: Gate) -> Gate:
        """The lowest level at which a search follows the edges that it follows at this one."""
        return max((gate for gate in self._gates if gate <= level), default=Gate.OPEN)

    def backward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values that gradient from ``starts`` reaches through edges up to ``level``.

        Routes have the fewest closed slots (0-1 breadth-first search, linear time).
        """
        return self._search(starts, level, self.inputs, is_forward=False)

    @uncollected()
    def claimed(self, starts: Sequence[Value], level: Gate) -> tuple[Reach, dict[Value, Value]]:
        """As ``backward``, but each value belongs to the first start that reaches it, which is
        returned with it, and its route leads back to that one. A single start owns all.

        All starts together take linear time: what a start reaches through a value of an earlier
        one belongs to the earlier one as well.
        """
        if len(starts) == 1:
            return self._search(starts, level, self.inputs, is_forward=False), {}
        via: dict[Value, Edge | None] = {}
        costs: dict[Value, int] = {}
        owner: dict[Value, Value] = {}
        for start in starts:
            if start not in owner:
                found = self._search([start], level, self.inputs, False, owner)
                costs |= found.costs
                via |= found.via
                owner |= dict.fromkeys(found.via, start)
        return Reach(via, costs, is_forward=False), owner

    @uncollected()
    def forward(self, starts: Iterable[Value], level: Gate) -> Reach:
        """Values from which gradient reaches ``starts`` through edges up to ``level``, likewise."""
        return self._search(starts, level, self.readers, is_forward=True)

    def _search(
        self,
        starts: Iterable[Value],
        level: Gate,
        edges: dict[Value, list[Edge]],
        is_forward: bool,
        taken: Container[Value] = (),
    ) -> Reach:
        via: dict[Value, Edge | None] = dict.fromkeys(starts)
        if level is Gate.OPEN:
            pending = [*reversed(via)]
            while pending:
                for edge in edges.get(pending.pop(), ()):
                    there = edge.value if is_forward else edge.source
                    if not (edge.gate or there in via or there in taken):
                        via[there] = edge
                        pending.append(there)
            return Reach(via, {}, is_forward)
        cost = dict.fromkeys(via, 0)
        queue = deque(cost)
        while queue:
            value = queue.popleft()
            here = cost[value]
            for edge in edges.get(value, ()):
                if edge.gate > level:
                    continue
                there = edge.value if is_forward else edge.source
                total = here + edge.cost
                if total < cost.get(there, 1 << 60) and there not in taken:
                    cost[there] = total
                    via[there] = edge
                    (queue.append if edge.cost else queue.appendleft)(there)
        return Reach(via, {value: n for value, n in cost.items() if n}, is_forward)


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
