"""A diagram whose blocks own their variables is the diagram with Variables of the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradwire.runtime.build as b
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, PortName, SetParameters, apply, dumps, loads
from gradwire.runtime.diagram.edits.owning import move_out, own_variables
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    WhatIf,
    check_contracts,
    diagnose,
    dialects,
    fixes,
    loss_matrix,
    observe,
    parse_contracts,
)
from gradwire.runtime.publish.report import run_report
from gradwire.runtime.training.optimisers import SGD, Adam

LAYERS = st.lists(
    st.fixed_dictionaries(
        {
            "units": st.integers(1, 3),
            "bias": st.booleans(),
            "trained": st.booleans(),
            "stop": st.booleans(),
            "follow": st.sampled_from(["relu", "tanh", "round", "sigmoid"]),
            "page": st.booleans(),
        }
    ),
    min_size=1,
    max_size=4,
)


def network(layers: list[dict[str, Any]]) -> Diagram:
    """A perceptron of Variables; layers on a page are used twice and share theirs."""
    value: Any = b.input("x", [[0.5, -1.0, 2.0]])
    for i, layer in enumerate(layers):
        dense = dense_layer(i, **layer)
        if layer["page"]:
            dense.__name__ = f"dense{i}"
            use = b.page(dense)
            value = b.add(use(value, name=f"one{i}"), use(value, name=f"two{i}"))
        else:
            value = dense(value)
        value = b.block(layer["follow"], b.stop_gradient(value) if layer["stop"] else value)
    return b.build(b.loss(b.mean(value), name="L"), b.loss(b.sum(value), name="M"))


def dense_layer(
    i: int, *, units: int, bias: bool, trained: bool, **_: Any
) -> Callable[[Any], b.Expression]:
    """The function that makes layer ``i`` of Variables."""

    def dense(x: Any) -> b.Expression:
        weight = b.variable(f"W{i}", seed=i, trainable=trained)
        added = b.variable(f"b{i}", seed=i, initialiser="normal") if bias else None
        return b.linear(x, weight, added, units=units, name=f"fc{i}")

    return dense


def owning(diagram: Diagram) -> Diagram:
    """The diagram with every Variable in the block that reads it."""
    for page, content in diagram.pages.items():
        targets = [t for t in content.wires if t.port in content.blocks[t.block].ownable]
        wanted = [t for t in targets if t.port != "x"]
        diagram = apply(diagram, own_variables(diagram, page, wanted)).after
    return diagram


def renamed(text: str) -> str:
    """A path or text with the names of own variables replaced by those of the Variables."""
    for i in range(4):
        text = text.replace(f"fc{i}/weight", f"W{i}").replace(f"fc{i}/bias", f"b{i}")
    return text


def assert_equal_maps(one: Any, other: Any) -> None:
    assert sorted(one) == sorted(renamed(name) for name in other)
    for name, array in other.items():
        np.testing.assert_array_equal(np.asarray(one[renamed(name)]), np.asarray(array))


@pytest.mark.night
@settings(max_examples=15)
@given(layers=LAYERS)
def test_own_variables_equal_variables_in_values_gradients_and_states(
    layers: list[dict[str, Any]],
) -> None:
    diagram = network(layers)
    own = owning(diagram)
    assert all(not name.startswith("W") for page in own.pages.values() for name in page.blocks)
    one, other = Session(diagram), Session(own)
    assert_equal_maps(one.values, other.values)
    left, right = one.backward(), other.backward()
    assert_equal_maps(left.values, right.values)
    assert_equal_maps(left.gradients, right.gradients)
    assert_equal_maps(left.contributions, right.contributions)
    seen, too = observe(one), observe(other)
    for loss in seen.losses:
        assert dict(seen.states(loss)) == dict(too.states(loss))
        for wire in seen.states(loss):
            verdict = too.verdict(wire, loss)
            assert renamed(verdict.sentence) == seen.verdict(wire, loss).sentence


@pytest.mark.night
@settings(max_examples=15)
@given(layers=LAYERS)
def test_training_moves_them_alike(layers: list[dict[str, Any]]) -> None:
    one, other = Session(network(layers)), Session(owning(network(layers)))
    for optimiser in (SGD(lr=0.1), Adam()):
        again = type(optimiser)(optimiser.lr)
        one.step(optimiser)
        other.step(again)
    assert_equal_maps(one.values, other.values)
    trained = other.diagram_with_values()
    assert_equal_maps(one.values, Session(trained).values)
    assert loads(dumps(trained)) == trained


@settings(max_examples=15)
@given(layers=LAYERS)
def test_own_variables_survive_a_file_and_moving_out(layers: list[dict[str, Any]]) -> None:
    own = owning(network(layers))
    assert loads(dumps(own)) == own
    out = own
    for page, content in own.pages.items():
        owned = [PortName(name, p) for name, block in content.blocks.items() for p in block.owned]
        out = apply(out, move_out(own, page, owned)).after
    assert all(not block.owned for page in out.pages.values() for block in page.blocks.values())
    back = owning(out)
    for name, content in own.pages.items():
        assert back.pages[name].blocks == content.blocks
        assert back.pages[name].wires == content.wires


def one_layer(**parameters: Any) -> Diagram:
    """A Linear ``fc`` with its own weight and bias, and a loss ``L``."""
    x = b.input("x", [[1.0, 2.0]])
    fc = b.linear(x, b.own(seed=1, **parameters), b.own(), units=3, name="fc")
    return b.build(b.loss(b.mean(b.relu(fc)), name="L"))


def test_reports_tables_and_tools_know_them() -> None:
    session = Session(one_layer())
    observed = observe(session)
    assert loss_matrix(observed).variables == ("fc/weight", "fc/bias")
    assert list(observed.program.trainable) == ["fc/weight", "fc/bias"]
    assert dialects(observed, "fc.weight").reports
    report = run_report(session, session.backward(), observed, "own.json")
    assert [*report.variables] == ["fc/weight", "fc/bias"]
    assert diagnose(session) == []
    for line in ("flows(L -> fc/weight)", "flows(L -> fc.weight)", "updates(L -> fc.bias)"):
        outcomes = check_contracts(parse_contracts(line), observed, observed.flow)
        assert all(outcome.kept for outcome in outcomes), line
    compared = WhatIf(session).freeze("fc/weight").compare()
    assert compared.variables()["fc/weight"].after is None
    frozen = Session(one_layer(trainable=False))
    assert fixes(frozen, ["fc/weight"])["fc/weight"].trained == ("fc/weight",)


def test_they_are_found_by_their_input() -> None:
    session = Session(one_layer())
    session.set("fc.weight", np.ones((3, 2)))
    run = session.backward(wrt=["fc.weight"])
    np.testing.assert_array_equal(run.values["fc.out"], [[3, 3, 3]])
    assert [*run.gradients] == ["fc/weight"]
    assert run.gradients["fc.weight"] is run.gradients["fc/weight"]


def test_new_numbers_rebind_and_a_new_shape_does_not() -> None:
    diagram = one_layer(value=np.zeros((3, 2)).tolist())
    session = Session(diagram)
    variable = diagram.main.blocks["fc"].owned["weight"]

    def with_weight(**values: Any) -> Diagram:
        own = variable.with_parameters(**values)
        return apply(diagram, SetParameters("fc", {"weight": own})).after

    assert session.update(with_weight(value=np.ones((3, 2)).tolist()))
    np.testing.assert_array_equal(session.run().values["fc.out"], [[3, 3, 3]])
    assert not session.update(with_weight(trainable=False))
    assert session.program.trainable == ["fc/bias"]


def test_a_wire_takes_the_place_of_an_own_variable() -> None:
    x = b.input("x", [[1.0, 2.0]])
    diagram = b.build(b.linear(x, b.variable("W", np.ones((3, 2))), name="fc"))
    own = {"weight": {"variable": {"value": [[5, 5]]}}}
    session = Session(apply(diagram, SetParameters("fc", own)).after)
    assert [*session.values] == ["W"]
    np.testing.assert_array_equal(session.run().values["fc.out"], [[3, 3, 3]])


def test_independent_uses_of_a_page_own_different_numbers() -> None:
    @b.page
    def page(x: Any) -> b.Expression:
        return b.linear(x, units=2, name="fc")

    x = b.input("x", [[1.0, 2.0]])
    uses = page(x, name="one") + page(x, name="two", independent=True)
    values = Session(b.build(uses)).values
    owned = ["one/fc/bias", "one/fc/weight", "two/fc/bias", "two/fc/weight"]
    assert sorted(values) == owned
    assert not np.array_equal(values["one/fc/weight"], values["two/fc/weight"])


@pytest.mark.parametrize(
    ("kind", "shape"), [("Linear", (1, 3)), ("Conv2D", (2, 3, 5, 5))], ids=["linear", "conv2d"]
)
def test_a_new_block_owns_its_parameters_and_draws_them_small(kind: str, shape: Any) -> None:
    size = {"Linear": {"units": 4}, "Conv2D": {"filters": 4}}[kind]
    block = registry().get(kind).new().with_parameters(**size)
    x = b.input("x", np.ones(shape, "float32"))
    made = b.block(kind, x, b.own(), b.own(), name="layer", **size)
    assert made.node.block == block
    session = Session(b.build(made))
    weight, bias = session.values.values()
    fan_in = int(np.prod(weight.shape[1:]))
    assert 0 < np.abs(weight).max() <= np.sqrt(6 / fan_in)
    assert not bias.any()
