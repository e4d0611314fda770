"""Inverses, solutions and determinants against what they are defined by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.blocks.library.linear_algebra.solutions import (
    Cholesky,
    Determinant,
    Inverse,
    LogDeterminant,
    Solve,
)
from gradwire.runtime.engine import Session
from tests.blocks.single import Single, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

DRAW = np.random.default_rng(9)
BATCH = DRAW.normal(size=(2, 3, 3)) + 2 * np.eye(3)
POSITIVE = BATCH @ BATCH.swapaxes(1, 2)
SINGULAR = np.array([[1.0, 2], [2, 4]])


def test_a_matrix_times_its_inverse_is_one() -> None:
    np.testing.assert_allclose(value(Inverse(), x=BATCH) @ BATCH, [np.eye(3)] * 2, atol=1e-14)


@pytest.mark.parametrize(("a", "b"), [(BATCH, (3, 2)), (BATCH[0], (2, 3, 1)), (BATCH, (2, 3, 4))])
def test_the_solution_solves(a: np.ndarray, b: tuple[int, ...]) -> None:
    right = DRAW.normal(size=b)
    out = value(Solve(), a=a, b=right)
    np.testing.assert_allclose(a @ out, np.broadcast_to(right, out.shape), atol=1e-14)


def test_a_vector_is_solved_for_every_matrix() -> None:
    right = DRAW.normal(size=3)
    out = value(Solve(), a=BATCH, b=right)
    assert out.shape == (2, 3)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", BATCH, out), [right] * 2, atol=1e-14)


def test_the_factor_is_a_lower_triangle() -> None:
    out = value(Cholesky(), x=POSITIVE)
    np.testing.assert_allclose(out @ out.swapaxes(1, 2), POSITIVE)
    np.testing.assert_array_equal(out, np.tril(out))
    uneven = POSITIVE + np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0]])
    np.testing.assert_allclose(value(Cholesky(), x=uneven), out)


def test_determinants() -> None:
    np.testing.assert_allclose(value(Determinant(), x=BATCH), np.linalg.det(BATCH))
    assert value(Determinant(), x=SINGULAR) == pytest.approx(0)
    single = Single(LogDeterminant(), x=-BATCH)
    run = single.session.run()
    np.testing.assert_allclose(run.values["block.out"], np.log(np.linalg.det(BATCH)))
    np.testing.assert_array_equal(run.values["block.sign"], [-1, -1])


def test_a_logarithm_does_not_overflow() -> None:
    large = 1e10 * np.eye(50)
    assert value(LogDeterminant(), x=large) == pytest.approx(500 * np.log(10))
    assert value(LogDeterminant(), x=np.zeros((2, 2))) == -np.inf


def test_the_gradient_of_ln_det_is_the_inverse_turned_over() -> None:
    found = gradients(LogDeterminant(), x=BATCH)["x"]
    np.testing.assert_allclose(found, np.linalg.inv(BATCH).swapaxes(1, 2))


@pytest.mark.parametrize(
    ("block", "inputs", "why"),
    [
        (Inverse(), {"x": SINGULAR}, "singular: it has no inverse"),
        (Solve(), {"a": SINGULAR, "b": np.ones(2)}, "singular: there is no one solution"),
        (Cholesky(), {"x": -SINGULAR}, "the matrix is not positive definite"),
        (
            Cholesky(),
            {"x": np.stack([np.eye(2), SINGULAR - np.eye(2)])},
            "a matrix is not positive",
        ),
    ],
    ids=str,
)
def test_a_matrix_that_can_not_be_is_named_with_its_block(
    block: Block, inputs: dict[str, np.ndarray], why: str
) -> None:
    with pytest.raises(RunError, match=why) as caught:
        value(block, **inputs)
    assert caught.value.location is not None and caught.value.location.block == "block"


@pytest.mark.parametrize("kind", ["Determinant", "LogDeterminant"])
def test_the_gradient_of_a_singular_matrix_is_refused_at_the_block(kind: str) -> None:
    x = b.variable("x", SINGULAR)
    session = Session(b.build(b.loss(b.block(kind, x, name="size"), name="loss")))
    with pytest.raises(RunError, match="singular: it has no inverse") as caught:
        session.backward()
    assert caught.value.location is not None and caught.value.location.block == "size"


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (Inverse(), {"x": np.ones((2, 3))}, "A square matrix is needed"),
        (Determinant(), {"x": np.ones(3)}, "A square matrix is needed"),
        (Solve(), {"a": BATCH, "b": np.ones((2, 2, 2))}, r"Expected \(…, 3, columns\)"),
        (Solve(), {"a": BATCH, "b": np.ones((5, 3, 1))}, "don't broadcast"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: Block, inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)
