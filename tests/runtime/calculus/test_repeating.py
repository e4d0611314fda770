"""Taking each element several times in a row, and its transpose, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus.kernels.ordering import repeats
from gradwire.runtime.calculus.primitives import gather
from gradwire.runtime.calculus.primitives.gather import SCATTER_ADD, TAKE


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_LARGE", 1)


def drawn(*shape: int, dtype: str) -> Any:
    return (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_bits_are_those_of_numpy(axis: int, count: int, dtype: str) -> None:
    x = drawn(3, 4, 7, dtype=dtype)
    indices = np.repeat(np.arange(x.shape[axis]), count)
    assert repeats(indices, x.shape[axis]) == count
    taken = np.empty_like(np.take(x, indices, axis))
    TAKE.kernel(x, indices, out=taken, axis=axis)
    np.testing.assert_array_equal(taken, np.take(x, indices, axis))

    updates, expected = drawn(*taken.shape, dtype=dtype), x.copy()
    np.add.at(np.moveaxis(expected, axis, 0), indices, np.moveaxis(updates, axis, 0))
    found = np.empty_like(x)
    SCATTER_ADD.kernel(x, indices, updates, out=found, axis=axis)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("indices", "length"),
    [([0, 1, 2], 3), ([0, 1, 0, 1], 2), ([0, 0, 1, 0], 2), ([0, 0, 1, 1], 3), ([1, 1, 0, 0], 2),
     ([0, 0, 0, 1, 1, 1], 4), ([0, 0, -1, -1], 2), ([], 0), ([], 2), ([[0, 0], [1, 1]], 2)],
)  # fmt: skip
def test_other_places_are_no_repeats(indices: list[Any], length: int) -> None:
    assert repeats(np.array(indices, np.int64), length) == 0
