"""Requests that are made again: no new plan, and results that are computed when they are read."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.blocks.errors import FeedError, RunError
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.parts import Gather
from gradwire.blocks.library.random import RandomNormal
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Constant, Input, Variable
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, seed
from tests.runtime.engine.session.test_data import network

if TYPE_CHECKING:
    import gradwire as gw
    from gradwire.runtime.engine.session.run import Run

Array = NDArray[Any]


def noisy() -> gw.Diagram:
    """loss(sum(w · noise + x)), where x is an input."""
    return draw(
        {"noise": RandomNormal(shape=(3,), seed=3), "w": Variable(value=[1.0, 2.0, 3.0]),
         "x": Input(shape=[3]), "mul": Mul(), "add": Add(), "sum": Sum(), "loss": Loss()},
        {"mul.a": "noise", "mul.b": "w", "add.a": "mul", "add.b": "x", "sum.x": "add",
         "loss.x": "sum"},
    )  # fmt: skip


def bits(table: Mapping[str, Array | None]) -> dict[str, bytes | None]:
    return {name: None if array is None else array.tobytes() for name, array in table.items()}


def same(one: Run, other: Run) -> bool:
    return (bits(one.values), bits(one.gradients), bits(one.contributions)) == (
        bits(other.values), bits(other.gradients), bits(other.contributions),
    )  # fmt: skip


def plans(session: Session) -> int:
    return len(session._executor._compiled)


def test_an_unchanged_request_is_looked_up_and_planned_once() -> None:
    session = Session(seed())
    first = session.backward()
    asked = list(session._known.values())
    for _ in range(3):
        assert session.backward().gradients["a"] is not first.gradients["a"]
    assert list(session._known.values()) == asked and plans(session) == 1
    assert first.values["plus.out"].tolist() == [[1, 5]]
    assert plans(session) == 2
    session.set("b", [[1, 1]])
    assert session.backward().values["plus.out"].tolist() == [[4, 5]]
    assert plans(session) == 2


def test_names_count_and_not_the_list_that_had_them() -> None:
    session, wanted = Session(seed()), ["a"]
    assert session.backward(wrt=wanted).gradients.keys() == {"a"}
    wanted.append("b")
    assert session.backward(wrt=wanted).gradients.keys() == {"a", "b"}
    how = {"a": "write"}
    assert session.backward(request=how).gradients["a"] is not None
    how["a"] = "null"
    assert session.backward(request=how).gradients["a"] is None


@pytest.mark.parametrize("fast", [False, True])
def test_what_is_read_late_is_what_was_run(fast: bool) -> None:
    late, at_once = Session(noisy(), fast=fast), Session(noisy(), fast=False)
    fed = np.float32([1, 2, 3])
    runs, wanted = [], []
    for number in range(3):
        late.set("w", [number, 1, 2])
        at_once.set("w", [number, 1, 2])
        runs.append(late.backward(feeds={"x": fed}))
        wanted.append(at_once.backward(feeds={"x": fed}, contributions=True))
        fed += 1
        late.step_number = at_once.step_number = number + 1
    late.update(apply(late.diagram, SetParameters("w", {"value": [9.0, 9.0, 9.0]})).after)
    late.update(draw({}, {}))
    assert all(map(same, runs, wanted))


def test_what_is_read_late_has_what_was_set_before_the_run_and_what_stayed() -> None:
    late, at_once = Session(seed()), Session(seed())
    runs, wanted = [], []
    for sets in ({}, {"a": [[5, 6]]}, {"b": [[7, 8]]}, {}, {"a": [[1, 0]], "b": [[0, 2]]}):
        for name, value in sets.items():
            late.set(name, value)
            at_once.set(name, value)
        runs.append(late.backward())
        wanted.append(at_once.backward(contributions=True))
    late.update(apply(late.diagram, SetParameters("a", {"value": [[9.0, 9.0]]})).after)
    late.set("b", [[3, 3]])
    at_once.update(late.diagram)
    at_once.set("b", [[3, 3]])
    runs.append(late.backward())
    wanted.append(at_once.backward(contributions=True))
    assert all(map(same, runs, wanted))
    assert [run.values["plus.out"].tolist() for run in runs[2:4]] == [[[26, 30]]] * 2


def test_seeds_and_batches_of_the_run_count() -> None:
    session = Session(network())
    seeds = {"guess.out": np.ones((8, 2), np.float32)}
    early = session.backward(["guess"], out_gradients=seeds)
    wanted = session.backward(["guess"], out_gradients=seeds, contributions=True)
    seeds["guess.out"][:] = 7
    for _ in range(2):
        session.step(SGD())
    assert same(early, wanted)


def test_late_results_belong_to_who_reads_them() -> None:
    session = Session(seed())
    run = session.backward()
    run.values["plus.out"][:] = 0
    assert run.values["plus.out"].tolist() == [[0, 0]]
    assert session.backward().values["plus.out"].tolist() == [[1, 5]]
    assert list(run.values) == list(Session(seed()).run().values)
    assert "plus.out" in run.values and "nothing" not in run.values
    with pytest.raises(KeyError):
        run.values["nothing"]


def test_gradients_of_the_session_are_those_of_the_run_whatever_came_since() -> None:
    session = Session(noisy())
    session.set("x", [0, 0, 0])
    run = session.backward()
    wanted = bits(run.gradients)
    for gradient in run.gradients.values():
        gradient[...] = 0
    session.step_number = 5
    session.set("w", [7, 7, 7])
    assert bits(session.gradients) == wanted
    session.backward(request="add")
    twice = np.frombuffer(wanted["w"], np.float32)
    session.step_number = 0
    assert not np.array_equal(session.gradients["w"], 2 * twice)
    session.backward()
    session.backward(request="add")
    assert np.array_equal(session.gradients["w"], 2 * twice)


@pytest.mark.parametrize("request_", ["write", "add", "null"])
@pytest.mark.parametrize("partial", [False, True])
def test_without_accumulation_gradients_are_returned_and_those_of_the_session_stay(
    request_, partial
) -> None:
    session, other = Session(noisy(), partial=partial), Session(noisy(), partial=partial)
    for each in (session, other):
        each.set("x", [0, 0, 0])
        each.backward()
        each.step_number = 5
    wanted, kept = other.backward(request=request_), bits(session.gradients)
    run = session.backward(request=request_, accumulate=False)
    assert bits(run.gradients) == bits(wanted.gradients)
    assert bits(session.gradients) == kept
    assert request_ == "null" or bits(other.gradients) != kept


def test_gradients_of_losses_in_turn_are_kept_without_running_again() -> None:
    session = Session(
        draw(
            {"a": Variable(value=1.0), "b": Variable(value=2.0), "mul": Mul(), "loss": Loss()},
            {"mul.a": "a", "mul.b": "b", "loss.x": "mul"},
        )
    )
    for _ in range(3):
        session.backward(wrt=["a"])
        session.backward(wrt=["b"])
    assert set(session._gradients._written) == {("a",), ("b",)}
    assert bits(session.gradients) == bits({"a": np.float32(2), "b": np.float32(1)})
    assert session._gradients._written == {}
    session.backward(wrt=["a"])
    session.backward()
    assert set(session._gradients._written) == {("a", "b")}


def test_an_input_without_a_value_is_told_before_anything_is_read() -> None:
    diagram = draw({"w": Variable(value=1.0), "x": Input(shape=[]), "loss": Loss()},
                   {"loss.x": "w"})  # fmt: skip
    with pytest.raises(FeedError, match="x: This input has no value"):
        Session(diagram).backward()
    assert Session(diagram).backward(ports=[], contributions=False).gradients["w"] == 1


def test_a_block_that_no_loss_needs_fails_when_its_value_is_read() -> None:
    diagram = draw(
        {"w": Variable(value=[1.0, 2.0]), "i": Constant(value=5, dtype="int64"),
         "pick": Gather(), "sum": Sum(), "loss": Loss()},
        {"pick.x": "w", "pick.indices": "i", "sum.x": "w", "loss.x": "sum"},
    )  # fmt: skip
    with pytest.raises(RunError, match="pick"):
        Session(diagram).backward(contributions=True)
    run = Session(diagram).backward()
    assert run.values["loss.out"] == 3
    for _ in range(2):
        with pytest.raises(RunError, match="pick"):
            run.values["pick.out"]


@pytest.mark.parametrize("copied", [deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
def test_a_run_can_be_copied_and_sent(copied: Callable[[Run], Run]) -> None:
    """Also what nobody has read yet; the copy needs no session."""
    session = Session(noisy())
    run = session.backward(feeds={"x": np.ones(3, np.float32)})
    sent = copied(run)
    session.set("w", np.zeros(3, np.float32))
    for table in ("values", "contributions", "gradients"):
        kept, read = getattr(sent, table), getattr(run, table)
        assert list(kept) == list(read)
        for name in read:
            np.testing.assert_array_equal(kept[name], read[name])
    gradients = copied(session.gradients)
    np.testing.assert_array_equal(gradients["w"], run.gradients["w"])
