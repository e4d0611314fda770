"""Triangles and diagonals against numpy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.linear_algebra.diagonals import (
    Diagonal,
    DiagonalMatrix,
    Trace,
    Triangle,
)
from tests.blocks.single import gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

X = np.random.default_rng(3).normal(size=(2, 3, 4))
OFFSETS = [-9, -3, -2, -1, 0, 1, 2, 3, 4, 9]


@pytest.mark.parametrize("offset", OFFSETS)
def test_triangles(offset: int) -> None:
    lower, upper = (value(Triangle(part=p, offset=offset), x=X) for p in ("lower", "upper"))
    np.testing.assert_array_equal(lower, np.tril(X, offset))
    np.testing.assert_array_equal(upper, np.triu(X, offset))


@pytest.mark.parametrize("offset", OFFSETS)
def test_diagonals_and_their_sums(offset: int) -> None:
    wanted = np.diagonal(X, offset, 1, 2)
    np.testing.assert_array_equal(value(Diagonal(offset=offset), x=X), wanted)
    np.testing.assert_allclose(value(Trace(offset=offset), x=X), wanted.sum(-1))


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 3])
def test_matrices_of_a_diagonal(offset: int) -> None:
    wanted = np.stack([np.diag(row, offset) for row in X[0]])
    np.testing.assert_array_equal(value(DiagonalMatrix(offset=offset), x=X[0]), wanted)
    back = value(Diagonal(offset=offset), x=wanted)
    np.testing.assert_array_equal(back, X[0])


def test_what_is_not_read_has_no_part_in_the_result() -> None:
    x = np.array([[1.0, np.inf], [np.nan, 2.0]])
    np.testing.assert_array_equal(value(Triangle(part="upper"), x=x), [[1, np.inf], [0, 2]])
    assert value(Trace(), x=x) == 3
    np.testing.assert_array_equal(gradients(Trace(), x=x)["x"], np.eye(2))
    np.testing.assert_array_equal(
        value(DiagonalMatrix(), x=np.array([np.inf, 1.0])), [[np.inf, 0], [0, 1]]
    )


@pytest.mark.parametrize(
    ("block", "shape", "message"),
    [
        (Triangle(), (3,), "x is no matrix"),
        (Trace(), (), "x is no matrix"),
        (DiagonalMatrix(), (), "A scalar has no diagonal"),
        (DiagonalMatrix(offset=2**31), (1,), "at most 8,192"),
        (Triangle(), (1, 9000), "at most 8,192"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: Block, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, x=np.ones(shape))
