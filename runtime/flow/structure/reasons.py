"""Verdicts: why a wire is in its state, with cutters, witness and affected variables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING

from gradwire.blocks.library.gradient import Gradient
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import WIRE
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.flow.lazy import MANY, LazySequence
from gradwire.runtime.flow.structure.misuses import choice_cure
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.reachability import Edge, Gate
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import Cutter, State, Verdict
from gradwire.runtime.flow.words.sweeps import Nearby

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.flow.structure.disagreements import Doubts
    from gradwire.runtime.flow.structure.reachability import Reach
    from gradwire.runtime.flow.structure.searches import LossSearches, Searches


class Route(LazySequence[str]):
    """The blocks of the ``reach`` of a search, from its start to a ``value``."""

    __slots__ = ("reach", "value")

    def __init__(
        self, reach: Reach, value: Value, first: Sequence[str], last: Sequence[str], count: int
    ) -> None:
        super().__init__(partial(_route, reach, value), first, last, count)
        self.reach = reach
        self.value = value


class Verdicts:
    """Explains the states of values.

    The first verdict of a kind takes linear time and the others almost none, because sentences use
    sweeps over all values and long lists are lazy.
    """

    def __init__(self, searches: Searches, doubts: Doubts) -> None:
        self._searches = searches
        self._doubts = doubts
        self._graph = searches.graph
        self._slots = searches.slots
        self._program = searches.program
        self._nearby = Nearby(searches)

    def _certain(self, variables: Sequence[str], losses: LossSearches) -> Sequence[str]:
        """Those of the variables whose gradients are not in doubt."""
        leaves, heads = self._program.leaves, losses.heads
        if not self._doubts:
            return variables
        return [v for v in variables if not self._doubts.about(leaves[v].value, heads)]

    def heads(self, losses: LossSearches, value: Value, level: Gate) -> list[PortPath]:
        """The first of the losses whose gradient reaches a value through slots up to ``level``."""
        return self._nearby.heads(losses, value, level)

    def explain(
        self,
        key: str,
        losses: LossSearches,
        heads: Sequence[PortPath],
        state: State,
        value: Value,
    ) -> Verdict:
        """Why a value, named ``key``, is in ``state`` for ``heads``, the first of the losses for
        which it is; examines the first head.
        """
        head = heads[0]
        named = [head.block for head in heads]
        if state is State.CARRIES:
            witness = self._witness(losses, head, value)
            variables = self._certain(self._nearby.variables(value, Gate.OPEN, True), losses)
            text = sentences.carries(named, variables, witness)
            return Verdict(key, head, state, text, witness=witness)
        if state is State.OFF_ROUTE:
            unread = key in self._program.leaves and not self._nearby.losses(value)
            cure = sentences.UNREAD if unread else ""
            return Verdict(key, head, state, self._off_route(key, named, value), cure=cure)
        if state is State.NOTHING_TO_TRAIN:
            text = sentences.nothing_to_train(self._nearby.integers(value))
            return Verdict(key, head, state, text)
        if state is State.FROZEN:
            return self._frozen(key, losses, head, value)
        return self._cut(key, losses, head, state, value)

    def _cut(
        self, key: str, losses: LossSearches, head: PortPath, state: State, value: Value
    ) -> Verdict:
        level = Gate.STOP if state is State.STOPPED else Gate.NO_RULE
        trained = self._nearby.variables(value, level, True)
        frozen = () if trained else tuple(self._nearby.variables(value, level, False))
        before = self._nearby.cutters_ahead(losses, value, head, level)
        behind = self._nearby.cutters_behind(value, level, bool(trained))
        repair = self.repair(losses, head, value)
        nearest = map(self._slots.cutter, losses.nearest_cuts(value, head))
        named = {cutter.block for cutter in (*before, *behind, *nearest)}
        needed = dict.fromkeys(replace(c, leaf="") if c.leaf else c for c in repair[:MANY])
        further = [cutter for cutter in needed if cutter.block not in named]
        dtype = None if is_float(value.dtype) else value.dtype
        more = isinstance(repair, LazySequence)
        text = sentences.cut(head.block, before, behind, further, trained, frozen, dtype, more)
        if stopped := [name for name in map(self._stopped_loss, before) if name]:
            text = f"{text} {sentences.a_stop_wins(stopped)}"
        ruleless = self._ruleless(losses, head, value) if before and level is Gate.STOP else []
        if ruleless:
            text = f"{text} {sentences.cuts_besides(ruleless, head.block)}"
        cutters: Sequence[Cutter] = tuple(dict.fromkeys((*before, *behind, *further)))
        if max(len(before), len(behind)) > MANY:
            exact = partial(self._all_cutters, head, value, level, bool(trained), further)
            cutters = LazySequence(exact, cutters[:MANY])
        witness = self._witness(losses, head, value)
        closed = (c for c in (*before, *behind, *ruleless) if c.kind != "stop")
        cures = (choice_cure(self._program, cutter.block, cutter.port) for cutter in closed)
        cure = next(filter(None, cures), "")
        return Verdict(key, head, state, text, cutters, witness, frozen, repair, cure=cure)

    def _ruleless(self, losses: LossSearches, head: PortPath, value: Value) -> list[Cutter]:
        """What lacks a rule on routes from a loss to a value beside those that are stopped."""
        found = self._nearby.cutters_ahead(losses, value, head, Gate.NO_RULE)
        return [cutter for cutter in found if cutter.kind != "stop"]

    def _stopped_loss(self, cutter: Cutter) -> str | None:
        """The Loss block that a stop reads; None for another cutter."""
        source = self._program.wire_sources.get(cutter.wire)
        path = None if source is None or cutter.kind != "stop" else source.block
        return path if path is not None and self._program.block(path).head else None

    def repair(self, losses: LossSearches, head: PortPath, value: Value) -> Sequence[Cutter]:
        """The fewest slots to open so that a value carries gradient, from the loss on."""
        edges = losses.repair(value, head)
        first = [self._slots.opening(edge) for edge in edges[:MANY]]
        if not isinstance(edges, LazySequence):
            return tuple(first)
        return LazySequence(
            lambda: [self._slots.opening(edge) for edge in edges], first, count=edges.known_length
        )

    def _frozen(self, key: str, losses: LossSearches, head: PortPath, value: Value) -> Verdict:
        """The verdict on a value that leads only to frozen variables, or does if slots open."""
        near = self._nearby
        reached = near.variables(value, Gate.OPEN, False)
        frozen = reached or near.variables(value, Gate.NO_RULE, False)
        trained = near.variables(value, Gate.NO_RULE, True)
        behind: list[Cutter] = []
        if trained or not reached:
            behind = near.cutters_behind(value, Gate.NO_RULE, bool(trained))
        text = sentences.frozen(
            frozen, trained, behind, self._reached_beyond(head, value), itself=[key] == frozen
        )
        if before := near.cutters_ahead(losses, value, head, Gate.STOP):
            text = f"{text} {sentences.stopped_besides(before, head.block)}"
        repair = self.repair(losses, head, value)
        return Verdict(key, head, State.FROZEN, text, frozen=tuple(frozen), repair=repair)

    def _reached_beyond(self, head: PortPath, value: Value) -> list[str]:
        """Trained variables that get gradient through a block that reads the value."""
        read_by = self._graph.read_by
        markers = [reader for reader, _ in read_by(value) if reader.primitive is WIRE]
        readers = [reader for v in markers or [value] for reader, _ in read_by(v)]
        names = (self._nearby.variables(r, Gate.OPEN, True, head) for r in dict.fromkeys(readers))
        found = {name for several in names for name in several}
        return [name for name in self._program.trainable if name in found] if found else []

    # ---- cutters ------------------------------------------------------------------------------

    def cutters_downstream(self, losses: LossSearches, value: Value) -> list[Cutter]:
        """The first few of the closed slots met first on the routes from losses to ``value``."""
        return self._nearby.cutters_downstream(losses, value)

    def cutters_behind(self, value: Value, level: Gate) -> list[Cutter]:
        """The first few of the closed slots from ``value`` on the routes to trained variables."""
        return self._nearby.cutters_behind(value, level, True)

    def _all_cutters(
        self, head: PortPath, value: Value, level: Gate, trained: bool, further: Sequence[Cutter]
    ) -> list[Cutter]:
        """All closed slots met first on the routes from the loss, then on those from ``value``."""
        found: list[Cutter] = []
        opened = self._searches.from_loss(head).reach(Gate.OPEN)
        if value not in opened:
            found += self._cutters(opened, self._graph.forward([value], level), level)
        reaches = self._searches.trained if trained else self._searches.frozen
        if value not in reaches[Gate.OPEN]:
            upstream = self._graph.backward([value], Gate.OPEN)
            found += self._cutters(upstream, reaches[level], level)
        return list(dict.fromkeys((*found, *further)))

    def _cutters(self, opened: Reach, towards: Reach, level: Gate) -> list[Cutter]:
        """The closed slots on the border of the opened values that lead towards the others."""
        edges = {
            cause: None
            for place in opened.via
            for edge in self._graph.gated.get(place, ())
            if Gate.OPEN < edge.gate <= level and edge.source in towards
            for cause in self._causes(edge, towards)
        }
        ordered = sorted(edges, key=lambda edge: edge.value.index)
        return list({self._slots.cutter(edge): None for edge in ordered})

    def _causes(self, edge: Edge, towards: Reach) -> Iterator[Edge]:
        """The slot itself or, if it reads integers or booleans, the slots where floats ended."""
        found = False
        pending, seen = [edge.source], {edge.source}
        while pending:
            value = pending.pop()
            if is_float(value.dtype):
                break
            for behind in self._graph.inputs(value):
                if behind.source in towards and behind.source not in seen:
                    if behind.gate:
                        found = True
                        yield behind
                    else:
                        seen.add(behind.source)
                        pending.append(behind.source)
        if not found:
            yield edge

    # ---- routes -------------------------------------------------------------------------------

    def _witness(self, losses: LossSearches, head: PortPath, value: Value) -> Sequence[str]:
        """The blocks of the cheapest route from the loss to a value."""
        level = losses.level(value, head)
        assert level is not None  # the value is off the route otherwise
        reach = losses.reach(level)
        count, first = reach.blocks(value)
        if count <= MANY:
            return first
        nearest = groupby(reach.route(value), lambda at: str(at.owner))
        last = [owner for owner, _ in islice(nearest, sentences.ENDS)][::-1]
        return Route(reach, value, first, last, count)

    def _off_route(self, key: str, losses: Sequence[str], value: Value) -> str:
        reader = self._program.instances.get(InstancePath(value.owner))
        if reader is not None and isinstance(reader.block, Gradient) and value.primitive is WIRE:
            return sentences.differentiated(reader.path)
        if (view := self._program.shown_by.get(WirePath(key))) is not None:
            return sentences.only_shown(view)
        source = self._program.wire_sources.get(WirePath(key))
        through = neighbours_of(self._program).differentiating(
            InstancePath(key) if source is None else source.block
        )
        if through and not self._nearby.losses(value):
            return sentences.constant_derivative(through)
        return sentences.off_route(losses, self._nearby.losses(value))


def _route(reach: Reach, value: Value) -> list[str]:
    """The blocks of the whole route from the start of a search to a value."""
    owners = groupby(reach.route(value), lambda at: str(at.owner))
    return [owner for owner, _ in owners][::-1]
