"""A tree on a wire changes no answer: each leaf says what the same wire says without the tree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import Flow, State, WhatIf, fix, ledger
from gradwire.runtime.flow.analyse import analyse
from tests.runtime.flow.grafts import Graft, graft
from tests.runtime.flow.specimens import blocks_of

COUNT = 1000


@dataclass(frozen=True)
class Pair:
    """A graft, with what is known of both of its diagrams."""

    seed: int
    graft: Graft
    treed: Session
    plain: Session
    flow: Flow
    expected: Flow


@cache
def pairs() -> list[Pair]:
    found = []
    for seed in range(COUNT):
        made = graft(seed)
        if made is not None:
            treed, plain = Session(made.treed), Session(made.plain)
            flows = analyse(treed.program), analyse(plain.program)
            found.append(Pair(seed, made, treed, plain, *flows))
    return found


@pytest.mark.night
def test_there_are_enough_of_all_sorts() -> None:
    assert len(pairs()) > COUNT / 2
    assert sum(bool(pair.graft.stopped) for pair in pairs()) > COUNT / 4
    assert sum(len(pair.flow.losses) > 1 for pair in pairs()) > COUNT / 8
    assert sum(len(pair.graft.treed.pages) > 1 for pair in pairs()) > COUNT / 8


@pytest.mark.night
def test_every_wire_is_in_the_state_that_it_has_without_the_tree() -> None:
    seen = set()
    for pair in pairs():
        for loss in (None, *pair.flow.losses):
            states, expected = pair.flow.states(loss), pair.expected.states(loss)
            for wire, state in expected.items():
                if wire in states:
                    assert states[wire] is state, (pair.seed, loss, wire)
            for path, target in pair.graft.leaves.items():
                where = expected[target]
                if path in pair.graft.stopped:
                    stop = pair.plain.program.wire_sources[target].removesuffix(".out")
                    where = expected[f"{stop}.x"]
                seen.add(states[f"stop.x:{path}"])
                assert states[f"stop.x:{path}"] is where, (pair.seed, loss, path)
    assert len(seen) == 6


@pytest.mark.night
def test_gradients_and_contributions_are_those_without_the_tree() -> None:
    for pair in pairs():
        run, expected = pair.treed.backward(adjoints="all"), pair.plain.backward()
        for name, gradient in expected.gradients.items():
            assert (gradient is None) == (run.gradients[name] is None), (pair.seed, name)
            if gradient is not None:
                np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-12)
        for wire, marker in pair.treed.program.wires.items():
            carried = run.contributions[wire] is not None
            assert carried == (pair.flow.state(wire) is State.CARRIES), (pair.seed, wire, marker)
        for port, account in ledger(pair.treed.program, run).items():
            assert run.adjoints[port] is not None and account.total is not None
            np.testing.assert_allclose(account.total, run.adjoints[port], rtol=1e-9, atol=1e-12)


@pytest.mark.night
def test_a_fix_opens_the_leaves_that_are_stopped_and_promises_the_same_number() -> None:
    tried = leaves = 0
    for pair in pairs()[:250]:
        names = {f"stop{i}": path for i, path in enumerate(pair.graft.leaves)}
        for key in [*pair.graft.leaves.values(), *pair.plain.program.trainable]:
            for loss in pair.flow.losses:
                found = fix(pair.treed, key, loss, flow=pair.flow)
                wanted = fix(pair.plain, key, loss, flow=pair.expected)
                assert (found is None) == (wanted is None), (pair.seed, key)
                if found is None or wanted is None or wanted.straight_through or wanted.obstacle:
                    continue
                tried += 1
                assert found.gradient is not None, (pair.seed, key)
                switches = {f"stop:{names[s]}" if s in names else s for s in wanted.switches}
                if len(found.switches) == len(wanted.switches) == 1:
                    leaves += found.switches[0].startswith("stop:")
                if set(found.switches) == switches:
                    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-12)
                assert len(found.switches) == len(switches), (pair.seed, key)
    assert tried > 200 and leaves > 50


@pytest.mark.night
def test_no_smaller_set_of_stops_and_leaves_would_do() -> None:
    """By opening every set of them, on diagrams with few."""
    tried = 0
    for pair in pairs():
        blocks = blocks_of(pair.graft.treed)
        stops = [name for name, block in blocks.items() if isinstance(block, StopGradient)]
        switches = [s for s in stops if s != "stop"] + [f"stop:{p}" for p in pair.graft.stopped]
        if len(pair.graft.treed.pages) > 1 or not pair.graft.stopped or len(switches) > 4:
            continue
        opened = {
            chosen: analyse(Session(WhatIf(pair.treed).open(*chosen).diagram).program)
            for count in range(len(switches) + 1)
            for chosen in combinations(switches, count)
        }
        for loss in pair.flow.losses:
            for path in pair.graft.leaves:
                wire = f"stop.x:{path}"
                verdict = pair.flow.verdict(wire, loss)
                if verdict.state is not State.STOPPED or verdict.frozen:
                    continue
                enough = [
                    len(chosen)
                    for chosen, flow in opened.items()
                    if flow.state(wire, loss) is State.CARRIES
                ]
                assert min(enough) == len(verdict.repair), (pair.seed, wire)
                tried += 1
    assert tried > 60
