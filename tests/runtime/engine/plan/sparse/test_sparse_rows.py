"""Arrays that are 0 but for some rows."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.norms import all_finite, rms, square_sum
from gradwire.runtime.engine.plan.sparse_rows import SparseRows, added, rows_of


def some(length: int, seed: int, *rows: int) -> SparseRows:
    values = np.random.default_rng(seed).standard_normal((len(rows), 3)).astype(np.float32)
    return SparseRows(np.array(rows, np.intp), values, length)


def test_it_stands_for_a_whole_array() -> None:
    given = some(5, 0, 1, 4)
    assert (given.shape, given.size, given.dtype) == ((5, 3), 15, np.float32)
    assert repr(given) == "SparseRows(2 rows of [5, 3], float32)"
    whole = given.dense()
    assert whole[[1, 4]].tolist() == given.values.tolist()
    assert not whole[[0, 2, 3]].any()
    assert np.array_equal(np.asarray(given), whole)
    assert np.asarray(given, np.float64).dtype == np.float64
    assert np.array_equal(np.ones((5, 3), np.float32) + given, whole + 1)
    with pytest.raises(ValueError, match="always a new one"):
        np.asarray(given, copy=False)


def test_it_fills_an_array_whatever_that_had() -> None:
    given, out = some(4, 0, 2), np.full((4, 3), np.nan, np.float32)
    given.fill(out)
    assert np.array_equal(out, given.dense())


def test_sums_have_the_bits_of_whole_arrays() -> None:
    terms = [some(6, 0, 0, 2, 5), some(6, 1, 2, 3), some(6, 2), some(6, 3, 2, 5)]
    total = added(terms)
    assert total.rows.tolist() == [0, 2, 3, 5]
    expected = terms[0].dense() + terms[1].dense() + terms[2].dense() + terms[3].dense()
    assert total.dense().tobytes() == expected.tobytes()
    assert added(terms[:1]) is terms[0]


def test_it_is_measured_without_the_rows_of_zeros() -> None:
    given = some(100, 0, 3, 50, 99)
    assert rms(given) == pytest.approx(rms(given.dense()), rel=1e-6)
    assert square_sum(given) == pytest.approx(float((given.dense() ** 2).sum()), rel=1e-6)
    assert rms(some(100, 0)) == square_sum(some(100, 0)) == 0.0
    assert all_finite([given])
    given.values[1, 1] = np.inf
    assert not all_finite([given])


def test_rows_are_found_in_an_array() -> None:
    given = some(6, 0, 1, 3)
    found = rows_of(given.dense())
    assert found.rows.tolist() == [1, 3]
    assert found.dense().tobytes() == given.dense().tobytes()
