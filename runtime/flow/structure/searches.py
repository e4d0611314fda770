"""The searches behind states, verdicts and repairs, each done once per program."""

from __future__ import annotations

from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from gradwire.blocks.importing.kinds import is_view
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.diagram.paths import WirePath
from gradwire.runtime.flow.lazy import MANY, LazySequence, overlaid
from gradwire.runtime.flow.structure.leaves import best_state
from gradwire.runtime.flow.structure.reachability import Edge, FlowGraph, Gate, Reach
from gradwire.runtime.flow.structure.slots import ClosedSlots
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
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


# The state of every wire, from what separates it from losses and from variables.

STATE_BY_GATE = dict(zip(LEVELS, (State.CARRIES, State.STOPPED, State.NO_RULE), strict=True))
"""The state of a wire by the worst gate that is needed to connect it."""
UNCERTAIN = frozenset({State.STOPPED, State.NO_RULE, State.OFF_ROUTE, State.NOTHING_TO_TRAIN})
"""States that could change if blocks with errors could be traced."""


class WireStates:
    """The states of the wires and values of a program.

    Over several losses a wire is in the best of its states. A worse gate never gives a better
    state, so this is the one for the nearest loss.
    """

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._program = searches.program

    def of_all(self, losses: LossSearches) -> Mapping[str, State]:
        """The states of all wires; they take memory for the wires that the losses reach."""
        opened, trained = losses.reach(Gate.OPEN).via, self._searches.trained[Gate.OPEN].via
        carrying, reached = opened.keys() & trained.keys(), losses.reach(Gate.NO_RULE).via
        wires = self._searches.slots.wire_of.items()  # in order, since a table of texts is slow
        near: dict[str, State] = dict.fromkeys(
            [wire for place, wire in wires if place in carrying], State.CARRIES
        )
        if len(near) == len(self._program.wire_sources):
            return near
        for place, wire in wires:
            if place not in carrying and place in reached:
                near[wire] = self.of_wire(losses, wire)
        for wire in self.trees_over(map(WirePath, [*near])) if self._program.wire_trees else ():
            near[wire] = self.of_wire(losses, wire)
        return overlaid(self._far, near)

    @cached_property
    def _far(self) -> dict[str, State]:
        """The states of wires that no loss reaches."""
        program, broken = self._program, self.broken
        found: dict[str, State] = dict.fromkeys(program.wire_sources, State.OFF_ROUTE)
        if broken or len(program.wires) < len(found):
            for wire, target in program.wire_targets.items():
                traced = wire in program.wires or wire in program.wire_trees
                if target in broken or not traced:
                    found[wire] = State.UNKNOWN
        for wire in map(WirePath, program.wire_trees):
            if not program.leaf_wires(wire):
                found[wire] = State.NOTHING_TO_TRAIN
        return found

    def reached(self, losses: LossSearches) -> list[WirePath]:
        """The wires that the gradient of losses would reach if all slots were open."""
        wire_of = self._searches.slots.wire_of
        wires = [wire_of[place] for place in losses.reach(Gate.NO_RULE).via if place in wire_of]
        return [*wires, *self.trees_over(wires)]

    def trees_over(self, wires: Iterable[WirePath]) -> Iterable[WirePath]:
        """The wires with trees that one of these leaves is in."""
        trees = (self._trees_of.get(wire, ()) for wire in wires)
        return dict.fromkeys(tree for several in trees for tree in several)

    @cached_property
    def _trees_of(self) -> dict[WirePath, list[WirePath]]:
        """The wires with trees that each leaf is in."""
        found: dict[WirePath, list[WirePath]] = {}
        for wire in map(WirePath, self._program.wire_trees):
            for leaf in self._program.leaf_wires(wire):
                found.setdefault(leaf, []).append(wire)
        return found

    def of_wire(self, losses: LossSearches, wire: WirePath) -> State:
        """The best state of a wire for any of the losses; UNKNOWN if an error could change it."""
        if wire in self._program.wire_trees:
            return best_state(self.of_wire(losses, w) for w in self._program.leaf_wires(wire))
        marker = self._program.wires.get(wire)
        if marker is None:
            return State.UNKNOWN
        state = self.of_value(losses, marker)
        broken = state in UNCERTAIN and self._program.wire_targets[wire] in self.broken
        return State.UNKNOWN if broken else state

    def of_value(self, losses: LossSearches, value: Value) -> State:
        """The best state of a value for any of the losses, errors aside."""
        return self._behind(losses.level(value), value)

    def _behind(self, loss: Gate | None, value: Value) -> State:
        """The state of a value, given what separates it from the loss, by what separates it from
        variables; the worse the gate, the worse the state.
        """
        trained, frozen = self._searches.levels_behind(value)
        variables = frozen if trained is None else trained
        if loss is None:
            return State.OFF_ROUTE
        if variables is None:
            return State.NOTHING_TO_TRAIN
        if loss is Gate.OPEN and trained is None:
            return State.FROZEN
        worst = max(loss, variables)
        if worst is Gate.NO_RULE and loss is frozen is Gate.OPEN:
            return State.FROZEN
        if worst is Gate.STOP and trained is None:
            return State.FROZEN
        return STATE_BY_GATE[worst]

    def worst_gate(self, state: State, value: Value) -> Gate:
        """The worst gate between a loss and a value with which it is in ``state``."""
        return max(level for level in LEVELS if self._behind(level, value) is state)

    @cached_property
    def broken(self) -> dict[InstancePath, InstancePath]:
        """Blocks that could not be traced, and all blocks upstream of them, with the culprit.

        A view that could not be traced says nothing about what it reads.
        """
        program = self._program
        found = {path: path for path in program.failed} | program.blocked
        found = {
            path: culprit for path, culprit in found.items() if not is_view(program.block(path))
        }
        if not found:
            return found
        feeding: dict[InstancePath, list[InstancePath]] = {}
        for key, target in program.wire_targets.items():
            feeding.setdefault(target, []).append(program.wire_sources[key].block)
        pending = list(found)
        while pending:
            path = pending.pop()
            for before in feeding.get(path, ()):
                if before not in found:
                    found[before] = found[path]
                    pending.append(before)
        return found
