"""Gradients of tables in a session: arrays for whoever reads them, and rows for whoever asks."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.engine.plan.sparse_rows import WholeOnRead
from gradwire.runtime.flow import observe

ROWS = 2000


def diagram(own: bool = False) -> gw.Diagram:
    """Two lookups of one table, one of whose wires is measured small; and a matrix."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((ROWS, 10)).astype(np.float32)
    w = gw.variable("w", rng.standard_normal((10, 10)).astype(np.float32))
    places = gw.constant("places", rng.integers(0, ROWS, 30))
    if own:
        rows = gw.embedding(places, gw.own(), rows=ROWS, features=10, name="one")
        return gw.build(gw.loss(gw.mean(gw.square(gw.linear(rows, w))), name="loss"))
    table = gw.variable("table", values)
    one = gw.embedding(places, table, name="one")
    two = gw.embedding(gw.constant("few", [[3], [-1]]), table, name="two")
    y = gw.linear(one, w, name="y")
    return gw.build(gw.loss(gw.mean(gw.square(y)) + gw.mean(gw.tanh(two)), name="loss"))


def reference(of: gw.Diagram) -> gw.Run:
    """The run of a session whose results are all arrays."""
    session = gw.Session(of, fast=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradwire.runtime.engine.compiled._with_few_rows", lambda results: set())
        return session.backward(contributions=True, adjoints="all", norms=True)


def assert_near(found: Mapping[str, float | None], wanted: Mapping[str, float | None]) -> None:
    assert {name for name, x in found.items() if x is None} == {
        name for name, x in wanted.items() if x is None
    }
    known = {name: x for name, x in wanted.items() if x is not None}
    assert {name: found[name] for name in known} == pytest.approx(known, rel=1e-5)


def test_gradients_are_arrays_and_rows_are_there_too() -> None:
    run, expected = gw.Session(diagram(), fast=False).backward(), reference(diagram())
    assert list(run.gradients) == ["w", "table"] == list(expected.gradients)
    assert expected.sparse == {}
    rows = run.sparse["table"]
    assert isinstance(rows, gw.SparseRows)
    assert list(run.sparse) == ["table"]
    assert len(rows.rows) < 40
    gradient = run.gradients["table"]
    assert isinstance(gradient, np.ndarray)
    assert run.gradients["table"] is gradient
    assert gradient.tobytes() == expected.gradients["table"].tobytes() == rows.dense().tobytes()


def test_nothing_that_is_read_changes_what_is_read_later() -> None:
    session = gw.Session(diagram(), fast=False)
    run = session.backward()
    before = run.sparse["table"].values.copy()
    with pytest.raises(ValueError, match="read-only"):
        run.sparse["table"].values[:] = 0
    run.gradients["table"][:] = 7.0
    session.set("w", np.zeros((10, 10)))
    again = session.backward()
    assert run.sparse["table"].values.tobytes() == before.tobytes()
    assert again.sparse["table"].values.tobytes() != before.tobytes()


def test_contributions_adjoints_and_norms_are_those_of_arrays() -> None:
    session, expected = gw.Session(diagram(), fast=False), reference(diagram())
    run = session.backward(contributions=True, adjoints="all", norms=True)
    later = session.backward()
    assert isinstance(run.contributions, WholeOnRead)
    assert {"one.weight", "two.weight"} == set(run.contributions.rows)
    for found, wanted in (
        (run.contributions, expected.contributions),
        (later.contributions, expected.contributions),
        (run.adjoints, expected.adjoints),
        (run.gradients, expected.gradients),
    ):
        assert found.keys() == wanted.keys()
        for name, array in wanted.items():
            assert (found[name] is None) == (array is None)
            assert array is None or np.asarray(found[name]).tobytes() == array.tobytes(), name
    for norms in (run.norms, later.norms):
        assert_near(norms, expected.norms)


def test_what_is_observed_is_the_same() -> None:
    session = gw.Session(diagram(), fast=False)
    found = observe(session)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gradwire.runtime.engine.compiled._with_few_rows", lambda results: set())
        wanted = observe(gw.Session(diagram(), fast=False))
    assert_near(found.norms(), wanted.norms())
    assert found.states() == wanted.states()
    every = frozenset(found.states().values())
    assert found.zero_shares(every) == wanted.zero_shares(every)
    assert found.zero_shares(every)["two.weight"] == 1 - 2 / ROWS


def test_shared_and_own_variables_have_their_names() -> None:
    run = gw.Session(diagram(own=True)).backward()
    (path,) = run.sparse
    assert path in run.gradients
    for name in (path, "one.weight"):
        assert run.sparse[name].shape == (ROWS, 10)
        assert np.array_equal(run.gradients[name], run.sparse[name].dense())
    assert "nothing" not in run.gradients
    assert gw.Session(diagram()).run().sparse == {}


def test_accumulated_gradients_are_arrays() -> None:
    session = gw.Session(diagram(), fast=False)
    one = session.backward().gradients["table"]
    assert np.array_equal(session.gradients["table"], one)
    total = session.backward(request="add").gradients["table"]
    assert isinstance(total, np.ndarray)
    assert np.array_equal(total, 2 * one)
    assert isinstance(session.gradients["table"], np.ndarray)


def test_prepared_calls_return_rows_if_they_are_asked_for() -> None:
    session = gw.Session(diagram())
    for _ in range(2):
        *_, whole = session.prepare(values=["loss"])()
        *_, rows = session.prepare(values=["loss"], sparse=True)()
        assert isinstance(whole, np.ndarray)
        assert isinstance(rows, gw.SparseRows)
        assert rows.dense().tobytes() == whole.tobytes()


def test_a_step_moves_a_table_as_ever() -> None:
    session = gw.Session(diagram(), fast=False)
    before, gradient = session.values["table"], session.backward().gradients["table"]
    session.step(gw.SGD(lr=0.5))
    assert np.array_equal(session.values["table"], before - np.float32(0.5) * gradient)


METHODS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "descent": (gw.SGD, {"lr": 0.5}),
    "adagrad": (gw.Adagrad, {"lr": 0.1, "lr_decay": 0.1}),
    "momentum": (gw.SGD, {"lr": 0.5, "momentum": 0.9}),
    "decay": (gw.SGD, {"lr": 0.5, "weight_decay": 0.1}),
    "adam": (gw.Adam, {"lr": 0.1}),
}


