"""Expressions: what they are worth, where they are wrong, and that nothing is executed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.build import build, loss, mul, stop_gradient, variable
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.conditions import parse_condition, parse_goal
from gradwire.runtime.lessons.expressions.evaluation import equal
from gradwire.runtime.lessons.expressions.facts import Facts
from gradwire.runtime.lessons.expressions.goals import asked_about
from gradwire.runtime.lessons.expressions.grammar import ConditionError
from gradwire.runtime.lessons.texts import filled, parse_text


def facts(losses=()):
    """L = w·SG(w) + Σ v², with w = 3 and v = (1, −2); M = 2f with f frozen."""
    w, v, f = variable("w", 3.0), variable("v", [1.0, -2.0]), variable("f", 1.0, trainable=False)
    product = mul(w, stop_gradient(w, name="sg"), name="mul1")
    whole = loss(product + (v * v).sum(), name="L")
    return Facts(Session(build(whole, loss(f * 2.0 + 0.0 * w, name="M"))), losses)


def check(*conditions):
    """A question with an option for each condition."""
    options = [{"text": f"{i}", "holds": holds} for i, holds in enumerate(conditions)]
    return {"do": "check", "options": options}


FACTS = facts(["L"])


def test_older_names_of_states_are_read():
    huge = Facts(Session(build(loss(mul(variable("x", 1.0), 1e6, name="m"), name="L"))))
    for name in ("FLOOD", "EXPLODING"):
        assert parse_condition(f'state("m.a") == "{name}"').holds(huge)
        assert not parse_condition(f'"{name}" != state("m.a")').holds(huge)


@pytest.mark.parametrize(
    ("text", "worth"),
    [
        ('grad("w")', 3.0),
        ('grad("w", "M")', 0.0),
        ('grad("f")', None),
        ('grad("v")[1]', -4.0),
        ('grad("v")[-2] * 2 ** 3 / 4 - 1', 3.0),
        ('grad("mul1.out")', 1.0),
        ('value("mul1")', 9.0),
        ('value("mul1.out")', 9.0),
        ('state("mul1.b")', "STOPPED"),
        ('state("mul1.a")', "CARRIES"),
        ('open("sg")', False),
        ('-abs(min(grad("v")))', -4.0),
        ('sum(value("v"))', -1.0),
        ('mean(value("v"))', -0.5),
        ("max(1, 5, 2) - min(4, 3)", 2.0),
        ('norm(grad("v")) ** 2', 20.0),
        ('size(grad("v"))', 2.0),
        ("  1 + 1", 2.0),
        ("2 ** 5000", np.inf),
    ],
)
def test_what_an_expression_is_worth(text, worth):
    found = parse_condition(text).value(FACTS)
    assert type(found) is np.ndarray if isinstance(worth, float) else type(found) is type(worth)
    assert found == worth or np.isclose(found, worth)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('grad("w") == 3', True),
        ('grad("w") == 3.000001', True),
        ('grad("w") == 3.0001', False),
        ('grad("w") != 3', False),
        ('2 < grad("w") <= 3', True),
        ('2 < grad("w") < 3', False),
        ('grad("v") < 3', True),
        ('grad("v") > 0', False),
        ('grad("v") == 2 * value("v")', True),
        ('grad("v") == value("mul1")', False),
        ('grad("f") is None and grad("w") is not None', True),
        ('grad("f") == 0 or grad("f") < 1 or grad("f") > -1', False),
        ('grad("f") == grad("f")', False),
        ('state("mul1.b") == "STOPPED" and not open("sg")', True),
        ('open("sg") == False', True),
        ("0.1 + 0.2 == 0.3", True),
        ("0 == 1e-13", True),
        ("1e-9 == 2e-9", False),
        ("1 / 0 == 1 / 0", True),
        ("0 / 0 == 0 / 0", False),
        ("flows(L -> w)", True),
        ("blocked(L -> f)", True),
        ("blocked(L -> w)", False),
        ("nonzero(L -> w)", True),
        ("finite(* -> *)", True),
    ],
)
def test_what_holds(text, holds):
    assert parse_goal(text).holds(FACTS) is holds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            'grad("w") == 2 * grad("v")[0]',
            "The gradient of `w` is 3, and the gradient of `v` is [2, −4].",
        ),
        ('1 > 0 and grad("f") == 3', "The gradient of `f` is None."),
        ('not open("sg") and open("sg")', "`sg` is closed."),
        ("blocked(L -> w)", "Carries the gradient of L to w."),
    ],
)
def test_why_something_does_not_hold(text, reason):
    goal = parse_goal(text)
    assert not goal.holds(FACTS)
    assert goal.reason(FACTS).startswith(reason[:20])
    if not text.startswith("blocked"):
        assert goal.reason(FACTS) == reason


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("", 0, "This is not an expression."),
        ("1 +", 3, "This is not an expression."),
        ("w > 1", 0, "'w' means nothing here. Expected a path in quotes, as in value(\"w\")."),
        ('1 + grd("w")', 4, "There is no function 'grd'."),
        ("grad(w)", 5, "grad takes a path in quotes."),
        ('grad("a", "b", "c")', 0, "grad takes a path."),
        ('grad("w", loss="L")', 0, "This can't be in an expression."),
        ('grad("w") == None', 13, "None is compared by is"),
        ("1 is 2", 5, "None is compared by is"),
        ("None", 0, "None is only compared."),
        ('1 in value("v")', 5, "This is no comparison."),
        ("1 // 2", 0, "This can't be in an expression."),
        ("1 if 2 > 1 else 3", 0, "This can't be in an expression."),
        ("[1, 2]", 0, "This can't be in an expression."),
        ("(lambda: 1)()", 0, "This can't be in an expression."),
        ("1 .real", 0, "This can't be in an expression."),
        ('value("v")[0:1]', 11, "An index is a whole number"),
        ('"ß" == 1 + b', 11, "'b' means nothing here."),
        ("1e999", 0, "The number is too large."),
        ("9" * 390, 0, "The number is too large."),
        ("1j", 0, "This can't be in an expression."),
        ("abs(1, 2)", 0, "abs takes one argument."),
        ("1 + " * 99 + "1", 0, "The expression is too "),
        ("(" * 150 + "1" + ")" * 150, 0, ""),
        ("-" * 300 + "1", 25, "The expression is too complicated."),
        ("1" + " " * 400, 400, "The expression is too long."),
        ("\0", 1, "This is not an expression."),
        ("flows(L)", 0, "This line is not a contract."),
    ],
)
def test_what_is_no_expression(text, at, message):
    if not message:
        assert parse_condition(text).value(FACTS) == 1
        return
    with pytest.raises(ConditionError) as caught:
        parse_goal(text)
    assert message in str(caught.value)
    assert caught.value.offset == at


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ('1 + grad("f")', 4, 'grad("f") is None, and nothing can be computed with None.'),
        ('abs(grad("f")) > 1', 4, 'grad("f") is None'),
        ('1 + grad("q")', 4, "There is no variable 'q'."),
        ('value("mul")', 0, "There is no value 'mul'. Did you mean "),
        ('state("mul1.q")', 0, "There is no wire 'mul1.q'."),
        ('open("w")', 0, "There is no StopGradient 'w'."),
        ('grad("w", "q")', 0, "There is no loss 'q'"),
        ('value("v") + value("mul1")[0]', 13, "A single number has no elements."),
        ('value("v")[2]', 0, "There is no such element. Expected an index below 2."),
        ('open("sg") > 1', 0, "Only numbers are larger or smaller."),
        ('"a" + 1', 0, "Only numbers can be computed with."),
        ('"a" == 1', 7, "a can't be compared with 1."),
        ("1 and 2 > 1", 0, "This is neither true nor false. Got 1."),
    ],
)
def test_what_has_no_value(text, at, message):
    with pytest.raises(ConditionError) as caught:
        parse_condition(text).holds(FACTS)
    assert message in str(caught.value)
    assert caught.value.offset == at


def test_a_diagram_without_a_loss_has_values_and_no_gradients():
    bare = Facts(Session(build(variable("w", [3.0, 3.0]) * 2.0)))
    assert parse_condition('value("w") == 3').holds(bare)
    with pytest.raises(ConditionError, match="There is no loss"):
        parse_condition('grad("w")').value(bare)


def test_texts_with_numbers():
    text = 'w gets {grad("w")}, f {grad("f")}, v {grad("v")}; {{a}} {state("mul1.b")} {open("sg")}'
    assert filled(text, FACTS) == "w gets 3, f None, v [2, −4]; {a}} STOPPED false"
    assert filled("It is {'}' == '}'}.", FACTS) == "It is true."
    assert filled("", FACTS) == ""


def test_texts_ask_for_digits_behind_the_point():
    text = 'w {grad("w"):.2f}, f {grad("f"):.2f}, v {grad("v") / 16: .3f }, {state("mul1.b"):.1f}'
    assert filled(text, FACTS) == "w 3.00, f None, v [0.125, −0.250], STOPPED"
    assert filled("{1 / 8:.2f} {-1 / 8:.2f} {-1 / 1000:.2f} {5 / 2:.0f}", FACTS) == (
        "0.13 −0.13 0.00 3"
    )
    assert filled("{10 ** 20:.2f} {1 / 0:.1f}", FACTS) == "1e20 ∞"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("It is {1 + }.", 11),
        ("It is {1 + :.2f}.", 11),
        ("{1:.2g}", 4),
        ("It {grad('q')}", 4),
        ("a {1", 2),
        ("a {}", 3),
    ],
)
def test_an_expression_in_a_text_that_is_wrong_has_its_place_in_the_text(text, at):
    with pytest.raises(ConditionError) as caught:
        filled(text, FACTS)
    assert caught.value.offset == at


@given(st.text(alphabet='grad("w")[]+-*/<>=!.,0123 eisNonotabsuxmn{}\n\\', max_size=60))
def test_any_text_is_worth_something_or_an_error_with_a_place(text):
    for parse in (parse_goal, parse_text):
        try:
            found = parse(text)
        except ConditionError as error:
            assert 0 <= error.offset <= len(text)
            continue
        try:
            found.text(FACTS) if parse is parse_text else found.holds(FACTS)
        except ConditionError as error:
            assert 0 <= error.offset <= len(text)


def test_equality_is_symmetric_and_knows_infinities():
    numbers = np.array([0.0, 1.0, 1.0 + 5e-7, 1e-13, np.inf, -np.inf, np.nan])
    table = equal(numbers[:, None], numbers[None, :])
    assert np.array_equal(table, table.T)
    assert table[4, 4] and not table[4, 5] and not table[6, 6] and table[1, 2] and table[0, 3]


@pytest.mark.parametrize(
    ("step", "hidden"),
    [
        ({"do": "show"}, set()),
        ({"do": "predict", "gradient": "w"}, {"gradients", "states"}),
        ({"do": "predict", "value": "mul1"}, {"gradients", "values"}),
        ({"do": "paint", "wires": ["mul1.a"]}, {"gradients", "states"}),
        ({"do": "change", "goals": ["grad('w') == 2"]}, set()),
        (check("value('mul1') > 9", "not grad('w') is None"), {"gradients", "states"}),
        (check("1 < 2", "not (1 < 2 and state('mul1.a') == 'ZERO')"), {"gradients", "states"}),
        (check("max(value('mul1'), 1) > 9", "open('sg')"), {"values"}),
        (check("open('sg')", "not open('sg')"), set()),
    ],
)
def test_what_a_step_asks_about_is_hidden_until_it_is_answered(step, hidden):
    lesson = Lesson.model_validate({"goal": "Know.", "steps": [step]})
    assert asked_about(lesson.steps[0]) == hidden
