"""Patterns with wildcards, compared with the standard library's and with hostile ones."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradwire.blocks.globs import _tokens, captures, glob

PATTERNS = st.text("ab*?[]!-^", max_size=9)


@given(PATTERNS, st.text("ab[]!-^", max_size=7))
@example("[!]]", "a")
@example("[]]", "]")
@example("[", "[")
@example("*[a-b]?", "]b-")
def test_a_pattern_names_what_the_standard_library_says(pattern, text):
    assert glob(pattern).matches(text) is fnmatchcase(text, pattern)


@pytest.mark.night
@pytest.mark.parametrize("pattern", ["*a" * 300 + "b", "?" * 5_000 + "b", "*[a-b]" * 200 + "c"])
def test_each_character_is_looked_at_once(pattern):
    looked = 0

    class Counted(str):
        def __iter__(self):
            nonlocal looked
            for character in str(self):
                looked += 1
                yield character

    assert not glob(pattern).matches(Counted("a" * 20_000))
    assert looked <= 20_000


@given(st.text("ab*?[]!-", max_size=8), st.text("ab", max_size=8))
def test_captures_put_in_place_of_wildcards_give_the_text(pattern, text):
    if not glob(pattern).matches(text):
        return
    found = list(captures(pattern, text))
    parts = [token if isinstance(token, str) else found.pop(0) for token in _tokens(pattern)]
    assert "".join(parts) == text
    assert found == []


def test_earlier_stars_capture_as_little_as_possible():
    assert captures("*a*", "bab") == ("b", "b")
    assert captures("W*_ema", "W12_ema") == ("12",)
    assert captures("x?[ab]*", "xyacd") == ("y", "a", "cd")
    assert captures("x", "x") == ()
