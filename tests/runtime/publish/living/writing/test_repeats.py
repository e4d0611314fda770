"""What repeats in a table comes back as it was, and takes no room."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.publish.living.writing.repeats import FEWEST, repeats
from tests.runtime.publish.living.node import NODE, run

_UNFOLDED = "(work) => work.map(({rows, runs}) => new Folded(rows, runs).all)"


def step(k: int) -> list[list[Any]]:
    """Rows of a step: names and places that grow, and what is the same in all."""
    return [
        [f"s/{k}/h.x", 20 + 3 * k, {"of": [2 * k, 1]}],
        [f"s/{k + 1}/h.x2", 7, {"of": [0.5, None, True]}],
        [f"a step {k} of {100 - k}", -k, {}],
    ]


def packed(rows: list[Any]) -> dict[str, Any]:
    kept, runs = repeats(rows)
    return json.loads(json.dumps({"rows": kept, "runs": runs}))  # type: ignore[no-any-return]


def test_one_period_is_kept_however_many_there_are() -> None:
    first: list[Any] = [["before", 1]]
    few = repeats(first + [row for k in range(20) for row in step(k)] + [["after", 2]])
    many = repeats(first + [row for k in range(90) for row in step(k)] + [["after", 2]])
    assert few.rows == many.rows == [*first, *step(0), ["after", 2]]
    ((start, width, count, _),) = many.runs
    assert (start, width, count) == (1, 3, 90)


def test_what_grows_unevenly_or_seldom_is_kept() -> None:
    squares = [[f"s/{k}", k * k] for k in range(30)]
    assert repeats(squares).rows == squares
    seldom = [row for k in range(FEWEST - 1) for row in step(k)]
    assert repeats(seldom).rows == seldom


def test_rows_that_must_differ_are_in_no_run() -> None:
    rows = [[k] for k in range(40)]
    assert len(repeats(rows).rows) == 1
    kept, runs = repeats(rows, lambda place: place == 17)
    assert [17] in kept and [count for _, _, count, _ in runs] == [17, 22]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_tables_come_back(tmp_path: Path) -> None:
    tables: list[list[Any]] = [
        [row for k in range(12) for row in step(k)],
        [row for k in range(5, 40) for row in step(k)[: 2 + (k == 20)]],
        [[f"00{k}.5", f"0{k}", 1 - 3 * k] for k in range(8, 30)],
        [f"x{10**14 + k} y{k}" for k in range(20)] + [10**15 + k for k in range(20)],
        [1] * 30 + [[k, [k, [3 * k]]] for k in range(30)] + [k % 7 for k in range(50)],
        [],
    ]
    assert run(tmp_path, _UNFOLDED, [*map(packed, tables)]) == tables


_leaf = st.none() | st.booleans() | st.integers(-30, 30) | st.text("a.0/15", max_size=5)
_row = st.recursive(_leaf, lambda row: st.lists(row, max_size=3), max_leaves=5)


@given(st.lists(st.tuples(st.lists(_row, min_size=1, max_size=3), st.integers(1, 12)), max_size=4))
def test_every_row_is_kept_or_follows(blocks: list[tuple[list[Any], int]]) -> None:
    rows = [grown(row, k) for block, count in blocks for k in range(count) for row in block]
    kept, runs = repeats(rows)
    assert unfolded(kept, runs) == rows


def grown(row: Any, k: int) -> Any:
    """A row whose numbers grow."""
    if isinstance(row, list):
        return [grown(each, k) for each in row]
    return row + k if type(row) is int else row


def unfolded(kept: list[Any], runs: list[Any]) -> list[Any]:
    """All rows, of rows whose texts don't change."""
    found: list[Any] = []
    at = 0
    for start, width, count, changes in runs:
        found += kept[at:start]
        period = kept[start : start + width]
        for times in range(count):
            found += [changed(row, by, times) for row, by in zip(period, changes, strict=True)]
        at = start + width
    return found + kept[at:]


def changed(row: Any, by: Any, times: int) -> Any:
    if not by:
        return row
    if isinstance(row, list):
        return [changed(each, step, times) for each, step in zip(row, by, strict=True)]
    return row + by * times
