"""Numbers in the JSON of a page: arrays as their elements one by one."""

import numpy as np
import pytest

from gradwire.runtime.publish.living.computing.numbers import number, numbers

DRAW = np.random.default_rng(7)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0, 0.1, 1e-7)


def arrays(dtype):
    """Any bits, ordinary and whole numbers, what has a text of its own, and no or one number."""
    size = np.dtype(dtype).itemsize
    yield DRAW.integers(0, 2 ** (8 * size), 500, dtype=f"uint{8 * size}").view(dtype)
    yield DRAW.normal(size=(20, 5)).astype(dtype)
    yield DRAW.integers(-9, 9, 100).astype(dtype)
    yield np.array(SPECIAL, dtype)
    yield np.array([], dtype)
    yield np.array(-2.5, dtype)


def written(found):
    return [(type(x), repr(x)) for x in found]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_those_of_each_element(dtype):
    for array in arrays(dtype):
        with np.errstate(invalid="ignore"):  # of signalling NaNs
            expected = [number(x) for x in array.ravel()]
        assert written(numbers(array)) == written(expected)


def test_integers_end_where_javascript_has_no_more_of_them():
    array = np.array([2.0**53 - 1, 2.0**53, -(2.0**53), 1e30])
    assert written(numbers(array)) == written([number(x) for x in array])
    assert [type(x) for x in numbers(array)] == [int, float, float, float]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
def test_integers_and_booleans_are_integers(dtype):
    array = np.array([[0, 1], [1, 1]], dtype)
    assert written(numbers(array)) == written([0, 1, 1, 1])
    if dtype.endswith("64"):
        largest = np.iinfo(dtype).max
        assert numbers(np.array([largest], dtype)) == [largest]


def test_a_single_precision_number_has_its_own_digits():
    assert numbers(np.array([0.1, 1 / 3], np.float32)) == [0.1, 0.33333334]
