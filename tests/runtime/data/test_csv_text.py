"""No cell of a table is a formula, and tables are written in one place."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.data.files.csv_text import csv_text, guarded, unguarded

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "start",
    ["=", "+", "-", "@", "\t", "\r", "\n", "  =", "\u00a0=", "\ufeff=", "\uff1d", "\uff0d"],
)
def test_a_formula_gets_an_apostrophe(start: str) -> None:
    assert guarded(f"{start}cmd|'/C calc'!A0") == f"'{start}cmd|'/C calc'!A0"


def test_a_number_stays_one_and_a_text_that_looks_like_one_is_a_text() -> None:
    row = (-1.5, -0.0, float("-inf"), float("nan"), 10**20, None, "-1", "")
    assert csv_text([row]) == "-1.5,-0.0,-inf,nan,100000000000000000000,,'-1,\n"


@given(st.text().filter(lambda text: not text.startswith("'")))
def test_what_is_guarded_is_what_it_was_again(text: str) -> None:
    assert unguarded(guarded(text)) == text


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2), max_size=5))
def test_every_cell_is_there_again(rows: list[list[str]]) -> None:
    text = csv_text(rows, end="\r\n")
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [[*map(guarded, row)] for row in rows]


def test_nothing_else_writes_tables() -> None:
    for floor in ("app", "runtime", "blocks"):
        for path in (ROOT / floor).rglob("*.py"):
            if path.name != "csv_text.py":
                text = path.read_text(encoding="utf-8")
                assert "csv.writer" not in text and "DictWriter" not in text, path
