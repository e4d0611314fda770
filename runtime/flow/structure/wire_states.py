"""The state of every wire, from what separates it from losses and from variables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.importing.kinds import is_view
from gradwire.runtime.diagram.paths import WirePath
from gradwire.runtime.flow.lazy import overlaid
from gradwire.runtime.flow.structure.leaves import best_state
from gradwire.runtime.flow.structure.reachability import Gate
from gradwire.runtime.flow.structure.searches import LEVELS, LossSearches, Searches
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath

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
