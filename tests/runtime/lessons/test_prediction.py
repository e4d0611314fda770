"""Predictions: points, what typed numbers mean, and the misconceptions behind wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.build import build, loss, mean, mul, relu, square, stop_gradient, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.answers import AnswerError
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.misconceptions import computed_distractors
from gradwire.runtime.lessons.prediction import (
    Guess,
    in_backward_order,
    judge,
    judge_all,
    painted_points,
    points,
    read_numbers,
)
from tests.examples.gallery import NAMES, diagram
from tests.runtime.flow.tools.random_diagrams import Random


def facts(*outputs):
    return Facts(Session(build(*outputs)))


def swapped():
    """(w·x − 4)², with w = 3 and x = 2: ∂w = 8, ∂x = 12."""
    product = mul(variable("w", 3.0), variable("x", 2.0), name="mul1")
    return facts(loss(square(product - 4.0, name="sq"), name="L"))


def stopped():
    """w·SG(w) + 0·z, and an unused q."""
    w, z = variable("w", 3.0), variable("z", 1.0)
    product = mul(w, stop_gradient(w, name="sg"), name="mul1")
    return facts(loss(product + relu(z - 5.0, name="off"), name="L"))


@pytest.mark.parametrize(
    ("yours", "actual", "form", "worth"),
    [
        (8, 8, "number", 4), (8.4, 8, "number", 4), (8.41, 8, "number", 2), (4, 8, "number", 2),
        (16, 8, "number", 2), (17, 8, "number", 1), (3.9, 8, "number", 1), (0, 8, "number", 0),
        (-8, 8, "number", 0), (-7.7, -8, "number", 4), (0, 0, "number", 4), (1e-3, 0, "number", 0),
        (0, 1e-14, "number", 4), (math.nan, math.nan, "number", 4), (1, math.nan, "number", 0),
        (math.inf, math.inf, "number", 4), (-math.inf, math.inf, "number", 0),
        (math.nan, 1, "number", 0),
        (12, 0.5, "sign", 4), (-1, 0.5, "sign", 0), (0, 0, "sign", 4), (0, 1, "sign", 0),
        (1e-6, 5.5e-6, "decade", 4), (9e-6, 5.5e-6, "decade", 4), (1e-5, 5.5e-6, "decade", 0),
        (-1e-6, 5.5e-6, "decade", 4), (1000, 1000, "decade", 4), (0, 0, "decade", 4),
        (1, 0, "decade", 0),
        (1.9, 1, "estimate", 4), (0.5, 1, "estimate", 4), (2.1, 1, "estimate", 1),
        (-1, 1, "estimate", 0), (0, 0, "estimate", 4), (1, 0, "estimate", 0),
    ],
)  # fmt: skip
def test_points(yours, actual, form, worth):
    assert points(yours, actual, form) == worth


@pytest.mark.parametrize(
    ("text", "count", "form", "numbers"),
    [
        ("12", 1, "number", [12]),
        (" −3.5 ", 1, "number", [-3.5]),
        ("+1e-3", 1, "number", [1e-3]),
        ("0,5", 1, "number", [0.5]),
        (".5", 1, "number", [0.5]),
        ("1/4", 1, "number", [0.25]),
        ("-1/4", 1, "number", [-0.25]),
        ("NaN", 1, "number", [math.nan]),
        ("−∞", 1, "number", [-math.inf]),
        ("none", 2, "number", None),
        ("None", 1, "number", None),
        ("[1, 2]", 2, "number", [1, 2]),
        ("1 2", 2, "number", [1, 2]),
        ("[[1, 2], [3, 4]]", 4, "number", [1, 2, 3, 4]),
        ("+", 1, "sign", [1]),
        ("−", 1, "sign", [-1]),
        ("positive, negative, zero", 3, "sign", [1, -1, 0]),
    ],
)
def test_what_typed_numbers_mean(text, count, form, numbers):
    found = read_numbers(text, count, form)
    assert found == numbers or np.array_equal(found, numbers, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 1), ("twelve", 1), ("1 2", 1), ("1", 2), ("1/0", 1), ("__import__('os')", 1),
     ("9" * 400 + "e9", 1), ("1e9999", 1), ("--1", 1), ("+", 1), ("+-inf", 1)],
)  # fmt: skip
def test_what_is_no_number(text, count):
    with pytest.raises(AnswerError) as caught:
        read_numbers(text, count)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("place", "text", "worth", "name", "at"),
    [
        ("w", "8", 4, "", ""),
        ("w", "12", 0, "its own value", "mul1"),
        ("x", "8", 0, "its own value", "mul1"),
        ("w", "-8", 0, "sign", "sub1"),
        ("w", "0", 0, "nothing arrives", "w"),
        ("w", "None", 0, "None for a number", "w"),
        ("w", "4", 2, "", ""),  # without the 2 of x², or unchanged at mul1
        ("w", "500", 1, "", "w"),
    ],
)
def test_a_wrong_number_is_matched_to_a_misconception(place, text, worth, name, at):
    outcome = judge(swapped(), Guess("gradient", place, text))
    assert outcome.points == worth
    assert outcome.misconception == name
    assert outcome.right == (worth == 4)
    if at:
        assert outcome.place == at
    assert outcome.disagreements == (() if outcome.right else (place,))


def test_two_ways_to_the_same_number_are_both_told_and_none_is_taken_for_sure():
    outcome = judge(swapped(), Guess("gradient", "w", "4"))
    assert outcome.misconception == ""
    assert "There is more than one way to get there." in outcome.feedback
    assert "the 2 is missing" in outcome.feedback and "mul1" in outcome.feedback


def every_kind():
    """A small diagram for each block with a misconception, with scalars, arrays and both."""
    w, v = variable("w", 3.0), variable("v", [1.5, -2.0])
    yield from (mul(w, v).sum(), mul(v, v).sum(), mul(w, 5.0), w - variable("u", 7.0) * w)
    yield from (square(v - w).sum(), -(v * v).sum(), mean(v * w), mean(square(v)) * w)
    yield from (stop_gradient(v, name="sg").sum() * w, stop_gradient(w) * w + 2.0 * w)
    yield square(mul(w, stop_gradient(mean(v)), name="m") - 0.5 * w)


def test_every_computed_distractor_is_recognised_and_none_is_right():
    seen = set()
    for output in every_kind():
        found = Facts(Session(build(loss(output, name="L"))))
        right, wrong = found.backpropagation
        for path, gradient in found.timeline.steps.run.gradients.items():
            for each in computed_distractors(path, gradient, right.get(path), wrong):
                typed = " ".join(f"{float(number):.4g}" for number in each.value.ravel())
                if gradient is None or each.value.shape != gradient.shape:
                    continue
                outcome = judge(found, Guess("gradient", path, typed))
                if np.allclose(each.value, gradient, rtol=0.05):
                    continue  # too near to be called wrong
                assert not outcome.right
                assert each.feedback in outcome.feedback or outcome.feedback.count(" Or: ") == 2
                assert outcome.misconception in (each.name, "")
                seen.add(outcome.misconception)
    assert seen >= {
        "", "its own value", "upstream unchanged", "sign", "forgotten factor", "sum for mean",
        "stop ignored", "one branch only",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "text", "right", "name"),
    [
        ("w", "3", True, ""),
        ("w", "6", False, "stop ignored"),
        ("z", "0", True, ""),
        ("z", "None", False, "None for 0"),
    ],
)
def test_stops_and_zeros(place, text, right, name):
    outcome = judge(stopped(), Guess("gradient", place, text))
    assert (outcome.right, outcome.misconception) == (right, name)


def test_none_is_neither_zero_nor_any_number():
    frozen = facts(loss(variable("w", 2.0) * variable("f", 3.0, trainable=False), name="L"))
    assert judge(frozen, Guess("gradient", "f", "None")).points == 4
    outcome = judge(frozen, Guess("gradient", "f", "0"))
    assert (outcome.points, outcome.misconception) == (0, "None for 0")
    assert (outcome.yours, outcome.actual) == ("0", "None")


def test_arrays_are_asked_for_element_by_element():
    v = variable("v", [1.0, 2.0])
    found = facts(loss(mean(v * v, name="m"), name="L"))
    assert judge(found, Guess("gradient", "v", "1, 2")).points == 4
    half = judge(found, Guess("gradient", "v", "[1, 9]"))
    assert (half.points, half.right, half.yours) == (2.5, False, "[1, 9]")
    assert judge(found, Guess("gradient", "v", "2 4")).misconception == "sum for mean"
    assert judge(found, Guess("gradient", "v", "+ +", "sign")).right
    large = facts(loss(mean(variable("v", [1.0] * 5)), name="L"))
    with pytest.raises(AnswerError, match="too many numbers"):
        judge(large, Guess("gradient", "v", "1"))


def test_values_are_predicted_too():
    found = swapped()
    assert judge(found, Guess("value", "mul1", "6")).right
    assert judge(found, Guess("value", "mul1", "4")).misconception == "gradient for value"
    assert judge(found, Guess("value", "mul1", "0")).misconception == "value stopped"
    with pytest.raises(RunError, match="There is no value 'q'"):
        judge(found, Guess("value", "q", "1"))


def test_signs_and_decades_are_right_or_wrong():
    found = swapped()
    assert judge(found, Guess("gradient", "w", "+", "sign")).points == 4
    wrong = judge(found, Guess("gradient", "w", "−", "sign"))
    assert (wrong.points, wrong.misconception, wrong.actual) == (0, "sign", "+ (8)")
    assert judge(found, Guess("gradient", "w", "3", "decade")).points == 4
    assert judge(found, Guess("gradient", "w", "10", "decade")).points == 0


@pytest.mark.parametrize(
    ("state", "name"),
    [("STOPPED", ""), ("CARRIES", "stop ignored"), ("ZERO", "None for 0"), ("FROZEN", "")],
)
def test_painted_states(state, name):
    outcome = judge(stopped(), Guess("state", "mul1.b", state))
    assert outcome.right == (state == "STOPPED")
    assert outcome.misconception == name
    assert outcome.right or "sg stops every route" in outcome.feedback


def test_a_state_has_a_name():
    with pytest.raises(AnswerError, match="There is no state 'DEAD'"):
        judge(stopped(), Guess("state", "mul1.b", "DEAD"))


def test_painting_costs_what_is_wrong_and_not_what_is_left_out():
    right, wrong = (judge(stopped(), Guess("state", "mul1.b", s)) for s in ("STOPPED", "ZERO"))
    wires = ["a", "b", "c", "d"]
    for outcomes, worth in (
        ([right] * 4, 4), ([right] * 3, 3), ([right, right, right, wrong], 2),
        ([right, wrong], 0), ([wrong] * 4, 0), ([], 0),
    ):  # fmt: skip
        assert painted_points(wires, dict(zip(wires, outcomes, strict=False))) == worth


def test_disagreements_come_from_the_loss_backwards():
    found = stopped()
    places = ["w", "sg.x", "mul1.b", "L.x", "z", "add1.a"]
    ordered = in_backward_order(found, places)
    assert ordered[0] == "L.x" and ordered.index("add1.a") < ordered.index("mul1.b")
    assert ordered.index("mul1.b") < ordered.index("sg.x") < ordered.index("w")
    outcomes, wrong = judge_all(
        found,
        [
            Guess("gradient", "w", "6"),
            Guess("state", "mul1.b", "ZERO"),
            Guess("gradient", "z", "0"),
        ],
    )
    assert [each.right for each in outcomes] == [False, False, True]
    assert wrong == ["mul1.b", "w"]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", [*NAMES[::4], 0, 1, 2])
def test_on_any_diagram_the_right_answer_is_right_and_no_misconception_gives_it(name):
    made = Random(name).diagram() if isinstance(name, int) else diagram(name)
    found = Facts(Session(made))
    for variable_name, gradient in found.timeline.steps.run.gradients.items():
        if gradient is not None and not 0 < gradient.size <= 4:
            continue
        exact = "None" if gradient is None else " ".join(map(repr, map(float, gradient.ravel())))
        outcome = judge(found, Guess("gradient", variable_name, exact))
        assert outcome.right, (variable_name, amount(gradient))
        for text in ("0", "None", "1"):
            if gradient is None or gradient.size == 1:
                judged = judge(found, Guess("gradient", variable_name, text))
                assert not (judged.right and judged.misconception)
