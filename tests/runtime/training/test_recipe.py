"""Recipes resolved against diagrams: what patterns name, and what is said about the others."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.training import Training
from gradwire.runtime.engine import Session
from gradwire.runtime.training.recipe import Recipe, examine, resolve


def program(frozen: tuple[str, ...] = ("Ga/W1", "Ga/W2")) -> Any:
    """Two players with pages of their own, and a frozen copy of one."""
    pages: dict[str, Any] = {}

    def player(name: str) -> Any:
        @gw.page(name)
        def inside(x: Any) -> Any:
            trainable = name != "Ga"
            one = gw.variable("W1", [1.0, 2.0], trainable=trainable)
            return x * one + gw.variable("W2", [0.5, 0.5], trainable=trainable)

        return inside

    for name in ("D", "G", "Ga"):
        pages[name] = player(name)
    x = gw.constant("x", [1.0, 1.0])
    fake = pages["G"](x, name="G")
    score = pages["D"](fake, name="D")
    slow = pages["Ga"](x, name="Ga")
    return gw.build(
        gw.loss(gw.sum(score), name="L_D"),
        gw.loss(gw.sum(fake * fake), name="L_G"),
        gw.sum(slow, name="slow"),
    )


def resolved(training: dict[str, Any]) -> Recipe:
    return resolve(Training.model_validate(training), Session(program()).program)


def said(training: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    remarks = examine(Training.model_validate(training), Session(program()).program)
    return {remark.field: remark.text for remark in remarks}


def optimiser(**fields: Any) -> dict[str, Any]:
    return {"optimisers": [{"name": "opt", **fields}]}


def test_patterns_name_trained_variables_and_losses_in_order() -> None:
    recipe = resolved(
        {
            "optimisers": [
                {"name": "opt_D", "variables": ["D/*"], "losses": ["L_D"]},
                {"name": "opt_G", "variables": ["*/W2", "G/W1"], "losses": ["L_*", "L_G.out"]},
                {"name": "all"},
            ],
            "record": ["slow", "L_D"],
        }
    )
    one, two, three = recipe.rules
    assert set(one.variables) == {"D/W1", "D/W2"}
    assert set(two.variables) == {"D/W2", "G/W1", "G/W2"}
    assert set(three.variables) == {"D/W1", "D/W2", "G/W1", "G/W2"}
    assert one.heads == ("L_D.out",)
    assert two.heads == three.heads == ("L_D.out", "L_G.out")
    assert recipe.record == ("slow.out", "L_D.out")


def test_the_first_group_that_names_a_variable_counts() -> None:
    (rule,) = resolved(
        optimiser(
            method={"kind": "adamw", "lr": 0.1, "weight_decay": 0.5},
            variables=["D/*"],
            groups=[{"variables": ["D/W1"], "lr": 0.2}, {"variables": ["*"], "weight_decay": 0}],
        )
    ).rules
    assert rule.numbers_of("D/W1") == (0.2, 0.5)
    assert rule.numbers_of("D/W2") == (0.1, 0.0)


def test_targets_of_averages_are_found_by_what_the_wildcards_stand_for() -> None:
    for of, into in (("G/*", "Ga/*"), ("G/W?", "Ga/W?"), ("G/W*", "Ga/W*")):
        average = {"name": "ema", "of": of, "into": into}
        ((_, pairs),) = resolved(optimiser() | {"averages": [average]}).averages
        assert dict(pairs) == {"G/W1": "Ga/W1", "G/W2": "Ga/W2"}, (of, into)
    one = {"name": "ema", "of": "G/W1", "into": "Ga/W2"}
    ((_, pairs),) = resolved(optimiser() | {"averages": [one]}).averages
    assert pairs == (("G/W1", "Ga/W2"),)


AVERAGE = {"name": "ema", "of": "G/*", "into": "Ga/*"}


@pytest.mark.parametrize(
    ("training", "field", "message"),
    [
        (optimiser(variables=["E/*"]), ("variables", 0), "E/* matches no trained variable. There"),
        (optimiser(variables=["Ga/W1"]), ("variables", 0), "Ga/W1 is frozen"),
        (optimiser(variables=[]), ("variables",), "opt owns no variable"),
        (optimiser(losses=["L_E"]), ("losses", 0), "L_E matches no loss. There are L_"),
        (optimiser(losses=["x"]), ("losses", 0), "x is not a loss: it is not a single number"),
        (optimiser(method={"kind": "sgd", "nesterov": True}), ("method",), "needs momentum"),
        (
            optimiser(variables=["D/*"], groups=[{"variables": ["G/W1"]}]),
            ("groups", 0, "variables", 0),
            "G/W1 matches no variable of opt. There are D/W1, D/W2",
        ),
    ],
)
def test_what_is_wrong_with_an_optimiser_has_its_field(
    training: dict[str, Any], field: tuple[Any, ...], message: str
) -> None:
    assert message in said(training)["optimisers", 0, *field]
    with pytest.raises(RunError):
        resolved(training)


@pytest.mark.parametrize(
    ("average", "field", "message"),
    [
        ({"into": "D/*"}, "into", "is trained, so it can't hold the average ema"),
        ({"into": "E"}, "into", "E matches no variable"),
        ({"of": "E"}, "of", "E matches no variable"),
        ({"into": "Ga/W1"}, "into", "Ga/W1 has no target for G/W"),
        ({"of": "G/W1"}, "into", "Ga/* has no target for G/W1"),
    ],
)
def test_what_is_wrong_with_an_average_has_its_field(
    average: dict[str, Any], field: str, message: str
) -> None:
    training = optimiser() | {"averages": [AVERAGE | average]}
    assert message in said(training)["averages", 0, field]
    with pytest.raises(RunError):
        resolved(training)


def test_a_target_has_the_shape_of_its_source() -> None:
    x = gw.variable("w", [1.0, 2.0]), gw.variable("slow", [0.0], trainable=False)
    session = Session(gw.build(gw.loss(gw.sum(x[0]) + gw.sum(x[1]))))
    average = {"name": "ema", "of": "w", "into": "slow"}
    with pytest.raises(RunError, match=r"Expected float32 of shape \[2\], got float32 of shape"):
        resolve(Training.model_validate(optimiser() | {"averages": [average]}), session.program)


def test_names_are_there_once_and_ports_exist() -> None:
    twice = {"optimisers": [{"name": "a", "variables": ["D/*"]}, {"name": "a"}]}
    assert "two optimisers called 'a'" in said(twice)["optimisers", 1, "name"]
    assert "There is no block or output 'y'" in said(optimiser() | {"record": ["y"]})["record", 0]


def test_a_variable_of_two_optimisers_is_allowed_but_said() -> None:
    twice = {"optimisers": [{"name": "a", "variables": ["D/*"]}, {"name": "b"}]}
    assert said(twice)["optimisers", 1, "variables"].startswith("a and b both update D/W")
    assert len(resolved(twice).rules) == 2
    assert said({}) == {("optimisers",): "The recipe has no optimiser, so nothing is trained."}


def test_leaves_of_a_tree_name_the_variables_in_them() -> None:
    weights = gw.pack(
        gw.variable("a", [1.0]), gw.variable("b", [2.0]), name="params", keys="enc/w, dec/w"
    )
    one, two = gw.unpack(weights, paths="enc/w, dec/w")
    session = Session(gw.build(gw.loss(gw.sum(one * two), name="loss")))
    for pattern, names in (("params:enc/*", ("a",)), ("params:*/w", ("a", "b"))):
        training = Training.model_validate(optimiser(variables=[pattern]))
        assert resolve(training, session.program).rules[0].variables == names


def test_what_plots_draw_is_recorded_besides_the_losses() -> None:
    w = gw.variable("w", [1.0, 2.0])
    total = gw.sum(w, name="total")
    diagram = gw.build(gw.loss(total**2, name="loss"), gw.plot(total, w, name="curves"))
    plain = Training.model_validate(optimiser())
    assert resolve(plain, Session(diagram).program).record == ("total.out", "w.out")
    loss = gw.loss(gw.sum(w), name="loss")
    both = gw.build(loss, gw.plot(loss))
    assert resolve(plain, Session(both).program).record == ()
