"""The timeline: its order, its numbers, what it shows when, and that it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.build import build, loss, mul, relu, square, stop_gradient, sum, variable
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons import recording
from gradwire.runtime.lessons.breakpoints import GradientExceeds, GradientReaches, NotFinite
from gradwire.runtime.lessons.steps import BackwardStep, ForwardStep, Phase, Seed, UpdateStep
from gradwire.runtime.lessons.timeline import record
from gradwire.runtime.lessons.words import sentence, short
from gradwire.runtime.training.optimisers import SGD
from tests.benchmarks.flow import chain, ladder, wide
from tests.benchmarks.lessons.timeline import scalars, tower
from tests.examples.gallery import NAMES, diagram
from tests.runtime.flow.tools.random_diagrams import Random


def swapped():
    """(w·x − 4)², with w = 3 and x = 2."""
    return build(loss(square(variable("w", 3.0) * variable("x", 2.0) - 4.0), name="L"))


def fan_out():
    """w·w + 3w, and a stopped branch, with w = 2."""
    w = variable("w", 2.0)
    stopped = stop_gradient(w * 5.0, name="stop")
    return build(loss(mul(w, w, name="square") + 3.0 * w + stopped, name="L"))


def diagrams():
    yield from ((name, diagram(name)) for name in NAMES)
    yield "swapped", swapped()
    yield "fan_out", fan_out()
    yield from ((f"random {seed}", Random(seed).diagram()) for seed in range(12))


@pytest.fixture(params=diagrams(), ids=lambda pair: pair[0])
def timeline(request):
    # Machine code is chosen by what a request has: two requests may differ in their last digits.
    return record(Session(request.param[1], fast=False))


def steps(timeline, kind):
    every = (timeline.step(position) for position in range(1, len(timeline) + 1))
    return [step for step in every if isinstance(step, kind)]


def equal(one, other):
    return np.array_equal(one, other, equal_nan=True)


# ---- laws ---------------------------------------------------------------------------------------


@pytest.mark.sampled(one_in=3)
def test_a_block_computes_after_what_it_reads(timeline):
    for position in timeline.phases[Phase.FORWARD]:
        step = timeline.step(position)
        for wire in step.inputs:
            source = timeline.program.wire_sources.get(wire)
            assert source is None or timeline.shows_value(source, position - 1)
        assert all(timeline.shows_value(port, position) for port in step.outputs)
        assert not any(timeline.shows_value(port, position - 1) for port in step.outputs)


@pytest.mark.sampled(one_in=3)
def test_what_arrives_was_sent_before_and_adds_up(timeline):
    sent = {}
    adjoints = (
        Session(timeline.steps.observed.diagram, fast=False).backward(adjoints="all").adjoints
    )
    for step in steps(timeline, Seed | BackwardStep):
        if isinstance(step, Seed):
            sent["loss", step.port] = step.value
            continue
        for arrival in step.arrivals:
            for entry in arrival.terms:
                by = ("loss", arrival.port) if entry.by == "loss" else entry.by
                if entry.kind != "gradient block":
                    assert equal(entry.amount, sent[by])
            np.testing.assert_allclose(arrival.total, adjoints[arrival.port], rtol=1e-5)
        sent |= {back.wire: back.value for back in step.returns if back.value is not None}
    wanted = {w for w, a in timeline.steps.run.contributions.items() if a is not None}
    assert wanted <= sent.keys()


@pytest.mark.sampled(one_in=3)
def test_what_arrives_at_a_variable_is_its_gradient(timeline):
    run = timeline.steps.run
    arrived = {
        step.path: step.arrivals[0].total
        for step in steps(timeline, BackwardStep)
        if step.path in run.gradients
    }
    gradients = {name: array for name, array in run.gradients.items() if array is not None}
    assert arrived.keys() == gradients.keys()
    for name, array in gradients.items():
        np.testing.assert_allclose(arrived[name], array, rtol=1e-6)


@pytest.mark.sampled(one_in=3)
def test_updates_are_those_of_a_training_step(timeline):
    session = Session(timeline.steps.observed.diagram, fast=False)
    session.step(SGD())
    updates = {step.path: step for step in steps(timeline, UpdateStep)}
    assert updates.keys() == timeline.steps.run.gradients.keys()
    for name, step in updates.items():
        assert equal(step.after, session.values[name])
        assert step.gradient is not None or equal(step.after, step.before)


@pytest.mark.sampled(one_in=3)
def test_every_step_has_a_sentence(timeline):
    for position in range(1, len(timeline) + 1):
        text = sentence(timeline.steps, timeline.step(position))
        assert text.endswith(".")
        assert "too large" not in text


@pytest.mark.sampled(one_in=3)
def test_at_the_end_everything_is_known_and_at_the_start_nothing(timeline):
    ports, wires = list(timeline.program.ports), list(timeline.program.wires)
    assert timeline.step(0) is None
    assert not any(timeline.shows_value(port, 0) for port in ports)
    assert not any(timeline.shows_gradient(wire, 0) for wire in wires)
    assert all(timeline.shows_value(port, len(timeline)) for port in ports)
    assert all(timeline.shows_gradient(wire, len(timeline)) for wire in wires)
    assert all(timeline.shows_sum(port, len(timeline)) for port in ports)


# ---- particular diagrams ------------------------------------------------------------------------


def test_the_sentences_of_a_product():
    timeline = record(Session(swapped()))
    text = [sentence(timeline.steps, timeline.step(at)) for at in range(1, len(timeline) + 1)]
    assert text == [
        "w is 3.",
        "x is 2.",
        "mul1: a = 3 and b = 2 give 6.",
        "sub1: a = 6 and b = 4 give 2.",
        "square1: x = 2 gives 4.",
        "L: x = 4 gives 4.",
        "Backward starts at L with 1, the derivative of the loss with respect to itself.",
        "1 arrives at L. square1 gets 1 × 1 = 1.",
        "1 arrives at square1. sub1 gets 1 × 4 = 4.",
        "4 arrives at sub1. mul1 gets 4 × 1 = 4.",
        "4 arrives at mul1. w gets 4 × 2 = 8. x gets 4 × 3 = 12.",
        "12 arrives at x.",
        "8 arrives at w.",
        "w: 3 − 0.1 × 8 = 2.2.",
        "x: 2 − 0.1 × 12 = 0.8.",
    ]


def test_a_stop_shows_what_it_throws_away():
    timeline = record(Session(fan_out()))
    (step,) = (step for step in steps(timeline, BackwardStep) if step.path == "stop")
    assert step.arrivals[0].total == 1
    assert [back.value for back in step.returns] == [None]
    assert "thrown away" in sentence(timeline.steps, step)
    (total,) = (step for step in steps(timeline, BackwardStep) if step.path == "w")
    assert sorted(float(entry.amount) for entry in total.arrivals[0].terms) == [2, 2, 3]


def test_sizes_of_large_gradients_are_not_added():
    """Root mean squares of terms don't add up to that of their sum."""
    w = variable("w", np.arange(6.0))
    timeline = record(Session(build(loss(sum(2.0 * w + 3.0 * w), name="L"))))
    (step,) = (step for step in steps(timeline, BackwardStep) if step.path == "w")
    assert sentence(timeline.steps, step) == (
        "At w the gradients of mul2.b (rms 3) and mul1.b (rms 2) add up to 6 numbers, rms 5, "
        "element by element."
    )
    assert short(timeline.steps, step) == "Σ of 2: rms 5"


