"""The searches behind states, verdicts and repairs, each done once per program."""

from __future__ import annotations

from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.flow.lazy import MANY, LazySequence
from gradwire.runtime.flow.structure.reachability import Edge, FlowGraph, Gate, Reach
from gradwire.runtime.flow.structure.slots import ClosedSlots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.program import Program

STEPS = frozenset({"round", "floor", "ceil", "sign"})
"""Primitives that are step functions: they pass gradient, but it is always 0."""
LEVELS = (Gate.OPEN, Gate.STOP, Gate.NO_RULE)


class Searches:
    """Searches from variables forward, at every level, and those from losses backward."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = FlowGraph(program)
        self.slots = ClosedSlots(program, self.graph)
        self._from_one: dict[PortPath, LossSearches] = {}

    def from_loss(self, head: PortPath) -> LossSearches:
        """The searches from one loss."""
        if head not in self._from_one:
            self._from_one[head] = LossSearches(self, (head,))
        return self._from_one[head]

    @cached_property
    def trained(self) -> tuple[Reach, ...]:
        """Values from which gradient reaches a trained variable, by level."""
        return self._behind(self.variables(trained=True))

    @cached_property
    def frozen(self) -> tuple[Reach, ...]:
        """Values from which gradient reaches a frozen variable, by level."""
        return self._behind(self.variables(trained=False))

    def _behind(self, leaves: Sequence[Value]) -> tuple[Reach, ...]:
        """The search from variables at each level; one for levels that follow the same edges."""
        levels = [self.graph.same_as(level) for level in LEVELS]
        found = {level: self.graph.forward(leaves, level) for level in dict.fromkeys(levels)}
        return tuple(found[level] for level in levels)

    def variables(self, trained: bool) -> list[Value]:
        """The trained, or else the frozen, float variables."""
        program = self.program
        return [
            program.leaves[path].value
            for path, block in program.sources("variable").items()
            if path in program.leaves
            and block.wants_gradient is trained
            and is_float(program.leaves[path].value.dtype)
        ]

    def levels_behind(self, value: Value) -> tuple[Gate | None, Gate | None]:
        """The worst gate between a value and trained variables, and frozen ones; None where no
        route exists.
        """
        return _first(value, self.trained), _first(value, self.frozen)


class LossSearches:
    """Searches from losses backward, at every level.

    Of several losses, a value belongs to the first that reaches it, so that the searches from all
    of them together take linear time. The ``head`` of a question about one of several losses has
    to be the first that reaches the value at some level.
    """

    def __init__(self, searches: Searches, heads: tuple[PortPath, ...]) -> None:
        self.heads = heads
        self._searches = searches
        self._graph = searches.graph
        ports = searches.program.ports
        self._starts = {ports[head].index: head for head in reversed(heads)}
        self._found: dict[Gate, tuple[Reach, dict[int, int]]] = {}

    def reach(self, level: Gate) -> Reach:
        """Values that the gradient of the losses reaches through slots up to ``level``."""
        return self._claimed(level)[0]

    def owners(self, level: Gate) -> dict[int, int]:
        """The place of the loss that each of these values belongs to, by place in the trace."""
        reach, owners = self._claimed(level)
        return dict.fromkeys(reach.via, *self._starts) if len(self.heads) == 1 else owners

    def first(self, value: Value, level: Gate) -> PortPath | None:
        """The first loss whose gradient reaches a value through slots up to ``level``."""
        reach, owners = self._claimed(level)
        if len(self.heads) == 1:
            return self.heads[0] if value.index in reach.via else None
        owner = owners.get(value.index)
        return None if owner is None else self._starts[owner]

    def marks(self) -> dict[int, tuple[int, ...]]:
        """The numbers of the losses that each value is, by place in the trace."""
        ports = self._searches.program.ports
        found: dict[int, tuple[int, ...]] = {}
        for number, head in enumerate(self.heads):
            place = ports[head].index
            found[place] = (*found.get(place, ()), number)
        return found

    def level(self, value: Value, head: PortPath | None = None) -> Gate | None:
        """The worst gate between a value and ``head``, or the nearest loss; None where no route
        exists.
        """
        for level in LEVELS:
            owner = self.first(value, level)
            if owner is not None and head in (None, owner):
                return level
        return None

    # ---- routes -------------------------------------------------------------------------------

    def steps(self, value: Value, head: PortPath) -> list[Edge]:
        """The slots of step functions on the route from a head through a value to a variable;
        empty if the value can be reached without any.
        """
        if value not in self.reach(Gate.OPEN) or value.index in self._without_steps:
            return []
        route = self.route(value, head)
        return [
            edge
            for reader, source in pairwise(route)
            if reader.primitive.name in STEPS
            for edge in self._graph.inputs(reader)
            if edge.source is source
        ]

    @cached_property
    def _without_steps(self) -> set[int]:
        """The places of values that the gradient of a loss reaches without passing a step
        function.
        """
        found = set(self._starts)
        pending = list(found)
        values, sources = self._graph.values, self._graph.sources
        while pending:
            place = pending.pop()
            if values[place].primitive.name not in STEPS:
                further = [source for source in sources[place] if source not in found]
                found.update(further)
                pending += further
        return found

    def repair(self, value: Value, head: PortPath) -> Sequence[Edge]:
        """The fewest slots to open from a head through a value to a variable, in this order.

        Prefers stops to slots without a rule, and trained variables to frozen ones, unless a
        trained one would need a slot without a rule and a frozen one needs none.
        """
        ahead, behind = self._cheapest(value, head)
        if ahead is None or behind is None:
            return ()
        first = [*ahead.first_closed(value), *islice(behind.closed(value), MANY)]
        count = ahead.cost(value) + behind.cost(value)
        if len(first) == count:
            return first
        return LazySequence(
            lambda: [*reversed([*ahead.closed(value)]), *behind.closed(value)],
            first[:MANY],
            count=count,
        )

    def nearest_cuts(self, value: Value, head: PortPath) -> list[Edge]:
        """The slots of the repair nearest to the head, and nearest to the value upstream of it."""
        ahead, behind = self._cheapest(value, head)
        found = [] if ahead is None else [*ahead.first_closed(value)[:1]]
        return found if behind is None else [*found, *islice(behind.closed(value), 1)]

    def route(self, value: Value, head: PortPath) -> list[Value]:
        """The route of the repair, from the head through the value to a variable."""
        ahead, behind = self._cheapest(value, head)
        nearer = [] if ahead is None else [*ahead.route(value)][:0:-1]
        return [*nearer, *([value] if behind is None else behind.route(value))]

    def _cheapest(self, value: Value, head: PortPath) -> tuple[Reach | None, Reach | None]:
        ahead, (trained, frozen) = self.level(value, head), self._searches.levels_behind(value)
        thaw = ahead is frozen is Gate.OPEN and trained is Gate.NO_RULE
        if trained is None or thaw:
            behind = None if frozen is None else self._searches.frozen[frozen]
        else:
            behind = self._searches.trained[trained]
        return None if ahead is None else self.reach(ahead), behind

    def _claimed(self, level: Gate) -> tuple[Reach, dict[int, int]]:
        found = self._found.get(level)
        if found is None:
            same = self._graph.same_as(level)
            if same not in self._found:
                starts = [self._searches.program.ports[head] for head in self.heads]
                self._found[same] = self._graph.claimed(starts, same)
            found = self._found[level] = self._found[same]
        return found


def _first(value: Value, reaches: Iterable[Reach]) -> Gate | None:
    for level, reach in zip(LEVELS, reaches, strict=False):
        if value.index in reach.via:
            return level
    return None
