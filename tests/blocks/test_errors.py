"""The tree of errors: drawn, exported, and told with place, expectation and next step."""

from __future__ import annotations

import inspect
import re

import pytest

from gradwire.blocks import errors
from gradwire.blocks.errors import (
    MOST_QUOTED,
    FileError,
    GradwireError,
    Location,
    ShapeError,
    reason_of,
)


def test_all_errors_are_exported_and_drawn() -> None:
    classes = {
        name
        for name, item in vars(errors).items()
        if inspect.isclass(item) and item.__module__ == errors.__name__
    }
    assert set(errors.__all__) == classes
    drawn = re.findall(r"[├└]── (\w+)|^\s*(GradwireError)$", errors.__doc__, re.MULTILINE)
    assert {a or b for a, b in drawn} == classes - {"Location"}


def test_the_drawing_is_the_tree() -> None:
    parents = {-1: "GradwireError"}
    for line in inspect.cleandoc(errors.__doc__).splitlines():
        if found := re.match(r"([│ ]*)[├└]── (\w+)", line):
            depth = len(found[1]) // 4
            assert getattr(errors, found[2]).__bases__ == (getattr(errors, parents[depth - 1]),)
            parents[depth] = found[2]


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (Location(), "diagram"),
        (Location("main"), "main"),
        (Location("main", "mul1"), "mul1"),
        (Location("main", "mul1", "a"), "mul1.a"),
        (Location("encoder", "W1", "out"), "encoder: W1.out"),
        (Location("encoder"), "encoder"),
    ],
)
def test_locations(location: Location, text: str) -> None:
    assert str(location) == text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "It failed."),
        ({"expected": "3"}, "It failed. Expected 3."),
        ({"got": "4"}, "It failed. Got 4."),
        ({"expected": "3", "got": "4"}, "It failed. Expected 3, got 4."),
        ({"got": "4", "next_step": "Do less."}, "It failed. Got 4. Do less."),
        ({"location": Location(block="mul1")}, "mul1: It failed."),
    ],
)
def test_messages(parts: dict[str, object], text: str) -> None:
    assert str(GradwireError("It failed.", **parts)) == text


def test_a_place_that_is_known_stays() -> None:
    error = ShapeError("It failed.", location=Location(port="a"))
    assert error.at(Location("main", "mul1", "b")) is error
    assert error.location == Location("main", "mul1", "a")


def test_files_have_lines_and_columns() -> None:
    assert str(FileError("No.", path="x.json", line=3, column=7)) == "x.json:3:7: No."
    assert str(FileError("No.", line=3)) == "3: No."
    assert str(FileError("No.")) == "No."


def test_a_message_quotes_the_beginning_of_what_is_long() -> None:
    long = "x" * 10_000_000
    error = FileError(long, location=Location(block=long), expected=long, got=long, next_step=long)
    assert len(str(error)) < 6 * MOST_QUOTED
    assert error.what == "x" * (MOST_QUOTED - 1) + "…"
    assert GradwireError("x" * MOST_QUOTED).what == "x" * MOST_QUOTED


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "There is not enough memory"),
        (MemoryError("Unable to allocate 3 TiB"),
         "There is not enough memory. Unable to allocate 3 TiB"),
        (ValueError("no\nand more"), "ValueError: no"),
        (KeyError(), "KeyError"),
        (RuntimeError("x" * 1000), "RuntimeError: " + "x" * (MOST_QUOTED - 15) + "…"),
    ],
)  # fmt: skip
def test_what_other_errors_say(error: Exception, reason: str) -> None:
    assert reason_of(error) == reason
