"""The states are what the definitions say, on thousands of random diagrams."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.library.gradient import Gradient, StopGradient
from gradwire.runtime.calculus import passes_gradient
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.engine import Run, Session
from gradwire.runtime.flow import Flow, State
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.structure.reachability import Gate
from gradwire.runtime.flow.structure.searches import LEVELS
from gradwire.runtime.flow.words.states import best
from gradwire.runtime.flow.words.sweeps import Nearby
from tests.runtime.flow.specimens import (
    Walk,
    all_opened,
    blocks_of,
    renamed,
    specimen,
    stops_opened,
    unfrozen,
)

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

COUNT = 1000
CARRIED = (State.CARRIES,)


@dataclass(frozen=True)
class Studied:
    """A diagram, what flow says about it and what a run of it gives."""

    seed: str
    diagram: Diagram
    session: Session
    flow: Flow
    run: Run

    @property
    def states(self) -> Mapping[str, State]:
        return self.flow.states()


def study(seed: int, gradients: bool = False) -> Studied:
    diagram = specimen(seed, gradients)
    session = Session(diagram)
    run = session.backward(adjoints="all")
    return Studied(
        f"specimen({seed}, {gradients})", diagram, session, analyse(session.program), run
    )


@cache
def plain() -> list[Studied]:
    return [study(seed) for seed in range(COUNT)]


@cache
def with_gradients() -> list[Studied]:
    """Diagrams with Gradient blocks in them."""
    every = (study(seed, True) for seed in range(COUNT // 2))
    return [s for s in every if any(isinstance(b, Gradient) for b in blocks_of(s.diagram).values())]


def carries(diagram: Diagram) -> set[str]:
    """The wires of a diagram that carry a gradient."""
    states = analyse(Session(diagram).program).states()
    return {wire for wire, state in states.items() if state is State.CARRIES}


@pytest.mark.night
def test_the_specimens_show_every_state() -> None:
    seen: dict[State, int] = {}
    for studied in plain():
        for state in studied.states.values():
            seen[state] = seen.get(state, 0) + 1
    structural = {State.CARRIES, State.STOPPED, State.NO_RULE, State.OFF_ROUTE, State.FROZEN,
                  State.NOTHING_TO_TRAIN}  # fmt: skip
    assert set(seen) == structural
    assert min(seen.values()) > COUNT / 10, seen
    assert sum("/" in wire for s in plain() for wire in s.states) > COUNT


@pytest.mark.night
def test_carries_is_a_contribution() -> None:
    for studied in [*plain(), *with_gradients()]:
        contributed = {w for w, c in studied.run.contributions.items() if c is not None}
        carried = {w for w, state in studied.states.items() if state is State.CARRIES}
        assert carried == contributed, studied.seed


@pytest.mark.night
def test_carries_is_a_path() -> None:
    for studied in plain():
        walk = Walk(studied.diagram, studied.run.values, studied.run.losses)
        for arrow in walk.arrows:
            found = walk.arrives(arrow) and walk.wanted(arrow)
            assert found == (studied.states[arrow.key] is State.CARRIES), (studied.seed, arrow)


@pytest.mark.night
def test_carries_is_a_path_through_primitives() -> None:
    """Where a Gradient block reads inside others there are paths that no wire shows."""
    for studied in with_gradients():
        program = studied.session.program
        values = program.trace.values[: program.forward_end]
        trained = {program.leaves[path].value for path in program.trainable}
        reached, reaching = set(trained), {program.ports[loss] for loss in studied.run.losses}
        for value in values:
            if any(x in reached and passes_gradient(value, i) for i, x in enumerate(value.inputs)):
                reached.add(value)
        for value in reversed(values):
            if value in reaching:
                reaching |= {x for i, x in enumerate(value.inputs) if passes_gradient(value, i)}
        for wire, marker in program.wires.items():
            both = marker in reached and marker in reaching
            assert both == (studied.states[wire] is State.CARRIES), (studied.seed, wire)


@pytest.mark.night
def test_each_loss_has_its_own_answer() -> None:
    several = [s for s in plain() if len(s.run.losses) > 1]
    assert len(several) > COUNT / 4
    for studied in several[:150]:
        for loss in studied.run.losses:
            run = studied.session.backward([loss], ports=())
            for wire, state in studied.flow.states(loss).items():
                carried = run.contributions[wire] is not None
                assert carried == (state is State.CARRIES), (studied.seed, loss, wire)


def test_all_losses_together_are_their_sum() -> None:
    """The best state over the losses is the state for a flow in which all of them are heads."""
    for studied in plain()[:300]:
        every = [studied.flow.states(loss) for loss in studied.run.losses]
        for wire, state in studied.states.items():
            assert state in {states[wire] for states in every}
            if any(states[wire] is State.CARRIES for states in every):
                assert state is State.CARRIES


@pytest.mark.night
def test_a_verdict_over_all_losses_is_the_best_and_about_the_first_that_has_it() -> None:
    for studied in [*plain()[:300], *with_gradients()[:100]]:
        program, seen = studied.session.program, set()
        ports = [port for port, value in program.ports.items() if is_float(value.dtype)]
        losses = random.Random(studied.seed).sample(ports, min(4, len(ports)))
        flow = analyse(program, losses)
        for wire in program.wires:
            states = {loss: flow.state(wire, loss) for loss in losses}
            verdict, place = flow.verdict(wire), (studied.seed, losses, wire)
            assert verdict.state is flow.state(wire) is best(states.values()), place
            assert verdict.loss == next(at for at in losses if states[at] is verdict.state), place
            alone = flow.verdict(wire, verdict.loss)
            assert verdict.witness == alone.witness and verdict.repair == alone.repair, place
            assert set(verdict.cutters) == set(alone.cutters), place
            seen.add(verdict.state)
        assert seen


def test_contributions_add_up_to_the_adjoint() -> None:
    """Except where a Gradient block reads a port from inside: that is no wire."""
    for studied in plain():
        program, run = studied.session.program, studied.run
        leaving: dict[str, list[Any]] = {}
        for wire, source in program.wire_sources.items():
            leaving.setdefault(source, []).append(run.contributions[wire])
        for port, contributions in leaving.items():
            parts = [part for part in contributions if part is not None]
            if program.ports[port] not in program.reached:
                assert not parts
                continue
            parts += [np.ones_like(run.values[port])] * (port in run.losses)
            adjoint = run.adjoints[port]
            assert (adjoint is None) == (not parts), (studied.seed, port)
            if adjoint is not None:
                np.testing.assert_allclose(adjoint, sum(parts), rtol=1e-9, atol=1e-12)


@dataclass(frozen=True)
class Repairs:
    """Wires that carry once something is repaired, and those the loss is in reach of."""

    now: set[str]
    stops: set[str]
    frozen: set[str]
    stops_and_frozen: set[str]
    rules: set[str]
    rules_and_frozen: set[str]
    reached: set[str]
    arrives: set[str]


def repairs(studied: Studied) -> Repairs:
    diagram, values = studied.diagram, studied.run.values
    opened, thawed = stops_opened(diagram), unfrozen(diagram)
    walk = Walk(diagram, values, studied.run.losses)

    def with_rules(changed: Diagram) -> set[str]:
        rebuilt = all_opened(changed, values)
        place, carried = renamed(diagram, rebuilt), carries(rebuilt)
        return {wire for wire in studied.states if place(wire) in carried}

    now, stops, rules = carries(diagram), carries(opened), with_rules(diagram)
    return Repairs(
        now=now,
        stops=stops,
        frozen=now if thawed is diagram else carries(thawed),
        stops_and_frozen=stops if thawed is diagram else carries(unfrozen(opened)),
        rules=rules,
        rules_and_frozen=rules if thawed is diagram else with_rules(thawed),
        reached={arrow.key for arrow in walk.arrows if walk.leads(arrow)},
        arrives={arrow.key for arrow in walk.arrows if walk.arrives(arrow)},
    )


def defined(wire: str, would: Repairs) -> State:
    """The state by the definitions, each read as: rebuild the diagram and look."""
    if wire in would.now:
        return State.CARRIES
    if wire not in would.reached:
        return State.OFF_ROUTE
    if wire not in would.rules_and_frozen:
        return State.NOTHING_TO_TRAIN
    if wire in would.stops:
        return State.STOPPED
    only_frozen = wire not in would.rules
    if wire in would.frozen or (only_frozen and wire in would.arrives):
        return State.FROZEN
    if only_frozen and wire in would.stops_and_frozen:
        return State.FROZEN
    return State.NO_RULE


@pytest.mark.night
def test_every_state_is_what_a_rebuilt_diagram_shows() -> None:
    for studied in plain():
        would = repairs(studied)
        for wire, state in studied.states.items():
            assert state is defined(wire, would), (studied.seed, wire)


def verdicts(studied: Studied) -> Iterator[tuple[str, Any]]:
    for wire in studied.states:
        yield wire, studied.flow.verdict(wire)


def test_verdicts_name_what_cuts() -> None:
    for studied in plain()[:400]:
        blocks = blocks_of(studied.diagram)
        for wire, verdict in verdicts(studied):
            place = studied.seed, wire, verdict
            cut = verdict.state in (State.STOPPED, State.NO_RULE)
            assert bool(verdict.cutters) == cut, place
            assert all(cutter.block in blocks for cutter in verdict.cutters), place
            kinds = {cutter.kind for cutter in verdict.cutters}
            if verdict.state is State.STOPPED:
                assert kinds == {"stop"}, place
            if verdict.state is State.NO_RULE:
                assert "no rule" in kinds, place
            for cutter in verdict.cutters:
                assert (cutter.kind == "stop") == isinstance(blocks[cutter.block], StopGradient)
                assert cutter.port, place
                told = cutter.block in verdict.sentence or " more " in verdict.sentence
                assert told or "Only floats" in verdict.sentence, place


def test_opening_the_cutters_of_a_stop_lets_gradient_come_nearer() -> None:
    """With the stops that a verdict names opened, they are not named again."""
    for studied in plain()[:200]:
        page = studied.diagram.main
        for wire, verdict in verdicts(studied):
            names = [cutter.block for cutter in verdict.cutters]
            if verdict.state is not State.STOPPED or any("/" in name for name in names):
                continue
            blocks = {**page.blocks, **{name: stops_opened_block() for name in names}}
            opened = studied.diagram.with_page("main", type(page)(blocks, page.wires))
            again = analyse(Session(opened).program).verdict(wire)
            nearer = {State.CARRIES, State.STOPPED}
            assert not verdict.frozen
            assert again.state in nearer, (studied.seed, wire)
            assert not {c.block for c in again.cutters} & set(names)


@pytest.mark.night
def test_what_is_gathered_for_all_wires_is_what_a_search_finds_for_each() -> None:
    for studied in [*plain()[:400], *with_gradients()[:100]]:
        flow, program = studied.flow, studied.session.program
        searches = flow._searches
        nearby, reasons = Nearby(searches), flow._verdicts
        for wire, marker in program.wires.items():
            place = studied.seed, wire
            for level in LEVELS:
                upstream = searches.graph.backward([marker], level)
                for trained in (True, False):
                    leaves = searches.variables(trained)
                    expected = [str(leaf.owner) for leaf in leaves if leaf in upstream]
                    assert nearby.variables(marker, level, trained) == expected, place
                    reach = (searches.trained if trained else searches.frozen)[level]
                    if level is Gate.OPEN or marker not in reach:
                        continue
                    for head in flow.losses:
                        losses = searches.from_loss(head)
                        if losses.first(marker, level):
                            found = [*nearby.cutters_ahead(losses, marker, head, level),
                                     *nearby.cutters_behind(marker, level, trained)]  # fmt: skip
                            exact = reasons._all_cutters(head, marker, level, trained, ())
                            assert set(found) == set(exact), place


def stops_opened_block() -> Any:
    from gradwire.blocks.library.views import Display

    return Display()


def test_witnesses_are_routes() -> None:
    for studied in plain()[:400]:
        joined = {(a.target, a.source) for a in Walk(studied.diagram, {}, ()).arrows}
        for wire, verdict in verdicts(studied):
            route = verdict.witness
            assert joined.issuperset(pairwise(route)), (studied.seed, wire, route)
            if verdict.state is State.CARRIES:
                assert f"{route[0]}.out" in studied.run.losses
                assert route[-1] == studied.session.program.wire_targets[wire]


def test_a_variable_has_a_gradient_where_flow_says_so() -> None:
    for studied in [*plain(), *with_gradients()]:
        for name, gradient in studied.run.gradients.items():
            carried = studied.flow.variable(name).state is State.CARRIES
            assert carried == (gradient is not None), (studied.seed, name)


@pytest.mark.night
def test_a_gap_makes_unknown_what_may_depend_on_it() -> None:
    """One wire is missing: what runs is told as ever, and nothing else is guessed."""
    seen = set()
    for studied in plain()[:300]:
        page = studied.diagram.main
        missing = next(reversed(page.wires))
        wires = {target: source for target, source in page.wires.items() if target != missing}
        gap = studied.diagram.with_page("main", replace(page, wires=wires))
        session = Session(gap, partial=True)
        flow = analyse(session.program)
        contributions = session.backward(ports=()).contributions if flow.losses else {}
        for wire, state in flow.states().items():
            seen.add(state)
            place = studied.seed, wire
            assert (state is State.CARRIES) == (contributions.get(wire) is not None), place
            if state is not State.UNKNOWN:
                assert wire in session.program.wires, place
            verdict = flow.verdict(wire)
            assert verdict.state is state and verdict.sentence, place
    assert {State.UNKNOWN, State.CARRIES, State.STOPPED} <= seen


@pytest.mark.parametrize("seed", range(10))
def test_asking_changes_nothing(seed: int) -> None:
    """Backward appends to the trace that flow reads; the answers stay."""
    diagram = specimen(seed, True)
    session = Session(diagram)
    before = dict(analyse(session.program).states())
    session.backward()
    assert dict(analyse(session.program).states()) == before
    flow = analyse(session.program)
    assert {wire: flow.verdict(wire).state for wire in before} == before
