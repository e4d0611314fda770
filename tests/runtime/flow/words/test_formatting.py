from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.flow.words.formatting import cosine, number, percent, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6.0, "6"),
        (-0.52, "−0.52"),
        (2 / 3, "0.6667"),
        (57.7249, "57.72"),
        (999.5, "999.5"),
        (9999.7, "10000"),
        (12345.6, "12346"),
        (-200.0, "−200"),
        (123456.0, "1.235e5"),
        (0.0005, "0.0005"),
        (5.5e-6, "5.5e−6"),
        (-2e10, "−2e10"),
        (1e-300, "1e−300"),
        (0.0, "0"),
        (-0.0, "0"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (np.float32(0.1), "0.1"),
        (np.int64(-123456789), "−123456789"),
        (7, "7"),
        (True, "true"),
        (np.bool_(False), "false"),
    ],
)
def test_numbers_have_up_to_four_digits_and_no_zeros_behind_them(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("digits", "texts"),
    [(3, ("0.123", "150", "1.23e5")), (2, ("0.12", "150", "1.2e5")), (1, ("0.1", "150", "1e5"))],
)
def test_with_little_room_there_are_fewer_digits_but_whole_parts_stay(digits, texts):
    assert tuple(number(value, digits) for value in (0.12345, 150.3, 123456.0)) == texts


@given(st.floats(-1e300, 1e300), st.integers(1, 4))
def test_a_number_is_rounded_to_its_digits_and_only_zero_is_written_as_zero(value, digits):
    text = number(value, digits)
    written = float(text.replace("−", "-").replace("∞", "inf"))
    assert (written == 0) == (value == 0)
    assert written == pytest.approx(value, rel=0.501 * 10.0 ** (1 - digits), abs=5e-324)
    assert "." not in text or not text.partition("e")[0].endswith("0")


def test_an_array_of_one_number_is_that_number_and_others_are_sizes():
    assert size(None) == "None"
    assert size(np.array([[-2.0]])) == "−2"
    assert size(np.array([3.0, -3.0])) == "rms 3"


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
