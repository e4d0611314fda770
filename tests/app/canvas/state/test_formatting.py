from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as arrays

from gradwire.app.canvas.state.formatting import (
    NONE,
    brief,
    described,
    dimensions,
    gradient_readout,
    lines,
    number,
    one_number,
    power_of_ten,
    readout,
    spread,
)


def cells(data, dtype=np.float32):
    return readout(np.array(data, dtype)).cells


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (2 / 3, "0.6667"),
        (-0.5, "−0.5"),
        (1234.56, "1235"),
        (1.5e-7, "1.5e−7"),
        (2.5e20, "2.5e20"),
        (np.nan, "NaN"),
        (np.inf, "∞"),
        (-np.inf, "−∞"),
        (-0.0, "0"),
    ],
)
def test_scalars_have_four_significant_digits(value, text):
    assert cells(value, np.float64) == ((text,),)


def test_integers_and_booleans_are_exact():
    assert cells(123456789, np.int64) == (("123456789",),)
    assert cells(-3, np.int8) == (("−3",),)
    assert cells([True, False], bool) == (("true", "false"),)
    assert number(7) == "7"


def test_a_small_matrix_is_a_grid():
    shown = readout(np.array([[1.0, 2.0], [-3.0, 4.0]], np.float32))
    assert shown.cells == (("1", "2"), ("−3", "4"))
    assert shown.bracketed
    assert not shown.prose


def test_numbers_of_a_grid_end_at_the_same_place():
    assert cells([[0.5, -12.25]]) == (("0.50", "−12.25"),)
    assert cells([1.0, 2.5, 3.0, 4.0]) == (("1.00", "2.50", "3.00", "4.00"),)


def test_with_little_room_there_are_two_digits():
    shown = readout(np.array([0.123, -1.456, 3.25], np.float32))
    assert shown.short == (("0.1", "−1.5", "3.2"),)
    assert readout(np.float32(0.123)).short == (("0.123",),)


def test_only_zero_looks_like_zero():
    assert cells([[1.5, 0.0, 3e-6]]) == (("1.50", "0", "3e−6"),)


def test_grids_of_odd_numbers():
    assert cells([[1.5, np.nan]]) == (("1.500", "NaN"),)
    assert cells([np.nan, np.inf]) == (("NaN", "∞"),)
    assert cells([[1e8, 2.5]]) == (("1e8", "2.5"),)
    assert cells([1e-9, 2e-9]) == (("1e−9", "2e−9"),)


@pytest.mark.parametrize("shape", [(5,), (4, 2), (2, 5), (2, 2, 2), (64, 128)])
def test_more_is_told_by_shape_and_spread(shape):
    shown = readout(np.ones(shape, np.float32))
    assert shown.prose
    assert dimensions(shape) in shown.cells[0][0]
    assert "float32" in shown.cells[0][0]
    assert shown.cells[1] == ("all 1",)


def test_an_empty_array_says_so():
    assert cells(np.empty((0, 3))) == (("0 × 3 float32",), ("empty",))


@given(arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_lines_are_those_of_the_readout(array):
    assert lines(array.shape) == len(readout(array).cells)
    assert len(brief(array).cells) == 1
    assert 1 <= len(gradient_readout(array).cells) <= 2


def test_spread_leaves_out_what_is_not_finite():
    assert spread(np.array([3.0, 4.0, np.nan, np.inf])) == "rms 3.536 · 3…4 · 2 not finite"
    assert spread(np.array([np.nan])) == "1 not finite"
    assert spread(np.array([True, False, True])) == "2 of 3 true"
    assert spread(np.full(9, 1e300)) == "all 1e300"
    assert spread(np.zeros(9)) == "all 0"


def test_none_is_not_zero():
    assert gradient_readout(None) is NONE
    assert gradient_readout(None) != gradient_readout(np.zeros((), np.float32))


def test_a_gradient_takes_two_lines_at_most():
    assert gradient_readout(np.ones((2, 2))).bracketed
    assert gradient_readout(np.ones((3, 3))).cells == (("all 1",),)
    assert gradient_readout(np.ones((64, 128))).cells == (("all 1",),)


def test_powers_of_ten():
    assert power_of_ten(3e-8) == "10⁻⁸"
    assert power_of_ten(1.2e5) == "10⁵"
    assert power_of_ten(0.0) == "0"


def test_tooltips_show_the_head():
    text = described(np.arange(1000.0).reshape(100, 10))
    assert text.startswith("100 × 10 float64\n")
    assert "..." in text
    assert dimensions(()) == "scalar"


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (np.float32(0.12345), ("0.1235", "0.123", "0.12", "0.1")),
        (np.array([[-2.0]]), ("−2",) * 4),
        (np.array([3.0, -4.0]), ("rms 3.536", "3.536", "3.54", "3.5", "4")),
        (np.array([1e-9, 0.0]), ("rms 7.071e−10", "7.071e−10", "7.07e−10", "7.1e−10", "7e−10")),
        (np.array([np.inf, 3.0, 4.0]), ("∞",)),
        (np.ones((2, 3)), ("all 1",)),
        (np.array([True, False]), ("1 of 2 true",)),
        (np.array([np.nan, np.nan]), ("NaN",)),
        (np.array([np.nan, 1.0]), ("NaN",)),
        (np.array([2.0, -np.inf] * 9), ("−∞",)),
        (np.array([np.inf, -np.inf, 3.0]), ("±∞",)),
        (np.zeros((0, 3)), ("empty",)),
        (None, ("None",)),
    ],
)
def test_one_number_stands_for_an_array_in_ever_shorter_texts(array, shown):
    assert one_number(None if array is None else np.asarray(array)) == shown


def test_a_small_array_is_known_by_its_numbers_type_and_shape():
    """Neither by its memory, which may hold others by now, nor by its bytes alone."""
    array = np.array([1.5, 2.0])
    assert readout(array).cells == (("1.500", "2.000"),)
    array[0] = 7.5
    assert readout(array).cells == (("7.500", "2.000"),)
    assert readout(array.view(np.int64)) != readout(array)
    assert readout(array.reshape(2, 1)).cells == (("7.500",), ("2.000",))
    assert readout(np.array([None, "text"], object)[:0]).prose
