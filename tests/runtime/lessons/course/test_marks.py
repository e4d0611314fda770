"""Marks: computed by playing the answers again, and never for a file that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gradwire.runtime.lessons.answers import Answer, sealed
from gradwire.runtime.lessons.course.marks import ClassMarks, mark_class
from gradwire.runtime.lessons.walk import Walk
from tests.runtime.lessons.lessons import taught

RIGHT = [
    None,
    Answer(text="2", confidence=90),
    Answer(painted={"mul1.a": "CARRIES", "mul1.b": "STOPPED"}, confidence=70),
    Answer(values={"x": 10}, open={"sg": True}),
    None,
    Answer(option=0),
]
"""Answers by step; the drawing is left out, so that the gradient is not stopped in the end."""


def played(learner: str, answers: list[Answer | None], hints: int = 0, seed: int = 0) -> Any:
    """The record of a learner's answers."""
    walk = Walk(taught(), seed)
    for answer in answers:
        for _ in range(hints if walk.index == 1 else 0):
            walk.hint()
        if answer is not None:
            walk.answer(answer)
        walk.advance()
    return walk.answers(learner)


@pytest.fixture
def marked(tmp_path: Path) -> Any:
    def mark(*records: Any) -> ClassMarks:
        files = []
        for number, record in enumerate(records):
            files.append(tmp_path / f"{number}.json")
            text = record if isinstance(record, str) else json.dumps(record)
            files[-1].write_text(text, encoding="utf-8")
        return mark_class(taught(), files)

    return mark


def test_a_class_is_marked(marked: Any) -> None:
    wrong = [None, Answer(text="3", confidence=100), Answer(painted={"mul1.b": "ZERO"})]
    found = marked(played("Ada", RIGHT), played("Bo", wrong, hints=2), played("Cy", []))
    assert found.refused == ()
    ada, bo, cy = found.learners
    assert [step.points for step in ada.steps] == [4, 4, 4, 0, 4]
    assert (ada.points, ada.most, ada.confidence, ada.right) == (16, 20, 80, 100)
    assert [step.points for step in bo.steps] == [0, 0, 0, 0, 0]
    assert (bo.hints, bo.confidence, bo.right) == (2, 100, 0)
    assert bo.misconceptions == ("its own value", "None for 0")
    assert [step.answered for step in cy.steps] == [False] * 5
    assert (cy.points, cy.confidence, cy.right) == (0, None, None)
    assert found.misconceptions == [("None for 0", 1), ("its own value", 1)]


def test_numbers_of_a_seed_are_marked_as_the_learner_saw_them(marked: Any) -> None:
    walk = Walk(taught(), 3)
    walk.advance()
    number = str(float(walk.facts.value("x")))
    found = marked(played("Ada", [None, Answer(text=number)], seed=3))
    assert found.learners[0].steps[0].points == 4
    other = sealed(played("Bo", [None, Answer(text=number)], seed=3) | {"seed": 0})
    assert marked(other).learners[0].steps[0].points < 4


def test_two_files_of_one_learner_are_both_refused(marked: Any) -> None:
    found = marked(played("Ada  Lovelace", RIGHT), played("ada LOVELACE", []), played("Bo", []))
    assert [each.learner for each in found.learners] == ["Bo"]
    assert len(found.refused) == 2
    assert "more than one file of 'Ada  Lovelace'" in str(found.refused[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lesson": "0" * 64}, "These answers are to another lesson"),
        ({"steps": [{"step": 9, "answer": "1"}]}, "The lesson has no step 9. Expected 1 to 6."),
        ({"steps": [{"step": 1, "answer": "1"}]}, "This step asks nothing."),
        ({"steps": [{"step": 2, "answer": "two"}]}, "This is no answer to the question."),
        ({"steps": [{"step": 2, "option": 1}]}, "an answer to another kind of step"),
        ({"steps": [{"step": 3, "painted": {"q.a": "ZERO"}}]}, "q.a is not asked for."),
        ({"steps": [{"step": 4, "values": {"w": 1}}]}, "w is not to be changed"),
        ({"steps": [{"step": 4, "values": {"x": [[1, 2], [3]]}}]}, "does not fit the lesson"),
        ({"steps": [{"step": 6, "option": 5}]}, "There is no such option."),
        ({"steps": [{"step": 3, "hints": 1}]}, "More hints are counted than there are."),
        ({"seed": -1}, "'seed' is not a whole number in its range."),
    ],
)
def test_what_does_not_fit_is_refused_and_gets_no_mark(
    marked: Any, changes: dict[str, Any], message: str
) -> None:
    found = marked(sealed(played("Ada", []) | changes), played("Bo", []))
    assert [each.learner for each in found.learners] == ["Bo"]
    (error,) = found.refused
    assert message in str(error)
    assert error.path is not None and error.path.endswith("0.json")
    assert error.next_step or error.expected


def test_what_was_changed_by_hand_is_refused(marked: Any) -> None:
    text = json.dumps(played("Ada", RIGHT)).replace('"answer": "2"', '"answer": "3"')
    (error,) = marked(text).refused
    assert "changed after they were saved" in str(error)
