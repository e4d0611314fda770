"""Lessons as data: texts in parts, conditions and contracts as trees."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.runtime.engine.lowering import lower
from gradwire.runtime.lessons.answers import lesson_digest
from gradwire.runtime.lessons.conditions import parse_condition
from gradwire.runtime.publish.living.lesson import lesson_data, text_parts, tree_of
from tests.runtime.lessons.lessons import plain, taught


def lesson(**fields: Any) -> dict[str, Any]:
    diagram = taught(**fields)
    found: dict[str, Any] = lesson_data(diagram, lower(diagram))["lesson"]
    return found


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * -3", ["+", 1.0, ["*", 2.0, ["negative", 3.0]]]),
        ("grad('w', 'L') is not None", ["is not", ["grad", "w", "L"], None]),
        ("0 < value('x')[1] <= 4", ["chain", 0.0, "<", ["item", ["value", "x"], 1.0], "<=", 4.0]),
        ("not open('sg') and True or norm(value('x')) == 2",
         ["or", ["and", ["not", ["open", "sg"]], True], ["==", ["norm", ["value", "x"]], 2.0]]),
    ],
)  # fmt: skip
def test_an_expression_becomes_a_tree(text: str, tree: Any) -> None:
    assert tree_of(parse_condition(text).tree) == tree


def test_a_text_becomes_parts() -> None:
    assert text_parts("{{a} is {value('mul1')}.") == ["{", "a} is ", [["value", "mul1"]], "."]


def test_every_text_and_condition_of_a_lesson_is_data() -> None:
    found = lesson()
    show, predict, _, change, _, check = found["steps"]
    assert show["text"][0] == "The product is "
    assert predict["hints"][1] == ["The other factor is ", [["value", "x"]], "."]
    assert predict["feedback"]["its own value"][1] == [["value", "x"]]
    assert change["goals"][0] == {
        "text": "The gradient of `w` is as asked.",
        "tree": ["==", ["grad", "w"], 10.0],
    }
    assert check["options"][1]["holds"] == ["is", ["grad", "w"], None]
    assert check["withheld"] == ["gradients", "states"] and "withheld" not in predict


def test_a_contract_is_spelled_out_for_every_variable_and_loss() -> None:
    def goal(text: str) -> Any:
        return lesson(steps=[{"do": "change", "goals": [text]}])["steps"][0]["goals"][0]["tree"]

    w, x = (["grad", name, "L.out"] for name in "wx")
    flows = [["is not", gradient, None] for gradient in (w, x)]
    assert sorted(map(str, goal("flows(* -> *)")[1:])) == sorted(map(str, flows))
    assert goal("blocked(L -> x)") == ["and", ["not", ["is not", x, None]]]
    assert goal("flows(other -> w)") is False
    assert goal("nonzero(L -> mul1.a)")[1][1][0] == "or"


def test_answers_name_the_lesson_by_its_digest() -> None:
    assert lesson()["digest"] == lesson_digest(taught())


def test_a_diagram_without_a_lesson_has_no_such_data() -> None:
    assert lesson_data(plain(), lower(plain())) == {}
