"""Polynomials on intervals, looked up as a register of a machine does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.engine.plan.native.functions.piecewise import SHIFT, Pieces, pieces

Array = NDArray[Any]


def evaluated(table: Pieces, x: Array) -> Array:
    """The function for x ≥ 0, in float64 but for the table."""
    size = np.minimum(x.astype(np.float32), np.float32(table.limit))
    at = np.maximum(size.view(np.int32), table.first_bits) >> SHIFT & 31
    away = size.astype(np.float64) - table.centres[at]
    slope = np.zeros(x.shape)
    for row in table.coefficients[::-1]:
        slope = slope * away + row[at]
    return np.where(size < table.own, size, table.values[at]) + away * slope


@pytest.mark.parametrize("adds_own", [False, True])
def test_pieces_are_near_everywhere(adds_own: bool) -> None:
    table = pieces(np.tanh, octave=-4, limit=9.5, adds_own=adds_own)
    x = np.concatenate([np.geomspace(1e-30, 1e-2, 1000), np.linspace(0.01, 12, 200_001)])
    exact = np.tanh(x.astype(np.float32).astype(np.float64))
    assert np.all(np.abs(evaluated(table, x) - exact) < 4e-8 * exact)


def test_neighbours_meet() -> None:
    """At the border of two intervals both polynomials have nearly the same value."""
    table = pieces(np.tanh, octave=-4, limit=9.5)
    borders = np.float32(2.0) ** np.arange(-3, 3)
    below, above = evaluated(table, np.nextafter(borders, np.float32(0))), evaluated(table, borders)
    assert np.all(np.abs(above - below) < 1e-7)


def test_what_a_piece_adds_to_the_argument_is_small_near_zero() -> None:
    """So the rounding of a slope of 1.128 does not reach the result."""
    plain = pieces(lambda x: 1.128 * np.tanh(x), octave=-4, limit=9.5)
    own = pieces(lambda x: 1.128 * np.tanh(x), octave=-4, limit=9.5, adds_own=True)
    first = own.centres.argmin()
    assert plain.coefficients[0, first] == pytest.approx(1.128)
    assert own.coefficients[0, first] == pytest.approx(0.128)
    assert (plain.own, own.own) == (0, 1.25 / 16)
