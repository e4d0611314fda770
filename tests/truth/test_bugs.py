"""Bugs in realistic models are named with their line and cure, and not where there is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

pytest.importorskip("torch")

from tests.truth.cases import Case, cases_of

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of some of the bugs itself

BUGS = list(cases_of("bugs"))
NAMED, QUIET = 0.95, 0.85
"""Shares of the bugs that are named in full, and of the programs without them that are quiet."""


def test_nearly_all_bugs_are_named_and_nothing_false_is_said() -> None:
    scores = {case.name: case.score(case.said())[0] for case in BUGS}
    counts = Counter(scores.values())
    assert len(BUGS) >= 40
    assert not [name for name, score in scores.items() if score == "wrong"]
    assert counts["full"] >= NAMED * len(BUGS), counts


def test_programs_without_their_bugs_draw_no_such_alarm() -> None:
    said = {case: _healthy(case).said() for case in BUGS}
    alarmed = [case.name for case, lines in said.items() if any(map(partial(_is_it, case), lines))]
    assert not alarmed
    assert sum("Nothing wrong" in lines[-1] for lines in said.values()) >= QUIET * len(BUGS)


def _healthy(case: Case) -> Case:
    """The case whose program has no bug."""
    return replace(case, capture=partial(case.capture, False), about=())


def _is_it(case: Case, sentence: str) -> bool:
    """Whether a sentence says of a program what is said of its bug."""
    return all(name in sentence for name in case.names)
