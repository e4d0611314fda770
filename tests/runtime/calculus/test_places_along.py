"""Elements along an axis: few and many, of arrays in order and with gaps."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.calculus.primitives.gather import ADD_ALONG, TAKE_ALONG


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(("shape", "axis"), [((70, 5, 90), 1), ((5, 6000), 0), ((2, 3, 2), 2)])
def test_elements_are_taken_and_added_to(
    shape: tuple[int, ...], axis: int, count: int, turned: bool
) -> None:
    """Counted from either end; those that repeat are added one after another."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape[::-1]).T if turned else rng.standard_normal(shape)
    wanted = [count if i == axis else n for i, n in enumerate(shape)]
    indices = rng.integers(-shape[axis], shape[axis], wanted)
    updates = rng.standard_normal(wanted)
    taken, out = np.empty(wanted), np.empty(shape[::-1]).T if turned else np.empty(shape)
    TAKE_ALONG.kernel(x, indices, out=taken, axis=axis)
    ADD_ALONG.kernel(x, indices, updates, out=out, axis=axis)
    np.testing.assert_array_equal(taken, np.take_along_axis(x, indices, axis))
    expected = x.copy()
    for k in range(count):
        one = np.take(indices, [k], axis)
        added = np.take_along_axis(expected, one, axis) + np.take(updates, [k], axis)
        np.put_along_axis(expected, one, added, axis)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("size", [3, 9000])
@pytest.mark.parametrize("wrong", [4, -5])
def test_an_index_out_of_range_is_refused(wrong: int, size: int) -> None:
    x, indices = np.zeros((4, size)), np.zeros((1, size), np.int64)
    indices[0, 2] = wrong
    out = np.empty((1, size))
    with pytest.raises(IndexError, match=f"index {wrong} is out of range"):
        TAKE_ALONG.kernel(x, indices, out=out, axis=0)
    with pytest.raises(IndexError, match=f"index {wrong} is out of range"):
        ADD_ALONG.kernel(x, indices, out, out=np.empty_like(x), axis=0)
