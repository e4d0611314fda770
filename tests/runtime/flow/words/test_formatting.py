from __future__ import annotations

import math

import numpy as np
import pytest

from runtime.flow.words.formatting import cosine, number, percent, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3.00"),
        (-0.52, "−0.520"),
        (57.7, "57.7"),
        (999.0, "999"),
        (-200.0, "−200"),
        (999.5, "1.0e3"),
        (1000.0, "1.0e3"),
        (0.01, "0.0100"),
        (0.0099, "9.9e-3"),
        (5.5e-6, "5.5e-6"),
        (-2e10, "−2.0e10"),
        (0.0, "0"),
        (-0.0, "0"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "−inf"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_an_array_of_one_number_is_that_number_and_others_are_sizes():
    assert size(None) == "None"
    assert size(np.array([[-2.0]])) == "−2.00"
    assert size(np.array([3.0, -3.0])) == "rms 3.00"


def test_growth_is_in_percent_of_what_was_there():
    one, two, nothing = np.array([1.0, -1.0]), np.array([2.0, 2.0]), np.zeros(2)
    assert percent(one, two) == 100.0
    assert percent(two, one) == -50.0
    assert percent(one, nothing) == -100.0
    assert percent(nothing, one) is None
    assert percent(None, one) is None
    assert percent(one, None) is None


def test_the_cosine_of_an_angle_needs_two_directions():
    right, up = np.array([2.0, 0.0]), np.array([0.0, 3.0])
    assert cosine(right, up) == 0.0
    assert cosine(right, -right) == -1.0
    assert cosine(right, right + up) == pytest.approx(2 / math.sqrt(13))
    assert cosine(right, np.zeros(2)) is None
    assert cosine(np.zeros(2), up) is None
    assert cosine(None, up) is None
    assert cosine(right, None) is None
