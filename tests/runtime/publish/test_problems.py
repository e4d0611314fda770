"""Problems say what, where, expected, got and what to do."""

from __future__ import annotations

from gradwire.blocks.errors import FileError, GradwireError, Location, ShapeError
from gradwire.runtime.publish.problems import Problem


def test_an_error_of_a_block():
    error = ShapeError(
        "Shapes don't fit.",
        location=Location("main", "mul1", "a"),
        expected="(2,)",
        got="(3,)",
        next_step="Reshape it.",
    )
    problem = Problem.of_error(error, "d.json")
    assert problem.text().splitlines() == [
        "d.json: error: mul1.a: Shapes don't fit.",
        "    expected  (2,)",
        "    got       (3,)",
        "    next      Reshape it.",
    ]
    assert problem.to_json() == {
        "severity": "error",
        "code": "ShapeError",
        "file": "d.json",
        "line": None,
        "column": None,
        "page": "main",
        "block": "mul1",
        "port": "a",
        "what": "Shapes don't fit.",
        "expected": "(2,)",
        "got": "(3,)",
        "next_step": "Reshape it.",
    }


def test_an_error_of_a_file_has_line_and_column():
    error = FileError("Not JSON.", path="d.json", line=3, column=7)
    assert Problem.of_error(error, "other").text() == "d.json:3:7: error: Not JSON."


def test_without_a_place_the_program_speaks():
    assert Problem.of_error(GradwireError("No.")).text() == "gradwire: error: No."
