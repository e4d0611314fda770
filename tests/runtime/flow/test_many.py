"""Long lists wait until they are looked into, and all verdicts together take linear time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.runtime.build import add_n, build, loss, stop_gradient, sum, tanh, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import Flow, State, diagnose, fix, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.lazy import MANY, LazySequence
from gradwire.runtime.publish.flow_report import flow_report
from tests.benchmarks.flow import chain, ladder, wide
from tests.work import calls

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

COUNT = 3 * MANY


def flow_of(diagram: Diagram) -> Flow:
    return analyse(Session(diagram).program)


def side_by_side() -> Diagram:
    x = variable("x", 1.0)
    return build(loss(add_n(*(stop_gradient(x, name=f"s{i}") for i in range(COUNT)))))


def in_a_row() -> Diagram:
    y = variable("x", 1.0)
    for i in range(COUNT):
        y = stop_gradient(y, name=f"s{i}")
    return build(loss(y))


def test_many_stops_side_by_side() -> None:
    verdict = flow_of(side_by_side()).variable("x")
    assert verdict.sentence == "s0, s1, s2, s3 and many more stop every route to loss."
    assert isinstance(verdict.cutters, LazySequence)
    assert {str(c) for c in verdict.cutters} == {f"s{i}" for i in range(COUNT)}
    assert len(verdict.repair) == 1


def test_many_stops_in_a_row() -> None:
    diagram = in_a_row()
    verdict = flow_of(diagram).variable("x")
    names = [f"s{i}" for i in reversed(range(COUNT))]
    assert [str(c) for c in verdict.cutters[:2]] == names[:2]
    assert [str(c) for c in verdict.repair] == names
    assert list(verdict.witness) == ["loss", *names, "x"]
    assert "With that open" in verdict.sentence and "and many more stop" in verdict.sentence
    found = fix(Session(diagram), "x")
    assert found is not None and found.gradient == 1.0 and len(found.opened) == COUNT


def test_many_variables() -> None:
    total = add_n(*(variable(f"v{i}", 1.0) for i in range(COUNT)), name="all")
    said = flow_of(build(loss(tanh(total, name="squashed")))).verdict("squashed.x").sentence
    assert said.startswith("Carries the gradient of loss to v0, v1, v2, v3 and many more.")


def test_a_deferred_list_is_the_tuple_that_it_stands_for() -> None:
    made: list[str] = []

    def make() -> list[str]:
        made.append("made")
        return [*"abcdefgh"]

    lazy = LazySequence(make, "abc", "gh", 8)
    assert (lazy[:2], lazy[:3], lazy[-1:], lazy[-2:], len(lazy)) == (
        ("a", "b"), ("a", "b", "c"), ("h",), ("g", "h"), 8
    )  # fmt: skip
    assert made == []
    assert lazy == tuple("abcdefgh") and tuple("abcdefgh") == lazy and lazy != ("a",)
    assert (lazy[3], lazy[:4], lazy[-3:], lazy[1:3]) == (
        "d", tuple("abcd"), tuple("fgh"), ("b", "c")
    )  # fmt: skip
    assert repr(lazy) == repr(tuple(lazy)) and hash(lazy) == hash(tuple("abcdefgh"))
    assert made == ["made"]
    assert len(LazySequence(make)) == 8 and lazy != "abcdefgh"


def every_sentence(diagram: Diagram) -> int:
    flow = flow_of(diagram)

    def job() -> None:
        for wire in flow.states():
            flow.verdict(wire)
        for name in flow.program.sources("variable"):
            flow.variable(name)

    return calls(job)


@pytest.mark.night
@pytest.mark.parametrize("shape", [chain, wide, ladder])
def test_twice_the_wires_take_twice_the_time(shape: Callable[[int], Diagram]) -> None:
    small, large = every_sentence(shape(800)), every_sentence(shape(1600))
    assert large < 2.4 * small


@pytest.mark.night
@pytest.mark.parametrize("shape", [chain, wide, ladder])
def test_once_prepared_a_verdict_takes_next_to_no_time(shape: Callable[[int], Diagram]) -> None:
    flow = flow_of(shape(2000)).prepare()
    wires = list(flow.states())
    for wire in wires[:: len(wires) // 7]:
        assert calls(lambda wire=wire: flow.verdict(wire)) < 10 * len(flow.program.wires)
        assert calls(lambda wire=wire: flow.verdict(wire)) < 100 * MANY


def apart(count: int) -> Diagram:
    """Losses that have nothing in common."""
    return build(*(loss(tanh(variable(f"w{i}", 1.0)), name=f"l{i}") for i in range(count)))


def along(count: int) -> Diagram:
    """Losses of every block of a chain."""
    losses, y = [], variable("x", 1.0)
    for i in range(count):
        y = tanh(y)
        losses.append(loss(y, name=f"l{i}"))
    return build(*losses)


def stopped(count: int) -> Diagram:
    """Losses that read one variable, each through a stop."""
    x = variable("x", 1.0)
    return build(*(loss(stop_gradient(tanh(x * (i + 1.0))), name=f"l{i}") for i in range(count)))


@pytest.mark.night
@pytest.mark.parametrize("shape", [apart, along, stopped])
def test_twice_the_losses_take_twice_the_time(shape: Callable[[int], Diagram]) -> None:
    small, large = every_sentence(shape(300)), every_sentence(shape(600))
    assert large < 2.4 * small


@pytest.mark.night
@pytest.mark.parametrize("shape", [apart, along, stopped])
def test_reports_on_many_losses_take_linear_time(
    shape: Callable[[int], Diagram], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradwire.runtime.publish.flow_report.MOST", 1000)
    monkeypatch.setattr("gradwire.runtime.flow.observing.CONTRIBUTIONS", 1000)
    monkeypatch.setattr("gradwire.runtime.flow.tools.doctor.TRIALS", 2)

    def report(count: int) -> int:
        session = Session(shape(count))

        def job() -> None:
            flow = observe(session)
            flow_report(session, flow, flow.losses, None, "").parts()
            diagnose(session)

        return calls(job)

    assert report(240) < 2.4 * report(120)


def test_the_states_of_a_loss_take_memory_for_what_it_reaches() -> None:
    flow = flow_of(apart(100))
    states = flow.states("l7")
    assert states["l7.x"] is State.CARRIES and states["l8.x"] is State.OFF_ROUTE
    assert len(states) == 200 and list(states) == list(flow.program.wire_sources)
    assert states == {wire: flow.state(wire, "l7") for wire in states}
    assert sys.getsizeof(states) < 1000


def test_of_very_many_losses_only_the_sum_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(apart(20))
    assert observe(session).run("l3") is not None
    monkeypatch.setattr("gradwire.runtime.flow.observing.CONTRIBUTIONS", 799)
    observed = observe(session)
    assert observed.run("l3") is None and observed.run() is not None
    assert observed.verdict("l3.x").state is State.CARRIES
    session.set("w4", np.inf)
    assert "w4" in {finding.key for finding in diagnose(session)}


def faint(count: int) -> Diagram:
    y = variable("x", 1.0)
    for i in range(count):
        y = tanh(y * 0.1, name=f"t{i}")
    return build(loss(sum(y)))


@pytest.mark.night
def test_numbers_take_linear_time_as_well() -> None:
    """Which block shrank a gradient most is told for every wire of a long chain."""

    def every(count: int) -> int:
        reading = observe(Session(faint(count)))
        return calls(lambda: [reading.verdict(wire) for wire in reading.states()])

    assert every(400) < 2.4 * every(200)
