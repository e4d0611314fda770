"""Cutters are the first stops on the routes, by walking the routes; opening them restores."""

from __future__ import annotations

from functools import cache

import pytest

from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, WhatIf
from gradwire.runtime.flow.analyse import analyse
from tests.runtime.flow.specimens import Arrow, Walk, specimen

COUNT = 1000


class Stops:
    """First stops by walking, where all that would have to open are stops."""

    def __init__(self, walk: Walk, loss: str) -> None:
        self.walk = walk
        self.loss = loss
        self.after: dict[str, list[Arrow]] = {}
        self.before: dict[str, list[Arrow]] = {}
        for arrow in walk.arrows:
            self.after.setdefault(arrow.source, []).append(arrow)
            self.before.setdefault(arrow.target, []).append(arrow)
        self.arrives = cache(self._arrives)
        self.ahead = cache(self._ahead)
        self.trains = cache(self._trains)
        self.behind = cache(self._behind)

    def stops(self, arrow: Arrow) -> bool:
        """Whether a StopGradient alone closes an arrow."""
        floats = self.walk.values[f"{arrow.source}.out"].dtype.kind == "f"
        return floats and isinstance(self.walk.blocks[arrow.target], StopGradient)

    def _arrives(self, block: str) -> bool:
        ahead = self.after.get(block, ())
        return f"{block}.out" == self.loss or any(
            self.walk.passes(arrow) and self.arrives(arrow.target) for arrow in ahead
        )

    def _ahead(self, block: str) -> frozenset[str]:
        """First stops from the loss on the routes to what a block gives."""
        return frozenset().union(*(self.first(arrow) for arrow in self.after.get(block, ())))

    def first(self, arrow: Arrow) -> frozenset[str]:
        """First stops from the loss on the routes to a wire."""
        if self.walk.passes(arrow):
            return self.ahead(arrow.target)
        if not self.stops(arrow):
            return frozenset()
        here = {arrow.target} if self.arrives(arrow.target) else set()
        return self.ahead(arrow.target) | here

    def _trains(self, block: str) -> bool:
        """Whether a trained variable is reached from a block with all stops open."""
        source = self.walk.blocks[block]
        if isinstance(source, Variable):
            return source.wants_gradient
        return any(
            (self.walk.passes(arrow) or self.stops(arrow)) and self.trains(arrow.source)
            for arrow in self.before.get(block, ())
        )

    def _behind(self, block: str) -> frozenset[str]:
        """First stops from a block on the routes to trained variables."""
        found: set[str] = set()
        for arrow in self.before.get(block, ()):
            if self.walk.passes(arrow):
                found |= self.behind(arrow.source)
            elif self.stops(arrow) and self.trains(arrow.source):
                found.add(block)
        return frozenset(found)


@pytest.mark.night
def test_cutters_are_the_first_stops_on_every_route() -> None:
    seen = several = 0
    for seed in range(COUNT):
        diagram = specimen(seed)
        session = Session(diagram)
        flow, values = analyse(session.program), session.run().values
        for loss in flow.losses:
            walk = Walk(diagram, values, (loss,))
            stops = Stops(walk, loss)
            for arrow in walk.arrows:
                verdict = flow.verdict(arrow.key, loss)
                if verdict.state is not State.STOPPED or verdict.frozen:
                    continue
                expected = set() if walk.arrives(arrow) else set(stops.first(arrow))
                if not walk.wanted(arrow):
                    expected |= stops.behind(arrow.source)
                repair = {cutter.block for cutter in verdict.repair}
                found = {cutter.block for cutter in verdict.cutters}
                assert expected <= found <= expected | repair, (seed, loss, arrow)
                seen += 1
                several += len(expected) > 1
    assert seen > 600 and several > 20


@pytest.mark.night
def test_opening_what_cuts_until_nothing_cuts_restores_the_gradient() -> None:
    """Of wires and variables, stops inside pages too; what is cut no more is not named again."""
    restored = 0
    for seed in range(150):
        session = Session(specimen(seed))
        flow = analyse(session.program)
        for loss in flow.losses:
            for key in [*session.program.wire_sources, *session.program.trainable]:
                verdict = flow.explain(key, loss)
                if verdict.state is not State.STOPPED or verdict.frozen:
                    continue
                trial, opened = WhatIf(session), set[str]()
                while verdict.cutters:
                    names = {cutter.block for cutter in verdict.cutters}
                    assert not names & opened, (seed, key)
                    opened |= names
                    trial = trial.open(*sorted(names))
                    verdict = analyse(Session(trial.diagram).program).explain(key, loss)
                assert verdict.state is State.CARRIES, (seed, loss, key)
                restored += 1
    assert restored > 150