def test_what_only_leads_to_a_stop_is_computed_and_said_to_be_thrown_away():
    a, b = variable("a", 2.0), variable("b", 7.0)
    timeline = record(Session(build(loss(3.0 * (stop_gradient(b, name="stop") * a), name="L"))))
    (step,) = (step for step in steps(timeline, BackwardStep) if step.path == "mul1")
    back = {back.wire: back for back in step.returns}
    assert back["mul1.a"].value == 6
    assert back["mul1.a"].is_discarded
    assert back["mul1.b"].value == 21
    assert not back["mul1.b"].is_discarded


def test_none_and_zero_are_different_updates():
    a, b = variable("a", -1.0), variable("b", 2.0)
    timeline = record(Session(build(loss(relu(a) + stop_gradient(b, name="stop"), name="L"))))
    text = {step.path: sentence(timeline.steps, step) for step in steps(timeline, UpdateStep)}
    assert text["a"] == "a keeps −1: its gradient is 0."
    assert text["b"] == "b keeps 2: its gradient is None, so SGD skips it."


def test_a_wire_off_every_route_is_known_when_backward_ends():
    timeline = record(Session(fan_out()))
    end = timeline.phases[Phase.BACKWARD][-1]
    assert not timeline.shows_gradient(WirePath("mul1.a"), end - 1)
    assert timeline.shows_gradient(WirePath("mul1.a"), end)


