"""Plans that share their memory: gradients are left where they are wanted, and sessions keep up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FeedError
from gradwire.runtime.diagram.paths import PortPath

if TYPE_CHECKING:
    from gradwire.runtime.engine.session.resident import Resident, ResidentCall

LOSS = PortPath("loss.out")


def session() -> gw.Session:
    w, b = gw.variable("w", [[1.0, 2.0], [3.0, 4.0]]), gw.variable("b", [0.5, -0.5])
    unused = gw.variable("unused", [1.0])
    noise = gw.random_normal(shape=[3, 2], name="noise")
    y = gw.tanh(gw.linear(noise, w, b), name="y")
    return gw.Session(gw.build(gw.loss(gw.mean(gw.square(y)), name="loss"), unused))


def settled(of: gw.Session) -> tuple[Resident, ResidentCall, dict[str, np.ndarray]]:
    resident = of.resident()
    pending = resident.derive([LOSS], ["w", "b", "unused"], [LOSS, PortPath("y.out")])
    assert pending.missing == ("unused",)
    flat, gradients = np.zeros(6, np.float32), np.full(6, np.nan, np.float32)
    arrays = {"w": flat[:4].reshape(2, 2), "b": flat[4:]}
    resident.settle(arrays)
    places = {"w": gradients[:4].reshape(2, 2), "b": gradients[4:]}
    call = resident.plan(pending, places)
    resident.refresh()
    return resident, call, {"values": flat, "gradients": gradients}


def test_gradients_are_left_in_the_arrays_that_are_given_for_them() -> None:
    one = session()
    _, call, memory = settled(one)
    expected = one.backward()
    call.run()
    wanted = np.concatenate([expected.gradients["w"].reshape(-1), expected.gradients["b"]])
    assert np.array_equal(memory["gradients"], wanted)
    assert call.total(LOSS)() == float(expected.values["loss.out"])
    assert call.mean(PortPath("y.out"))() == pytest.approx(
        expected.values["y.out"].mean(), rel=1e-6
    )


def test_variables_are_read_where_they_live_and_the_session_reads_them_when_asked() -> None:
    one = session()
    resident, call, memory = settled(one)
    memory["values"] -= np.float32(0.25)
    resident.moved()
    assert resident.is_current
    assert np.array_equal(one.values["w"], [[0.75, 1.75], [2.75, 3.75]])
    call.run()
    assert call.total(LOSS)() == float(one.backward().values["loss.out"])
    memory["values"][:] = 0
    assert one.values["b"][0] == np.float32(0.25)  # nobody said yet that they moved
    resident.moved()
    assert not one.values["b"].any()
    assert not one.diagram_with_values().pages["main"].blocks["b"].value.array.any()


def test_what_is_set_in_the_session_is_read_again() -> None:
    one = session()
    resident, _, memory = settled(one)
    memory["values"] += 1
    resident.moved()
    one.set("b", [7.0, 8.0])
    assert not resident.is_current
    resident.refresh()
    assert memory["values"].tolist() == [2.0, 3.0, 4.0, 5.0, 7.0, 8.0]
    assert one.values["w"].tolist() == [[2.0, 3.0], [4.0, 5.0]]


def test_each_run_draws_the_numbers_of_the_sessions_step() -> None:
    one = session()
    _, call, _ = settled(one)
    losses = []
    for one.step_number in (0, 1, 0):
        call.run()
        losses.append(call.total(LOSS)())
        assert losses[-1] == float(one.backward().values["loss.out"])
    assert losses[0] == losses[2] != losses[1]


def test_several_plans_share_the_leaves() -> None:
    one = session()
    resident = one.resident()
    first = resident.derive([LOSS], ["w"], [LOSS])
    second = resident.derive([LOSS], ["b"], [LOSS])
    flat = np.zeros(6, np.float32)
    resident.settle({"w": flat[:4].reshape(2, 2), "b": flat[4:]})
    calls = [resident.plan(pending, {}) for pending in (first, second)]
    resident.refresh()
    for call in calls:
        call.run()
    leaves = [{value: array for value, array in call.plan.leaves.items()} for call in calls]
    shared = leaves[0].keys() & leaves[1].keys()
    assert len(shared) == len(leaves[0])
    assert all(leaves[0][value] is leaves[1][value] for value in shared)


def test_an_input_without_a_value_is_named() -> None:
    x, w = gw.input("x", shape=[2]), gw.variable("w", [1.0, 2.0])
    one = gw.Session(gw.build(gw.loss(gw.sum(x * w), name="loss")))
    resident = one.resident()
    pending = resident.derive([LOSS], ["w"], [LOSS])
    resident.plan(pending, {})
    with pytest.raises(FeedError, match="no value") as caught:
        resident.refresh()
    assert caught.value.location is not None and caught.value.location.block == "x"


def test_another_diagram_is_another_generation() -> None:
    one = session()
    before = one.generation
    assert not one.update(gw.build(gw.loss(gw.sum(gw.variable("v", [1.0])))))
    assert one.generation == before + 1


def test_each_run_reads_the_rows_of_the_sessions_step() -> None:
    (x, _), w = gw.dataset(source="spirals", batch=8, name="data"), gw.variable("w", [[1.0, 2.0]])
    one = gw.Session(gw.build(gw.loss(gw.mean(gw.linear(x, w)), name="loss")))
    resident = one.resident()
    call = resident.plan(resident.derive([LOSS], ["w"], [LOSS]), {})
    resident.refresh()
    losses = []
    for one.step_number in (0, 1, 0):
        call.run()
        losses.append(call.total(LOSS)())
        assert losses[-1] == float(one.run(ports=["loss"]).values["loss.out"])
    assert losses[0] == losses[2] != losses[1]
    assert one.program.drawn() == {"data"}
