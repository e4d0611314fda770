"""Steps by primitive: the same numbers as by block, each primitive with its formula."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.library.gradient import Gradient
from gradwire.runtime.build import build, loss, mean_squared_error, mul, norm, square, variable
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons import inside
from gradwire.runtime.lessons.breakpoints import GradientExceeds, GradientReaches, NotFinite
from gradwire.runtime.lessons.inside import PrimitiveBackward, PrimitiveForward
from gradwire.runtime.lessons.steps import Phase
from gradwire.runtime.lessons.timeline import Detail, record
from gradwire.runtime.lessons.words import sentence, short
from tests.blocks.examples import EXAMPLES
from tests.examples.gallery import NAMES, diagram
from tests.runtime.flow.tools.random_diagrams import Random
from tests.runtime.lessons.squared import squared


def diagrams():
    yield from ((name, diagram(name)) for name in NAMES)
    yield from ((f"random {seed}", Random(seed).diagram()) for seed in range(4))


@pytest.fixture(params=diagrams(), ids=lambda pair: pair[0])
def timeline(request):
    # Machine code adds up in an order of its own, and what cancels shows it.
    return record(Session(request.param[1], fast=False), detail=Detail.PRIMITIVE)


def steps(timeline, kind, path):
    every = (timeline.step(event.position) for event in timeline.events_of([path]))
    return [step for step in every if isinstance(step, kind)]


def texts(timeline):
    found = (timeline.step(at) for at in range(1, len(timeline) + 1))
    return [sentence(timeline.steps, step) for step in found]


# ---- laws ---------------------------------------------------------------------------------------


@pytest.mark.sampled(one_in=7)
def test_inside_a_block_come_the_numbers_that_the_run_has(timeline):
    """Forward its outputs; backward, at its inputs, the contributions of its wires."""
    require_agreement(timeline)


def require_agreement(timeline):
    run, program = timeline.steps.run, timeline.program
    for path in {e.path for e in timeline.events if e.primitive is not None}:
        made = {step.result: step.value for step in steps(timeline, PrimitiveForward, path)}
        for name in program.block(path).output_names():
            if name in made:
                expected = run.values[path.port(name)]
                np.testing.assert_allclose(made[name].reshape(expected.shape), expected, rtol=1e-5)
        back = {}
        for step in steps(timeline, PrimitiveBackward, path):
            for sent in step.returns:
                if sent.value is not None:
                    back.setdefault(sent.receiver, []).append(sent.value)
        for port, marker in program.markers(path):
            contribution = run.contributions.get(path.wire(port))
            if contribution is not None and port in back:
                total = np.sum([a.reshape(marker.shape) for a in back[port]], axis=0)
                np.testing.assert_allclose(total, contribution, rtol=1e-4, atol=1e-9)


@pytest.mark.sampled(one_in=7)
def test_every_step_has_a_sentence_and_a_formula(timeline):
    for position in range(1, len(timeline) + 1):
        step = timeline.step(position)
        assert sentence(timeline.steps, step).endswith(".")
        assert "too large" not in sentence(timeline.steps, step)
        if isinstance(step, PrimitiveForward):
            assert step.formula.text
            assert short(timeline.steps, step).startswith(f"{step.result} = ")


@pytest.mark.sampled(one_in=3)
def test_values_are_known_when_the_block_is_done_and_sums_when_it_begins(timeline):
    for event in timeline.events:
        if event.primitive is None:
            continue
        ports = [
            port
            for name in timeline.program.block(event.path).output_names()
            for port in timeline.program.leaf_ports(event.path.port(name))
            if port in timeline.program.ports
        ]
        last = timeline.position(event.phase, event.path)
        if event.phase is Phase.FORWARD:
            shown = {timeline.shows_value(port, event.position) for port in ports}
            assert shown == {event.position == last}
        else:
            assert all(timeline.shows_sum(port, event.position) for port in ports)


@pytest.mark.sampled(one_in=3)
def test_both_ways_lead_to_the_same_block(timeline):
    blocks = timeline.by(Detail.BLOCK)
    assert timeline.by(Detail.PRIMITIVE) is timeline
    for event in blocks.events:
        other = timeline.event(timeline.counterpart(event))
        assert (other.phase, other.path) == (event.phase, event.path)
        assert blocks.counterpart(other) == event.position
    assert timeline.counterpart(None) == 0


# ---- particular blocks --------------------------------------------------------------------------


def test_the_sentences_of_a_norm():
    session = Session(build(loss(norm(variable("x", [3.0, 4.0]), name="length"), name="L")))
    timeline = record(session, detail=Detail.PRIMITIVE)
    found = [text for text in texts(timeline) if text.startswith("length")]
    assert found[0] == "length: t₁ = x × x = [3, 4] × [3, 4] = [9, 16]."
    assert found[1] == "length: t₂ = sum(t₁) = sum([9, 16]) = [25]."
    assert any("g / (2 × t₅) = 1 / (2 × 5) = 0.1" in text for text in found)
    assert found[-1] == "length: what x gets adds up, [0.3, 0.4] + [0.3, 0.4] = [0.6, 0.8]."


def test_sizes_of_large_gradients_are_not_added():
    x = variable("x", np.full(9, 2.0))
    timeline = record(
        Session(build(loss(norm(x, name="length"), name="L"))), detail=Detail.PRIMITIVE
    )
    found = [text for text in texts(timeline) if text.startswith("length")]
    assert found[-1] == "length: what x gets adds up, Σ of 2 = 9 numbers, rms 0.3333."


def test_a_block_of_one_primitive_is_one_event():
    w, x = variable("w", 3.0), variable("x", 2.0)
    session = Session(build(loss(square(mul(w, x, name="product")), name="L")))
    both = record(session), record(session, detail=Detail.PRIMITIVE)
    assert texts(both[0]) == texts(both[1])


@pytest.mark.night
def test_a_gradient_block_stays_one_event():
    gradients = [
        (timeline, path)
        for name in NAMES
        for timeline in [record(Session(diagram(name)), detail=Detail.PRIMITIVE)]
        for path in timeline.program.instances
        if isinstance(timeline.program.block(path), Gradient)
    ]
    assert gradients
    for timeline, path in gradients:
        assert all(event.primitive is None for event in timeline.events if event.path == path)


def test_of_large_blocks_the_formula_is_shown_without_numbers(monkeypatch):
    monkeypatch.setattr(inside, "MOST_BYTES", 100)
    session = Session(build(loss(norm(variable("x", np.ones(100)), name="length"), name="L")))
    timeline = record(session, detail=Detail.PRIMITIVE)
    found = [text for text in texts(timeline) if text.startswith("length")]
    assert found[0] == "length: t₁ = x × x; it is too large to be kept."
    assert "what arrives is too large to be kept. x gets g × x." in found[-2]


def test_breakpoints_stop_at_a_primitive():
    error = mean_squared_error(variable("x", 1e200, dtype="float64"), 0.0, name="error")
    timeline = record(Session(build(loss(error, name="L"))), detail=Detail.PRIMITIVE)
    stops = GradientReaches(InstancePath("error")), GradientExceeds(1e150), NotFinite()
    found = [timeline.step(timeline.search(each)) for each in stops]
    assert [step.formula.text for step in found] == ["t₁²"] * 3
    assert [type(step) for step in found] == [PrimitiveBackward] * 2 + [PrimitiveForward]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_block_of_the_library_agrees_with_its_primitives(example):
    single, losses = squared(example)
    require_agreement(record(single.session, losses, detail=Detail.PRIMITIVE))
