"""Why a wire is in its state: cutters, witnesses, and the variables it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from blocks.library.gradient import Gradient
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.gradient import WIRE
from runtime.engine.flatten import block_of
from runtime.flow import sentences
from runtime.flow.graph import Edge, Kind
from runtime.flow.searches import LEVELS, Searches
from runtime.flow.states import Cutter, State, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runtime.calculus import Value


class Reasons:
    """Verdicts about values whose state is known; each takes linear time."""

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._graph = searches.graph
        self._slots = searches.slots
        self._program = searches.program

    def explain(self, key: str, heads: Sequence[str], state: State, value: Value) -> Verdict:
        """Why a value, named ``key``, is in ``state`` for ``heads``; the first is looked into."""
        head = heads[0]
        losses = [block_of(head) for head in heads]
        if state is State.CARRIES:
            witness = self._witness(head, value)
            text = sentences.carries(losses, self._upstream(value, Kind.OPEN, True), witness)
            return Verdict(key, head, state, text, witness=witness)
        if state is State.OFF_ROUTE:
            return Verdict(key, head, state, self._off_route(losses, value))
        if state is State.NOTHING_TO_TRAIN:
            text = sentences.nothing_to_train(self._integers(value))
            return Verdict(key, head, state, text)
        if state is State.FROZEN:
            return self._frozen(key, head, value)
        return self._cut(key, head, state, value)

    def _cut(self, key: str, head: str, state: State, value: Value) -> Verdict:
        level = Kind.STOP if state is State.STOPPED else Kind.NO_RULE
        trained = self._upstream(value, level, True)
        frozen = () if trained else tuple(self._upstream(value, level, False))
        before = self.before(head, value, level)
        behind = self._behind(value, level, bool(trained))
        repair = tuple(map(self._slots.opening, self._searches.repair(head, value)))
        named = {cutter.block for cutter in (*before, *behind)}
        needed = dict.fromkeys(replace(cutter, leaf="") for cutter in repair)
        further = [cutter for cutter in needed if cutter.block not in named]
        dtype = None if is_float(value.dtype) else value.dtype
        text = sentences.cut(block_of(head), before, behind, further, trained, frozen, dtype)
        cutters = tuple(dict.fromkeys((*before, *behind, *further)))
        witness = self._witness(head, value)
        return Verdict(key, head, state, text, cutters, witness, frozen, repair)

    def _frozen(self, key: str, head: str, value: Value) -> Verdict:
        """A frozen variable is what gradient comes to, or what it would come to."""
        reached = self._upstream(value, Kind.OPEN, False)
        frozen = reached or self._upstream(value, Kind.NO_RULE, False)
        trained = self._upstream(value, Kind.NO_RULE, True)
        behind: list[Cutter] = []
        if trained or not reached:
            behind = self._behind(value, Kind.NO_RULE, bool(trained))
        text = sentences.frozen(
            frozen, trained, behind, self._passed_on(head, value), itself=[key] == frozen
        )
        return Verdict(key, head, State.FROZEN, text, frozen=tuple(frozen))

    # ---- what is upstream ---------------------------------------------------------------------

    def _upstream(self, value: Value, level: Kind, trained: bool) -> list[str]:
        """Variables that gradient of a value reaches with slots up to ``level`` opened."""
        found = self._graph.backward([value], level).cost
        return [str(leaf.owner) for leaf in self._searches.variables(trained) if leaf in found]

    def _integers(self, value: Value) -> list[str]:
        """Variables without a gradient that a value is computed from."""
        found = self._graph.backward([value], Kind.NO_RULE).cost
        leaves = self._program.leaves
        return [
            path
            for path in self._program.sources("variable")
            if path in leaves
            and not is_float(leaves[path].value.dtype)
            and leaves[path].value in found
        ]

    def _passed_on(self, head: str, value: Value) -> list[str]:
        """Trained variables that get gradient through the block that a value goes into."""
        edges = self._graph.readers
        markers = [edge.value for edge in edges.get(value, ()) if edge.value.primitive is WIRE]
        readers = [edge.value for v in markers or [value] for edge in edges.get(v, ())]
        upstream = self._graph.backward(readers, Kind.OPEN).cost
        reached = self._searches.to_loss(head, Kind.OPEN).cost
        return [
            str(leaf.owner)
            for leaf in self._searches.variables(trained=True)
            if leaf in upstream and leaf in reached
        ]

    # ---- what cuts ----------------------------------------------------------------------------

    def before(self, head: str, value: Value, level: Kind) -> list[Cutter]:
        """First closed slots met from the loss on the routes to ``value``."""
        opened = self._searches.to_loss(head, Kind.OPEN).cost
        if value in opened:
            return []
        return self._cutters(opened, self._graph.forward([value], level).cost, level)

    def _behind(self, value: Value, level: Kind, trained: bool) -> list[Cutter]:
        """First closed slots met from ``value`` on the routes to variables."""
        reaches = self._searches.trained if trained else self._searches.frozen
        if value in reaches[Kind.OPEN].cost:
            return []
        opened = self._graph.backward([value], Kind.OPEN).cost
        return self._cutters(opened, reaches[level].cost, level)

    def _cutters(
        self, opened: Iterable[Value], towards: Mapping[Value, int], level: Kind
    ) -> list[Cutter]:
        """The slots that close the way from the opened values towards others."""
        edges = {
            cause: None
            for value in opened
            for edge in self._graph.inputs.get(value, ())
            if Kind.OPEN < edge.kind <= level and edge.source in towards
            for cause in self._causes(edge, towards)
        }
        ordered = sorted(edges, key=lambda edge: edge.value.index)
        return list({self._slots.cutter(edge): None for edge in ordered})

    def _causes(self, edge: Edge, towards: Mapping[Value, int]) -> Iterator[Edge]:
        """The slot itself; for one that reads integers or booleans those where floats ended."""
        found = False
        pending, seen = [edge.source], {edge.source}
        while pending:
            value = pending.pop()
            if is_float(value.dtype):
                break
            for behind in self._graph.inputs.get(value, ()):
                if behind.source in towards and behind.source not in seen:
                    if behind.kind:
                        found = True
                        yield behind
                    else:
                        seen.add(behind.source)
                        pending.append(behind.source)
        if not found:
            yield edge

    # ---- routes -------------------------------------------------------------------------------

    def _witness(self, head: str, value: Value) -> tuple[str, ...]:
        """The blocks of the cheapest route from the loss to a value."""
        reaches = (self._searches.to_loss(head, level) for level in LEVELS)
        reach = next(reach for reach in reaches if value in reach.cost)
        path = []
        place: Value | None = value
        while place is not None:
            path.append(place.owner)
            place = reach.towards(place)
        return tuple(dict.fromkeys(str(owner) for owner in reversed(path)))

    def _off_route(self, losses: Sequence[str], value: Value) -> str:
        reader = self._program.instances.get(str(value.owner))
        if reader is not None and isinstance(reader.block, Gradient) and value.primitive is WIRE:
            return sentences.differentiated(reader.path)
        ahead = self._graph.forward([value], Kind.NO_RULE).cost
        heads = self._program.heads()
        others = [block_of(head) for head in heads if self._program.ports[head] in ahead]
        return sentences.off_route(losses, others)
