"""What can be varied in a diagram, by name, and all combinations of it."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.blocks.errors import ParameterError
from gradwire.runtime.diagram.optimisers import AdamMethod, SGDMethod
from gradwire.runtime.diagram.training import CosineSchedule
from gradwire.runtime.training.studies.variants import with_variant
from gradwire.runtime.training.studies.varying import plan
from tests.runtime.training.studies.studies import line, noisy


def two(**more):
    """Two optimisers, one of which has a clip and a schedule."""
    w, v = gw.variable("w", 1.0), gw.variable("v", 1.0)
    recipe = {
        "optimisers": [
            {"name": "one", "method": {"kind": "adam"}, "variables": ["w"]},
            {"name": "two", "method": {"kind": "sgd", "momentum": 0.5}, "variables": ["v"],
             "schedule": {"kind": "step"}, "clip": {"by": "norm", "limit": 1},
             "groups": [{"variables": ["v"], "lr": 1}]},
        ],
        "averages": [{"name": "slow", "of": "w", "into": "u"}],
    }  # fmt: skip
    u = gw.variable("u", 1.0, trainable=False)
    return gw.build(gw.loss(gw.square(w) + gw.square(v), name="L"), u, training=recipe | more)


def varied(diagram, **values):
    """The diagrams of all combinations."""
    found = plan(diagram, {name.replace("__", "."): v for name, v in values.items()})
    return [with_variant(diagram, each.task.variant) for each in found]


def optimisers(diagram, **values):
    return [each.training.optimisers for each in varied(diagram, **values)]


def test_all_combinations_are_trained_the_last_name_first():
    found = plan(noisy(), {"lr": [0.1, 0.2], "seed": range(3)}, 7)
    assert [each.settings for each in found] == [
        {"lr": lr, "seed": seed} for lr in (0.1, 0.2) for seed in range(3)
    ]
    assert [each.task.seed for each in found] == [0, 1, 2] * 2
    assert {each.task.steps for each in found} == {7}
    assert [o[0].method.lr for o in optimisers(noisy(), lr=[0.1, 0.2])] == [0.1, 0.2]


def test_steps_and_seeds_belong_to_a_training():
    (one, other) = plan(noisy(), {"steps": [3, 5]}, 7)
    assert (one.task.steps, other.task.steps, one.task.seed) == (3, 5, 0)
    assert not one.task.variant.training and not one.task.variant.set


def test_a_field_is_varied_in_all_optimisers_that_have_it():
    (both,) = optimisers(two(), lr=[0.5])
    assert [rule.method.lr for rule in both] == [0.5, 0.5]
    (some,) = optimisers(two(), momentum=[0.9])
    assert isinstance(some[0].method, AdamMethod)
    assert some[1].method.momentum == 0.9


@pytest.mark.parametrize("name", ["two.lr", "optimisers.two.lr", "optimisers.two.method.lr"])
def test_a_field_of_one_optimiser(name):
    (found,) = optimisers(two(), **{name: [0.5]})
    assert [rule.method.lr for rule in found] == [1e-3, 0.5]


def test_fields_inside_others_are_varied_by_path():
    (found,) = optimisers(two(), schedule__gamma=[0.25], two__clip__limit=[3], two__steps=[4])
    assert (found[1].schedule.gamma, found[1].clip.limit, found[1].steps) == (0.25, 3, 4)
    (found,) = optimisers(two(), betas__1=[0.9], two__groups__0__lr=[7])
    assert found[0].method.betas == (0.9, 0.9)
    assert found[1].groups[0].lr == 7
    (diagram,) = varied(two(), averages__slow__decay=[0.5])
    assert diagram.training.averages[0].decay == 0.5


def test_a_method_or_a_schedule_is_named_by_its_kind_or_given_whole():
    found = optimisers(two(), one__method=["sgd", {"kind": "sgd", "momentum": 0.5}])
    assert [rules[0].method for rules in found] == [SGDMethod(), SGDMethod(momentum=0.5)]
    found = optimisers(two(), schedule=["cosine"])
    assert {type(rule.schedule) for rule in found[0]} == {CosineSchedule}


def test_fields_of_a_method_that_is_varied_too():
    found = optimisers(noisy(), momentum=[0, 0.9], method=["sgd", "rmsprop"])
    methods = [rules[0].method for rules in found]
    assert [(m.kind, m.momentum) for m in methods] == [
        ("sgd", 0), ("rmsprop", 0), ("sgd", 0.9), ("rmsprop", 0.9),
    ]  # fmt: skip


def test_a_diagram_without_a_recipe_has_that_of_the_trainer():
    plain = gw.build(gw.loss(gw.square(gw.variable("w", 1.0))))
    assert [o[0].method for o in optimisers(plain, SGD__lr=[0.5])] == [SGDMethod(lr=0.5)]


def test_parameters_literals_and_blocks_of_other_pages():
    @gw.page("inside")
    def inside(x):
        return gw.stop_gradient(x, name="stop")

    w = inside(gw.variable("w", 1.0))
    diagram = gw.build(gw.loss(gw.mul(w, 2.0, name="twice"), name="L"))
    found = varied(diagram, **{"inside/stop.open": [False, True], "twice.b": [3]})
    assert [each.pages["inside"].blocks["stop"].open for each in found] == [False, True]
    assert [float(each.main.blocks["twice"].literals["b"].tensor.array) for each in found] == [3, 3]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("lrr", 1, "Did you mean lr"),
        ("momentum", 1, "nothing of that name"),
        ("opt.momentum", 1, "nothing of that name"),
        ("optimisers.other.lr", 1, "nothing of that name"),
        ("hidde.units", 1, "Did you mean hidden.units"),
        ("hidden.unit", 1, "no parameter or input 'unit'"),
        ("other/hidden.units", 1, "nothing of that name"),
        ("hidden.units", "many", "hidden"),
        ("hidden.units", -1, "hidden"),
        ("lr", "fast", "a number"),
        ("lr", -1, "at least 0"),
        ("lr", None, "a number"),
        ("betas", [1, 2, 3], "betas"),
        ("method", "sgdd", "one of sgd"),
        ("method.kind", "sgd", "nothing of that name"),
        ("name", "a", "nothing of that name"),
        ("seed", 1.5, "integers from 0 to 999"),
        ("seed", True, "integers from 0 to 999"),
        ("seed", 1000, "integers from 0 to 999"),
        ("steps", 0, "integers from 1"),
        ("steps", "all", "integers from 1"),
        ("..", 1, "nothing of that name"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, told):
    with pytest.raises(ParameterError, match=told):
        plan(noisy(), {name: [value]})


def test_a_value_that_only_some_combinations_can_have_is_refused_with_the_combination():
    with pytest.raises(ParameterError, match="momentum: there is nothing"):
        plan(noisy(), {"method": ["sgd", "adam"], "momentum": [0.9]})


def test_too_many_combinations_are_refused_before_they_are_made():
    with pytest.raises(ParameterError, match="at most 10,000, got 1,000,000,000,000"):
        plan(line(), {"lr": range(10**6), "seed": range(10**6)})
