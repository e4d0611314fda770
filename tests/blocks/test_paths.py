"""Paths of leaves as text, and the patterns that select them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.paths import effort, matches, parse_path, path_text

KEYS = st.text(max_size=4) | st.sampled_from(["", "%", "/", "*", "**", "?", ":", ",", " ", "%2F"])
PATHS = st.lists(KEYS, max_size=4).map(tuple)


@given(PATHS)
def test_any_path_can_be_written_and_read_back(path: tuple[str, ...]) -> None:
    assert parse_path(path_text(path)) == path


@given(PATHS, PATHS)
def test_a_path_as_a_pattern_selects_itself_and_what_lies_below(
    path: tuple[str, ...], other: tuple[str, ...]
) -> None:
    assert matches(path_text(path), path)
    assert matches(path_text(path), path + other)
    assert matches(path_text(path), other) == (other[: len(path)] == path)


@given(PATHS)
def test_the_written_path_can_be_part_of_a_name(path: tuple[str, ...]) -> None:
    assert ":" not in path_text(path)


@pytest.mark.parametrize(
    ("pattern", "selected"),
    [
        ("enc", "enc enc/w enc/l1/w"),
        ("enc/", "enc enc/w enc/l1/w"),
        ("enc/*", "enc/w enc/l1/w"),
        ("enc*", "enc enc/w enc/l1/w encoder2/w"),
        ("*/w", "enc/w encoder2/w"),
        ("**/w", "enc/w enc/l1/w encoder2/w dec/layers/0/w"),
        ("*/l1/?", "enc/l1/w"),
        ("dec/layers/0", "dec/layers/0/w"),
        ("dec/**/1/**", "dec/layers/1"),
        ("**/**/1/**/**", "dec/layers/1"),
        ("dec/**/**", "dec/layers/0/w dec/layers/1"),
        ("**", "enc enc/w enc/l1/w encoder2/w dec/layers/0/w dec/layers/1"),
        ("", "enc enc/w enc/l1/w encoder2/w dec/layers/0/w dec/layers/1"),
        ("en", ""),
        ("w", ""),
        ("enc/w/x", ""),
        ("e?c", "enc enc/w enc/l1/w"),
        ("[e]nc", ""),
    ],
)
def test_patterns_match_whole_parts(pattern: str, selected: str) -> None:
    paths = ["enc", "enc/w", "enc/l1/w", "encoder2/w", "dec/layers/0/w", "dec/layers/1"]
    assert [p for p in paths if matches(pattern, parse_path(p))] == selected.split()


def test_a_key_of_a_sequence_is_its_number() -> None:
    assert path_text(("layers", 0, "w")) == "layers/0/w"
    assert matches("layers/0", ("layers", 0, "w"))
    assert not matches("layers/1", ("layers", 0, "w"))


def test_a_hostile_pattern_takes_no_longer_than_its_length() -> None:
    assert not matches("*a" * 200 + "b", ("a" * 10_000,))
    assert not matches("**/" * 400 + "b", ("a",) * 400)


def test_effort_counts_comparisons_of_parts() -> None:
    paths = [("a", "b"), ("c",)]
    assert effort(["a/b/c", "x"], paths) == 2 * 3
    assert effort(["a/**/c"], paths) == 3 * 3
    assert effort(["**/**/**"], paths) == 1 * 3
    assert effort(["**", "*"], []) == 0
