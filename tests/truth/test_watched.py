"""What is said of real programs in a training that is watched, and that nothing of it changes."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")

import torch

from tests.truth.cases import cases_of
from tests.truth.programs import Program, programs_of
from tests.truth.test_healthy import MODULES
from tests.truth.watched import score_of, trained

pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of some of the programs itself
LEAST = {"questions": 0.8, "bugs": 0.9}
"""Shares of the programs that call a module which are answered in full."""


@pytest.mark.parametrize("kind", [pytest.param("questions", marks=pytest.mark.night), "bugs"])
def test_most_are_answered_and_nothing_false_is_said(kind):
    scores = {case.name: score_of(case)[0] for case in cases_of(kind)}
    asked = {name: score for name, score in scores.items() if score is not None}
    counts = Counter(asked.values())
    assert not [name for name, score in asked.items() if score == "wrong"]
    assert counts["full"] >= LEAST[kind] * len(asked), counts


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(
    "program",
    [p for p in programs_of("healthy", MODULES) if isinstance(p, Program)],
    ids=lambda program: program.name,
)
def test_a_healthy_program_draws_no_alarm_and_computes_the_same(program):
    watched, alone = (trained(program.capture, is_watched=is_watched) for is_watched in (1, 0))
    assert [str(found) for found in watched.found] == []
    assert watched.failures == [None] * len(watched.failures)
    assert watched.raised == alone.raised
    assert len(watched.numbers) == len(alone.numbers)
    for one, other in zip(watched.numbers, alone.numbers, strict=True):
        assert torch.equal(one, other)
