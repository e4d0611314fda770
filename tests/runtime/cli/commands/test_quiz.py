"""``gradwire quiz``: questions in text and JSON."""

from __future__ import annotations

import pytest

from tests.examples.gallery import path


def test_questions_and_their_key(gradwire):
    done = gradwire("quiz", path("fan_out"), "--count", "3", "--about", "gradient")
    assert done.code == 0 and done.err == ""
    assert done.out.count("What is ∂(loss)/∂w?") == 3
    assert "Answers" not in done.out
    key = gradwire("quiz", path("fan_out"), "--count", "3", "--about", "gradient", "--answers").out
    assert key.startswith(done.out.rstrip())
    assert "Answers" in key


def test_json_has_the_answers_and_a_seed_is_repeatable(gradwire):
    options = ("quiz", path("fan_out"), "--count", "4", "--seed", "5", "--json")
    report = gradwire(*options).json
    assert (report["report"], report["version"], report["seed"]) == ("quiz", 4, 5)
    for question in report["questions"]:
        assert question["options"][question["answer"]]["misconception"] is None
    assert gradwire(*options).json == report
    assert gradwire(*options[:-1], "--format", "json").json == report


@pytest.mark.parametrize(
    ("written", "begin"), [("gift", "$CATEGORY: "), ("moodle", "<?xml"), ("aiken", "W")]
)
def test_formats_of_platforms(gradwire, written, begin):
    done = gradwire("quiz", path("fan_out"), "--format", written)
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(begin)


def test_only_the_kinds_that_are_wanted(gradwire):
    report = gradwire("quiz", path("fan_out"), "--about", "state", "--about", "value", "--json")
    assert {q["kind"] for q in report.json["questions"]} == {"state", "value"}


def test_a_count_below_one_is_bad_usage(gradwire, seed):
    assert gradwire("quiz", seed, "--count", "0").code == 2
