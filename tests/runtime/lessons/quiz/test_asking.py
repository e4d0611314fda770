"""Questions: none ambiguous, every wrong answer computed, the same seed the same questions."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.build import build, loss, mean, mul, square, stop_gradient, variable
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.lessons.amounts import amount
from gradwire.runtime.lessons.misconceptions import Backpropagation
from gradwire.runtime.lessons.quiz.asking import quiz
from gradwire.runtime.lessons.quiz.question import QuestionKind
from gradwire.runtime.lessons.timeline import record
from tests.examples.gallery import NAMES, diagram
from tests.runtime.flow.tools.random_diagrams import Random


def fan_out():
    """w·w + 3w, with w = 2: right is 7."""
    w = variable("w", 2.0)
    return build(loss(mul(w, w, name="square") + mul(3.0, w, name="triple"), name="L"))


def wrong_answers(made, variable_name):
    """What each misconception gives, without the right answer."""
    timeline = record(Session(made))
    way = Backpropagation(timeline)
    right = way.gradients()[variable_name]
    found = {}
    for each in way.misconceptions():
        gradient = way.gradients(each).get(variable_name)
        if gradient is not None and not np.array_equal(gradient, right):
            found.setdefault(each.name, set()).add(float(gradient))
    return found


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", NAMES)
def test_without_a_misconception_it_is_backpropagation(name):
    timeline = record(Session(diagram(name)))
    if timeline.steps.observed.flow.differentiates:
        return  # a Gradient block reads values from inside others, where no wire shows it
    found = Backpropagation(timeline).gradients()
    for variable_name, gradient in timeline.steps.run.gradients.items():
        if gradient is None:
            assert variable_name not in found
        elif variable_name in found:
            # Sums have another order: what cancels differs by the rounding of what was added.
            rounding = 2e-7 * np.abs(gradient).max(initial=0.0)
            np.testing.assert_allclose(found[variable_name], gradient, rtol=1e-5, atol=rounding)


def test_one_branch_its_own_value_and_upstream_unchanged():
    assert wrong_answers(fan_out(), "w") == {
        "one branch only": {2.0},  # the first reader, square.a, alone
        "upstream unchanged": {5.0},  # 1 + 1 + 3, and 2 + 2 + 1
        "its own value": {6.0},  # 2 + 2 + 2 at triple
    }


def test_a_forgotten_factor_a_sign_and_a_sum_for_a_mean():
    x = variable("x", 3.0)
    assert wrong_answers(build(loss(square(1.0 - x), name="L")), "x") == {
        "sign": {-4.0},
        "forgotten factor": {2.0},
        "upstream unchanged": {-1.0},
    }
    v = variable("v", [1.0, 5.0])
    timeline = record(Session(build(loss(mean(v), name="L"))))
    way = Backpropagation(timeline)
    (wrong,) = way.misconceptions()
    assert wrong.name == "sum for mean"
    assert way.gradients(wrong)["v"].tolist() == [1.0, 1.0]


def test_a_stop_is_ignored_by_one_who_sees_only_its_value():
    w = variable("w", 3.0)
    found = wrong_answers(build(loss(w * stop_gradient(w, name="stop"), name="L")), "w")
    assert found["stop ignored"] == {6.0}


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("seed", range(8))
def test_no_question_is_ambiguous(seed):
    for made in (*map(diagram, ("fan_out", "gan", "straight_through")), Random(seed).diagram()):
        for question in quiz(Session(made), 40, seed):
            texts = [option.text for option in question.options]
            assert len(set(texts)) == len(texts) >= 3
            assert sum(option.is_right for option in question.options) == 1
            assert all(option.feedback for option in question.options)


def test_the_answer_is_the_gradient_at_the_numbers_that_the_question_gives():
    for question in quiz(Session(fan_out()), 6, 3, kinds=[QuestionKind.GRADIENT]):
        session = Session(fan_out())
        session.set("w", float(question.values["w"].replace("−", "-")))
        right = session.backward().gradients["w"]
        assert question.options[question.answer].text == amount(right)


def test_none_is_asked_about_too():
    b = variable("b", 2.0)
    made = build(loss(variable("a", 1.0) + stop_gradient(3.0 * b, name="stop"), name="L"))
    (question,) = (
        q for q in quiz(Session(made), 2, 1, kinds=[QuestionKind.GRADIENT]) if q.place == "b"
    )
    texts = {option.text: option.misconception for option in question.options}
    assert texts == {"None": "", "0": "None for 0", "3": "stop ignored"}


def stopped():
    """loss(a·x + sg(b·x)): b gets a gradient only if sg is opened; c never does."""
    x = variable("x", 2.0)
    return build(
        loss(variable("a", 3.0) * x + stop_gradient(variable("b", 5.0) * x, name="sg"), name="L"),
        variable("c", 1.0),
    )


def test_none_beside_zero_and_a_number():
    made = build(loss(0.0 * variable("z", 1.0) + variable("a", 1.0) ** 2, name="L"),
                 variable("n", 1.0))  # fmt: skip
    asked = quiz(Session(made), 9, 1, kinds=[QuestionKind.PRESENCE])
    right = {q.place: q.options[q.answer].text for q in asked}
    assert right == {"z": "0", "a": "a number other than 0", "n": "None"}
    assert all({o.text for o in q.options} == {*right.values()} for q in asked)


def test_values_and_what_would_be_computed_by_other_operations():
    asked = quiz(Session(fan_out()), 40, 1, kinds=[QuestionKind.VALUE])
    question = next(q for q in asked if q.place == "triple.out" and q.values["w"] == "2")
    texts = {o.text: o.misconception for o in question.options}
    assert texts.pop("6") == ""
    assert {"5": "sum for product", "1": "gradient for value", "−6": "sign", "0": "value stopped",
            "3": "one factor only", "2": "one factor only"}.items() >= texts.items()  # fmt: skip


def test_states_are_those_of_the_wires():
    session = Session(stopped())
    flow = record(session).steps.observed
    asked = quiz(session, 40, 1, kinds=[QuestionKind.STATE])
    assert {q.options[q.answer].text for q in asked} >= {"Carries gradient", "Stopped"}
    for question in asked:
        assert question.options[question.answer].text == flow.state(question.place).row.title


def test_what_an_opened_stop_would_change():
    session = Session(stopped())
    (question,) = quiz(session, 9, 1, kinds=[QuestionKind.WHAT_IF])
    assert question.text == "If sg were opened, which variables would get a gradient?"
    after = WhatIf(session).open("sg").compare().variables()
    got = ", ".join(name for name, found in after.items() if found.after is not None)
    texts = {o.text: o.misconception for o in question.options}
    assert texts[got] == ""
    assert set(got.split(", ")) == {"a", "x", "b"}
    wrong = {"a, x": "opened stops change nothing", "b": "only what is behind the stop counts"}
    assert texts.items() >= {(k, v) for k, v in wrong.items() if k in texts}
    assert len(texts) >= 3


def test_the_kinds_take_turns():
    assert len({q.kind for q in quiz(Session(stopped()), 5, 1)}) == 5


def test_the_same_seed_asks_the_same_and_another_asks_other_questions():
    assert quiz(Session(fan_out()), 5, 7) == quiz(Session(fan_out()), 5, 7)
    assert quiz(Session(fan_out()), 5, 7) != quiz(Session(fan_out()), 5, 8)


def test_the_session_stays_as_it_is():
    session = Session(fan_out())
    quiz(session, 5, 1)
    assert session.values["w"] == 2.0
    assert session.gradients == {}


def test_what_cannot_be_asked():
    with pytest.raises(RunError, match="has questions"):
        quiz(Session(fan_out()), 0)
    with pytest.raises(RunError, match="no loss"):
        quiz(Session(build(variable("x", [1.0, 2.0]) * 2.0)))
