import json

from gradwire.blocks.errors import Location, ParameterError, ShapeError
from gradwire.runtime.diagram import Diagnostic

PROBLEM = Diagnostic(
    "error",
    Location("encoder", "mul1", "a"),
    "Nothing here.",
    expected="a wire",
    got="none",
    next_step="Wire it.",
    code="missing-input",
)


def test_it_reads_like_an_error():
    text = "encoder: mul1.a: Nothing here. Expected a wire, got none. Wire it."
    assert str(PROBLEM) == text
    error = ShapeError("No.", location=Location("main", "mul1"), expected="2", got="3")
    assert str(Diagnostic.from_error(error, "shape")) == str(error)


def test_json_is_flat():
    assert json.loads(json.dumps(PROBLEM.to_json())) == {
        "severity": "error",
        "code": "missing-input",
        "page": "encoder",
        "block": "mul1",
        "port": "a",
        "what": "Nothing here.",
        "expected": "a wire",
        "got": "none",
        "next_step": "Wire it.",
    }


def test_an_error_without_a_place_takes_the_one_given():
    found = Diagnostic.from_error(ParameterError("No."), "wrong-parameters", Location("main", "a"))
    assert (found.severity, found.location, found.code) == (
        "error", Location("main", "a"), "wrong-parameters",
    )  # fmt: skip
