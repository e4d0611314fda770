"""Data sets in sessions: a batch for each step, in every kind of call, and after a resume."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FeedError, RunError
from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD


def network(**parameters: object) -> gw.Diagram:
    """A small classifier of spirals."""
    columns = {"x": {}, "y": {"one_hot": 2}}
    given = {"batch": 8, "count": 40, "columns": columns, "validation": 0.25} | parameters
    x, y = gw.dataset(name="data", **given)
    hidden = gw.tanh(gw.linear(x, gw.own(seed=1), gw.own(initialiser="zeros"), units=5))
    guess = gw.linear(hidden, gw.own(seed=2), name="guess", units=2)
    return gw.build(gw.loss(gw.mean(gw.square(guess - y))))


def test_each_step_has_a_batch_of_its_own() -> None:
    session = Session(network())
    seen = []
    for _ in range(4):
        run = session.step(SGD(lr=0.1))
        assert run.losses == ("loss.out",)
        seen.append(session.run(ports=["data.x"]).values["data.x"])
    assert seen[0].shape == (8, 2)
    assert not any(np.array_equal(a, b) for a, b in pairwise(seen))


def test_a_resumed_session_goes_on_with_equal_bits() -> None:
    whole, first = Session(network()), Session(network())
    for _ in range(7):
        whole.step(SGD(lr=0.1))
    for _ in range(3):
        first.step(SGD(lr=0.1))
    second = Session(network())
    for name, value in first.values.items():
        second.set(name, value)
    second.step_number = first.step_number
    for _ in range(4):
        second.step(SGD(lr=0.1))
    for name, value in whole.values.items():
        assert np.array_equal(second.values[name], value)


def test_prepared_calls_follow_the_step_and_keep_their_phase() -> None:
    session = Session(network())
    call = session.prepare(values=["data.x", "data.y"], wrt=())
    session.phase = "validation"
    check = session.prepare(values=["data.x"], wrt=())
    assert session.run().values["data.x"].shape == (10, 2)
    session.phase = "training"
    for number in (0, 1, 5, 1, 0):
        session.step_number = number
        values = session.run().values
        x, y = call()
        assert np.array_equal(x, values["data.x"]) and np.array_equal(y, values["data.y"])
        assert check()[0].shape == (10, 2)


def test_prepared_calls_take_what_was_set() -> None:
    session = Session(network())
    call = session.prepare(values=["data.x"], wrt=())
    call()
    session.set("data.x", np.zeros((8, 2)))
    assert not call()[0].any()


def test_rows_can_be_fed_in_place_of_the_batch() -> None:
    session = Session(network())
    feeds = {"data.x": np.ones((3, 2)), "data.y": np.zeros((3, 2))}
    run = session.backward(feeds=feeds)
    assert run.values["data.x"].tolist() == [[1, 1]] * 3
    assert run.gradients["guess/weight"] is not None
    with pytest.raises(FeedError, match="wrong shape"):
        session.run({"data.x": np.ones((3, 5))})


def test_uses_of_a_page_share_the_data() -> None:
    @gw.page
    def part() -> gw.Expression:
        x, _ = gw.dataset(name="data", batch=4, count=20)
        return x

    first, second = part(), part()
    session = Session(gw.build(first, second))
    values = session.run().values
    a, b = (array for port, array in values.items() if port.endswith("data.x"))
    assert np.array_equal(a, b)


def test_phases_are_those_that_have_rows() -> None:
    session = Session(network(validation=0.0))
    assert session.phases == ("training",)
    with pytest.raises(RunError, match="no row for validation"):
        session.phase = "validation"
    with pytest.raises(RunError, match="phase can't be 'test'"):
        session.phase = "test"
    assert Session(network()).phases == ("training", "validation")


def test_validation_batches_come_in_order() -> None:
    session = Session(network(validation_batch=5, shuffle=False))
    session.phase = "validation"
    first = session.run(ports=["data.x"]).values["data.x"]
    session.step_number = 1
    second = session.run(ports=["data.x"]).values["data.x"]
    every = Session(network(shuffle=False))
    every.phase = "validation"
    whole = every.run(ports=["data.x"]).values["data.x"]
    assert np.array_equal(np.concatenate([first, second]), whole)


def test_an_edit_of_numbers_keeps_the_data() -> None:
    session = Session(network())
    session.step_number = 3
    before = session.run(ports=["data.x"]).values["data.x"]
    session.update(network(seed=4))
    session.step_number = 3
    assert not np.array_equal(session.run(ports=["data.x"]).values["data.x"], before)


def test_no_gradient_goes_to_data() -> None:
    session = Session(network())
    flow = gw.analyse(session.program)
    wires = [wire for wire, source in session.program.wire_sources.items() if "data" in source]
    assert {flow.explain(wire).state for wire in wires} == {gw.State.NOTHING_TO_TRAIN}


def test_a_data_set_that_can_not_be_opened_is_a_problem_of_the_block() -> None:
    session = Session(network(batch=100), partial=True)
    problem = session.diagnostics[0]
    assert problem.location.block == "data" and "batch" in str(problem)
    session.update(network())
    assert not session.diagnostics
