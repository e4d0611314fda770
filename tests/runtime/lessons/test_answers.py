"""Files of answers: what is written is read again, and whatever is wrong is found."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import MoveBlocks, Point, apply
from gradwire.runtime.lessons.answers import (
    MAX_ANSWER,
    Answer,
    canonical,
    lesson_digest,
    parse_sheet,
    read_sheet,
    sealed,
)
from gradwire.runtime.lessons.walk import Walk
from tests.runtime.lessons.lessons import taught


def record(**fields: Any) -> dict[str, Any]:
    """Answers with a hint and an answer, sealed; with other fields in their place."""
    walk = Walk(taught(), 7)
    walk.advance()
    walk.hint()
    walk.answer(Answer(text="3", confidence=80))
    return sealed(walk.answers("Ada") | fields)


def test_what_is_written_is_read_again() -> None:
    sheet = parse_sheet(json.dumps(record()))
    assert (sheet.learner, sheet.seed, sheet.title) == ("Ada", 7, "Stops")
    assert sheet.lesson == lesson_digest(taught())
    assert sheet.answers == {2: Answer(text="3", confidence=80)}
    assert sheet.hints == {2: 1}


def test_every_kind_of_answer_is_read_again() -> None:
    answers = [
        Answer(painted={"mul1.a": "ZERO"}),
        Answer(values={"w": 2.5, "v": [[1.0, 2.0]]}, open={"sg": True}),
        Answer(option=1),
        Answer(diagram=replace(taught(), lesson=None)),
    ]
    steps = [answer.to_record(i, 0) for i, answer in enumerate(answers, 1)]
    read = parse_sheet(json.dumps(record(steps=steps)))
    assert [read.answers[i] for i in (1, 2, 3)] == answers[:3]
    assert read.answers[4].diagram is not None
    assert read.answers[4].diagram.main.blocks == taught().main.blocks


def test_answers_of_version_1_have_older_names_of_states() -> None:
    steps = [Answer(painted={"mul1.a": "FLOOD", "mul1.b": "ZERO"}).to_record(1, 0)]
    read = parse_sheet(json.dumps(record(gradwire_answers=1, steps=steps)))
    assert read.answers[1].painted == {"mul1.a": "EXPLODING", "mul1.b": "ZERO"}


def test_a_lesson_is_the_same_in_every_version_of_the_format() -> None:
    """Answers and progress that were saved with version 2 belong to it still."""
    digest = "1ea5b6088a7831508d42df12f59289af30a950ca7a1a1c4c483ae8c101383a8c"
    assert lesson_digest(taught()) == digest


def test_layout_makes_no_difference_to_a_lesson_and_a_number_does() -> None:
    moved = apply(taught(), MoveBlocks({"w": Point(5, 5)})).after
    assert lesson_digest(moved) == lesson_digest(taught())
    assert lesson_digest(taught(minutes=6)) != lesson_digest(taught())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1.0, "a": [1, True, None]}, '{"a":[1,true,null],"b":1}'),
        ({"é": "é\n\"", "\U0001f600": 1, "\uffff": 2}, '{"é":"é\\n\\"","\U0001f600":1,"\uffff":2}'),
        ([0.1, -2.5, 1e-6, 1.5e-6, 1e-7, 1.25e-7], "[0.1,-2.5,0.000001,0.0000015,1e-7,1.25e-7]"),
        ([1e20, 1e21, 1.5e300, 123456789012345680000, -0.0],
         "[100000000000000000000,1e+21,1.5e+300,123456789012345680000,0]"),
        ("\ud800", '"\\ud800"'),
    ],
)  # fmt: skip
def test_canonical_json_is_as_javascript_writes_it(value: Any, text: str) -> None:
    """What JSON.stringify gives for the same data with sorted keys."""
    assert canonical(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_canonical_numbers_are_read_as_the_same_numbers(value: float) -> None:
    if abs(value) < 1e300:
        assert float(canonical(value)) == value
        assert ".0" != canonical(value)[-2:]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gradwire_answers": 3}, "This is no file of answers."),
        ({"learner": "  "}, "The answers need the name of a learner."),
        ({"learner": "x" * 201}, "Expected 1 to 200 characters"),
        ({"seed": -1}, "'seed' is not a whole number in its range. Expected 0 to 4294967295"),
        ({"seed": "7"}, "'seed' is not a whole number in its range."),
        ({"seed": True}, "'seed' is not a whole number in its range."),
        ({"marks": 100}, "There is no field 'marks' here."),
        ({"steps": {}}, "'steps' is not a list."),
        ({"steps": [{"step": 0}]}, "'step' is not a whole number in its range."),
        ({"steps": [{"answer": "1"}]}, "'steps' is not a whole number in its range."),
        ({"steps": [{"step": 2}, {"step": 2}]}, "Step 2 is answered twice."),
        ({"steps": [{"step": 2, "points": 4}]}, "There is no field 'points' here."),
        ({"steps": [{"step": 2, "answer": 3}]}, "'answer' is not a string."),
        ({"steps": [{"step": 2, "answer": "1" * (MAX_ANSWER + 1)}]}, "The answer is too long."),
        ({"steps": [{"step": 2, "confidence": 101}]}, "'confidence' is not a whole number"),
        ({"steps": [{"step": 2, "option": -1}]}, "'option' is not a whole number in its range."),
        ({"steps": [{"step": 2, "values": {"w": "=1"}}]}, "'w' is no number."),
        ({"steps": [{"step": 2, "values": {"w": [[[[1]]]]}}]}, "'w' is no number."),
        ({"steps": [{"step": 2, "open": {"sg": 1}}]}, "'sg' is neither true nor false."),
        ({"steps": [{"step": 2, "diagram": {"gradwire": 3}}]}, "The diagram can't be read"),
    ],
)
def test_what_is_malformed_has_a_clear_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_sheet(json.dumps(record(**fields)), "ada.json")
    assert message in str(caught.value)
    assert caught.value.line is not None


def test_a_record_that_was_changed_by_hand_is_found() -> None:
    text = json.dumps(record()).replace('"answer": "3"', '"answer": "2"')
    with pytest.raises(FileError, match="changed after they were saved"):
        parse_sheet(text)
    with pytest.raises(FileError, match="The field 'digest' is missing"):
        parse_sheet(json.dumps({k: v for k, v in record().items() if k != "digest"}))


@pytest.mark.parametrize("text", ["", "[]", "null", '{"gradwire": 3}', "{" * 200, '{"a": NaN}'])
def test_what_is_no_file_of_answers(text: str) -> None:
    with pytest.raises(FileError):
        parse_sheet(text)


def test_a_file_that_can_not_be_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="can't be read"):
        read_sheet(tmp_path / "none.json")
    (tmp_path / "b.json").write_bytes(b"\xff")
    with pytest.raises(FileError, match="not UTF-8"):
        read_sheet(tmp_path / "b.json")
    monkeypatch.setattr("gradwire.runtime.lessons.answers.MAX_BYTES", 10)
    (tmp_path / "c.json").write_text(json.dumps(record()), encoding="utf-8")
    with pytest.raises(FileError, match="Expected at most 10 bytes"):
        read_sheet(tmp_path / "c.json")
