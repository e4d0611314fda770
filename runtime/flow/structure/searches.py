"""The searches behind states, verdicts and repairs, each done once per program."""

from __future__ import annotations

from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from runtime.calculus.dtypes import is_float
from runtime.flow.lazy import MANY, LazySequence
from runtime.flow.structure.reachability import Edge, Gate, Graph, Reach
from runtime.flow.structure.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runtime.calculus import Value
    from runtime.diagram.paths import PortPath
    from runtime.engine.program import Program

STEPS = frozenset({"round", "floor", "ceil", "sign"})
"""Primitives that are step functions: they pass gradient, but it is always 0."""
LEVELS = (Gate.OPEN, Gate.STOP, Gate.NO_RULE)


class Searches:
    """Searches from losses backward and from variables forward, at every level."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = Graph(program)
        self.slots = Slots(program)
        self._to_loss: dict[tuple[str, Gate], Reach] = {}
        self._smooth: dict[str, set[Value]] = {}

    def to_loss(self, head: PortPath, level: Gate) -> Reach:
        """Values that the gradient of a head reaches through slots up to ``level``."""
        key = head, level
        if key not in self._to_loss:
            self._to_loss[key] = self.graph.backward([self.program.ports[head]], level)
        return self._to_loss[key]

    def steps(self, head: PortPath, value: Value) -> list[Edge]:
        """The slots of step functions on the route from a head through a value to a variable;
        empty if the value can be reached without any.
        """
        if value not in self.to_loss(head, Gate.OPEN).cost or value in self._without_steps(head):
            return []
        route = self.route(head, value)
        return [
            edge
            for reader, source in pairwise(route)
            if reader.primitive.name in STEPS
            for edge in self.graph.inputs[reader]
            if edge.source is source
        ]

    def _without_steps(self, head: PortPath) -> set[Value]:
        """Values that the gradient of a head reaches without passing a step function."""
        if head not in self._smooth:
            start = self.program.ports[head]
            found, pending = {start}, [start]
            while pending:
                value = pending.pop()
                for edge in self.graph.inputs.get(value, ()):
                    passes = edge.gate is Gate.OPEN and value.primitive.name not in STEPS
                    if passes and edge.source not in found:
                        found.add(edge.source)
                        pending.append(edge.source)
            self._smooth[head] = found
        return self._smooth[head]

    @cached_property
    def trained(self) -> tuple[Reach, ...]:
        """Values from which gradient reaches a trained variable, by level."""
        leaves = self.variables(trained=True)
        return tuple(self.graph.forward(leaves, level) for level in LEVELS)

    @cached_property
    def frozen(self) -> tuple[Reach, ...]:
        """Values from which gradient reaches a frozen variable, by level."""
        leaves = self.variables(trained=False)
        return tuple(self.graph.forward(leaves, level) for level in LEVELS)

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

    def levels(self, head: PortPath, value: Value) -> tuple[Gate | None, Gate | None, Gate | None]:
        """The worst gate between a value and the head, trained variables and frozen variables.

        None where no route exists.
        """
        reaches = (self.to_loss(head, level) for level in LEVELS)
        return _first(value, reaches), _first(value, self.trained), _first(value, self.frozen)

    def repair(self, head: PortPath, value: Value) -> Sequence[Edge]:
        """The fewest slots to open from a head through a value to a variable, in this order.

        Prefers stops to slots without a rule, and trained variables to frozen ones, unless a
        trained one would need a slot without a rule and a frozen one needs none.
        """
        ahead, behind = self._cheapest(head, value)
        if ahead is None or behind is None:
            return ()
        first = [*ahead.first_closed(value), *islice(behind.closed(value), MANY)]
        count = ahead.cost[value] + behind.cost[value]
        if len(first) == count:
            return first
        return LazySequence(
            lambda: [*reversed([*ahead.closed(value)]), *behind.closed(value)],
            first[:MANY],
            count=count,
        )

    def nearest_cuts(self, head: PortPath, value: Value) -> list[Edge]:
        """The slots of the repair nearest to the head, and nearest to the value upstream of it."""
        ahead, behind = self._cheapest(head, value)
        found = [] if ahead is None else [*ahead.first_closed(value)[:1]]
        return found if behind is None else [*found, *islice(behind.closed(value), 1)]

    def route(self, head: PortPath, value: Value) -> list[Value]:
        """The route of the repair, from the head through the value to a variable."""
        ahead, behind = self._cheapest(head, value)
        nearer = [] if ahead is None else [*ahead.route(value)][:0:-1]
        return [*nearer, *([value] if behind is None else behind.route(value))]

    def _cheapest(self, head: PortPath, value: Value) -> tuple[Reach | None, Reach | None]:
        ahead, trained, frozen = self.levels(head, value)
        thaw = ahead is frozen is Gate.OPEN and trained is Gate.NO_RULE
        if trained is None or thaw:
            behind = None if frozen is None else self.frozen[frozen]
        else:
            behind = self.trained[trained]
        return None if ahead is None else self.to_loss(head, ahead), behind


def _first(value: Value, reaches: Iterable[Reach]) -> Gate | None:
    for level, reach in zip(LEVELS, reaches, strict=False):
        if value in reach.cost:
            return level
    return None