def test_going_to_the_next_event_of_a_selection_and_back():
    timeline = record(Session(swapped()))
    path = [InstancePath("mul1")]
    assert [timeline.following(at, path) for at in (0, 3, 11)] == [3, 11, 11]
    assert [timeline.preceding(at, path) for at in (15, 11, 3)] == [11, 3, 3]


def test_pages_are_followed_by_what_is_inside_them():
    timeline = record(Session(diagram("gan")))
    at = timeline.following(0, [InstancePath("generator")])
    assert timeline.event(at).path == "generator/noise"


def test_breakpoints():
    timeline = record(Session(swapped()))
    assert timeline.search(GradientReaches(InstancePath("w"))) == 13
    assert timeline.search(GradientExceeds(4.0)) == 11
    assert timeline.search(GradientExceeds(4.0), position=12) == 13
    assert timeline.search(GradientExceeds(12.0)) is None
    assert timeline.search(NotFinite()) is None
    with pytest.raises(RunError, match="absolute value"):
        GradientExceeds(-1.0)


def test_the_first_value_that_is_not_finite():
    timeline = record(Session(build(loss(variable("x", 1.0) / 0.0 * 0.0, name="L"))))
    at = timeline.search(NotFinite())
    assert timeline.event(at).path == "div1"
    assert isinstance(timeline.step(at), ForwardStep)


def test_recording_changes_nothing():
    session = Session(swapped())
    session.backward()
    before = dict(session.gradients), dict(session.values), session.step_number
    record(session)
    assert (dict(session.gradients), dict(session.values), session.step_number) == before


def test_without_a_loss_there_is_only_a_forward_pass():
    timeline = record(Session(build(relu(variable("x", [1.0, 2.0])))), losses=[])
    assert list(timeline.phases) == [Phase.FORWARD]


def test_of_large_runs_the_largest_arrays_are_left_out(monkeypatch):
    monkeypatch.setattr(recording, "MOST_BYTES", 4 * 16 * 500)
    small, large = variable("s", 2.0), variable("v", np.ones(10_000))
    timeline = record(Session(build(loss(small * (large * large).mean(), name="L"))))
    values = timeline.steps.run.values
    assert PortPath("s.out") in values
    assert PortPath("v.out") not in values
    text = [sentence(timeline.steps, timeline.step(at)) for at in range(1, len(timeline) + 1)]
    assert "v is computed; the result is too large to be kept." in text
    assert any(line.startswith("2 arrives at") or "s gets" in line for line in text)


@pytest.mark.parametrize("position", [-1, 16, 10**9])
def test_a_position_that_is_not_there(position):
    with pytest.raises(RunError, match="no such position"):
        record(Session(swapped())).event(position)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("shape", [tower, scalars, chain, wide, ladder])
def test_what_is_recorded_has_the_bits_of_a_run(shape):
    """With the thousands of alike blocks for which a plan has ways of its own."""
    session = Session(shape(600))
    recorded = record(session).steps.run
    run = Session(shape(600)).backward(contributions=True)
    for table in ("values", "gradients", "contributions"):
        found, wanted = dict(getattr(recorded, table)), dict(getattr(run, table))
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert (found[name] is None) == (array is None)
            assert array is None or found[name].tobytes() == array.tobytes()
