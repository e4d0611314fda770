"""Stretches of a sequence that repeat themselves."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.engine.jax.repeats.periods import Run, runs


def test_a_repeated_stretch_is_found_with_its_smallest_period() -> None:
    numbers = np.array([9, 8, *[1, 2, 3, 4, 5] * 6, 1, 2, 7, 6])
    found = runs(numbers, 4)
    assert max(found, key=lambda run: run.saved) == Run(2, 32, 5)
    assert all(run.period % 5 == 0 for run in found)


def test_fewer_repetitions_than_asked_for_are_none() -> None:
    numbers = np.array([9, *[1, 2, 3, 4, 5] * 3, 8])
    assert runs(numbers, 4) == []
    assert runs(numbers, 3) == [Run(1, 15, 5)]


def test_repetitions_within_repetitions_have_both_periods() -> None:
    inner = [1, 2, 3] * 8
    found = runs(np.array([7, *inner, 8, 9] * 5), 4)
    assert {3, len(inner) + 3} <= {run.period for run in found}


def test_nothing_repeats_in_few_or_different_numbers() -> None:
    assert runs(np.array([], dtype=int), 2) == []
    assert runs(np.array([1, 1]), 4) == []
    assert runs(np.arange(1000), 2) == []
