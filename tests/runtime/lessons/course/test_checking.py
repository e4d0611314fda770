"""What is wrong with a lesson is found, step by step, and nothing is wrong with a good one."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.runtime.lessons.course.checking import check_lesson
from tests.runtime.lessons.lessons import RECORD, plain, taught, with_step

GOOD: list[dict[str, Any]] = [*RECORD["steps"][:5], {"do": "show", "play": "all"},
                              RECORD["steps"][5]]  # fmt: skip


def messages(diagram: Any, severity: str = "error") -> list[str]:
    found = check_lesson(diagram)
    return [str(each.diagnostic) for each in found if each.diagnostic.severity == severity]


def test_nothing_is_wrong_with_a_good_lesson() -> None:
    assert check_lesson(taught(steps=GOOD)) == []
    assert check_lesson(plain()) == []


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"do": "show", "text": "It is {grad('q')}."}, "no variable 'q'. In: It is {⟨here⟩"),
        ({"do": "show", "text": "It is {1 +}."}, "This is not an expression."),
        ({"do": "show", "hints": ["{"]}, "This brace is never closed."),
        ({"do": "show", "feedback": {"sign": "{x}"}}, "'x' means nothing here."),
        ({"do": "show", "after": "{1 + grad('x')}"}, "grad('x') is None"),
        ({"do": "show", "look": ["q"]}, "There is no block, port or wire 'q' to look at."),
        ({"do": "show", "losses": ["q"]}, "It can't be played: "),
        ({"do": "show", "setup": {"q": 1}}, "'q' can't be set"),
        ({"do": "show", "setup": {"sg": 1}}, "'sg' can't be set so."),
        ({"do": "predict"}, "It asks for one thing: a gradient or a value."),
        ({"do": "predict", "gradient": "w", "value": "w"}, "It asks for one thing"),
        ({"do": "predict", "gradient": "q"}, "There is no variable 'q'."),
        ({"do": "predict", "value": "q"}, "There is no value 'q'."),
        ({"do": "predict", "gradient": "w", "wrong": [{"answer": "value('x')"}]},
         "The wrong answer value('x') is the right one."),
        ({"do": "predict", "gradient": "x", "wrong": [{"answer": "None"}]},
         "The wrong answer None is the right one."),
        ({"do": "predict", "gradient": "w", "wrong": [{"answer": "3", "feedback": "{"}]},
         "This brace is never closed."),
        ({"do": "predict", "gradient": "w", "wrong": [{"answer": "value('q')"}]},
         "There is no value 'q'."),
        ({"do": "paint"}, "There are no wires to paint."),
        ({"do": "paint", "wires": ["q.a"]}, "There is no wire 'q.a'."),
        ({"do": "paint", "wires": ["mul1.a"], "states": ["DEAD"]}, "There is no state 'DEAD'."),
        ({"do": "paint", "wires": ["mul1.b"], "states": ["ZERO"]},
         "The wire into mul1.b is STOPPED, which is not offered."),
        ({"do": "change"}, "There are no goals."),
        ({"do": "change", "goals": ["grad('w') == 2"]}, "met before anything is done"),
        ({"do": "change", "goals": ["grad('q') == 2"]}, "There is no variable 'q'."),
        ({"do": "change", "goals": ["1 > 2"], "only": ["mul1"]},
         "'mul1' is neither a source of numbers nor a StopGradient."),
        ({"do": "build", "goals": ["flows(L)"]}, "This line is not a contract."),
        ({"do": "check"}, "A transfer question has two options at least."),
        ({"do": "check", "options": [{"text": "a", "holds": "1 > 0"}] * 2},
         "A transfer question has one right option. Expected one option that holds, got 2."),
        ({"do": "check", "options": [{"text": "a", "holds": "1 > 0"},
                                     {"text": "a", "holds": "1 < 0"}]},
         "Two options have the same text."),
        ({"do": "check", "options": [{"text": "a", "holds": "1"}, {"text": "b", "holds": "0 > 1"}]},
         "This is neither true nor false."),
    ],
)  # fmt: skip
def test_what_can_not_be_played_is_an_error(step: dict[str, Any], message: str) -> None:
    found = messages(with_step(**step))
    assert any(message in each for each in found), found
    assert all(each.startswith(("Lesson, step 1: ", "diagram: Lesson, step 1: ")) for each in found)


def test_a_goal_may_compute_with_what_is_none_and_a_drawing_with_what_is_not_there_yet() -> None:
    assert (
        messages(with_step(do="change", goals=["1 + grad('x') == 4"], after="{-grad('x')}")) == []
    )
    step = with_step(do="build", goals=["value('new') == 1"])
    assert messages(step) == []
    assert "A goal has no value before something is built" in messages(step, "info")[0]


def test_varied_numbers_are_tried() -> None:
    goals = [{"do": "change", "goals": ["value('w') == 5"]}]
    found = messages(taught(steps=goals, vary={"w": [2, 5]}))
    assert found == [
        "diagram: Lesson, step 1: With w = 5: All its goals are met before anything is done."
    ]
    assert "no source of a single number" in messages(taught(vary={"mul1": [2]}))[0]
    assert "can't be varied" not in str(messages(taught(vary={"w": [2] * 64})))


def test_a_lesson_that_lacks_something_gets_warnings() -> None:
    found = " ".join(
        messages(with_step(do="show", reveal=["why"], feedback={"sing": "x"}), "warning")
    )
    for part in (
        "Nothing is predicted or painted.", "There is nothing to change or to build.",
        "No step plays", "does not end with one transfer question", "It reveals why",
        "There is no misconception 'sing'. Did you mean sign?",
    ):  # fmt: skip
        assert part in found
    step = {"do": "show", "setup": {"w": 1}}
    assert "sets w before anything is asked" in str(messages(taught(steps=[step]), "warning"))