@pytest.mark.parametrize("method", METHODS)
def test_steps_by_rows_leave_the_bits_of_steps_by_arrays(method: str) -> None:
    """Values and state, with steps between that move one of the variables, or only the other."""
    kind, options = METHODS[method]
    optimiser, other = kind(**options), kind(**options)
    session, expected = (gw.Session(diagram(), fast=False) for _ in range(2))
    seen = []
    for wrt in (None, ["table"], None, ["w"], ["table", "w"], None):
        session.step(optimiser, wrt=wrt)
        seen.append((session.values["table"], session.values["table"].copy()))
        gradients = expected.backward(wrt=wrt).gradients
        arrays = {name: np.array(gradients[name]) for name in gradients}
        for name, array in other.update(expected.values, arrays).items():
            expected.set(name, array)
        for name, array in expected.values.items():
            assert session.values[name].tobytes() == array.tobytes(), (wrt, name)
        for name in ("table", "w"):
            for slot, state in other.state(name).items():
                assert np.array_equal(optimiser.state(name)[slot], state), (wrt, name, slot)
    assert all(np.array_equal(array, before) for array, before in seen)


def test_an_optimiser_of_ones_own_gets_arrays_that_are_its_own() -> None:
    """Also where it refines one that takes rows."""

    class Halving(gw.SGD):
        def update(self, values: Any, gradients: Any) -> dict[str, Any]:
            assert all(isinstance(g, np.ndarray) for g in gradients.values())
            values["table"] *= 0.5
            return {"table": values["table"]}

    session = gw.Session(diagram(), fast=False)
    before = session.values["table"]
    session.step(Halving())
    assert np.array_equal(session.values["table"], before * np.float32(0.5))
    assert np.array_equal(before, gw.Session(diagram()).values["table"])


def test_a_gradient_that_is_also_a_value_is_an_array() -> None:
    """A Gradient block gives the same derivative to the diagram."""
    table = gw.variable("table", np.ones((ROWS, 10)))
    total = gw.sum(gw.square(gw.embedding(gw.constant("i", [1, 1]), table)))
    slope = gw.gradient(total, table, name="slope")
    run = gw.Session(gw.build(gw.loss(total, name="loss"), slope)).backward(ports=["slope"])
    assert np.array_equal(run.values["slope.out"], run.gradients["table"])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
                         ids=["copied", "pickled"])  # fmt: skip
def test_results_can_be_sent(duplicate: Any) -> None:
    gradients = gw.Session(diagram()).backward().gradients
    other = duplicate(gradients)
    assert np.array_equal(other["table"], gradients["table"])
