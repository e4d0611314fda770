"""Products of vectors and matrices: values by numpy, shapes that don't fit."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.linear import CosineSimilarity, Dot, Einsum, Linear, MatMul
from tests.blocks.single import floats, gradients, value

DRAW = np.random.default_rng(2)
A, B = DRAW.normal(size=(2, 3)), DRAW.normal(size=(3, 4))
STACK = DRAW.normal(size=(5, 2, 3))


@pytest.mark.parametrize(
    ("a", "b"), [(A, B), (STACK, B), (A[0], B), (A, B[:, 0]), (A[0], B[:, 0]), (STACK, B[:, 0])]
)
def test_matrix_product(a: np.ndarray, b: np.ndarray) -> None:
    np.testing.assert_allclose(value(MatMul(), a=a, b=b), np.matmul(a, b), rtol=1e-13)


def test_matrix_product_gradient() -> None:
    seed = DRAW.normal(size=(2, 4))
    found = gradients(MatMul(), seed, a=A, b=B)
    np.testing.assert_allclose(found["a"], seed @ B.T)
    np.testing.assert_allclose(found["b"], A.T @ seed)


def test_inner_product_runs_along_the_last_axis() -> None:
    np.testing.assert_allclose(value(Dot(), a=A[0], b=A[1]), A[0] @ A[1])
    np.testing.assert_allclose(value(Dot(), a=A, b=A), (A * A).sum(-1))
    np.testing.assert_allclose(value(Dot(), a=STACK, b=A[0]), STACK @ A[0])


def test_cosine() -> None:
    expected = A[0] @ A[1] / np.linalg.norm(A[0]) / np.linalg.norm(A[1])
    np.testing.assert_allclose(value(CosineSimilarity(), a=A[0], b=A[1]), expected)
    np.testing.assert_allclose(value(CosineSimilarity(), a=A, b=-3 * A), [-1, -1])


def test_cosine_with_nothing_is_zero_and_flat() -> None:
    nothing = np.zeros(3)
    assert value(CosineSimilarity(), a=A[0], b=nothing) == 0
    for a, b in ((A[0], nothing), (nothing, A[0]), (nothing, nothing)):
        found = gradients(CosineSimilarity(), a=a, b=b)
        np.testing.assert_array_equal(found["a"], nothing)
        np.testing.assert_array_equal(found["b"], nothing)
    rows = gradients(CosineSimilarity(), a=np.stack([A[0], A[0]]), b=np.stack([nothing, A[1]]))
    alone = gradients(CosineSimilarity(), a=A[0], b=A[1])
    np.testing.assert_array_equal(rows["b"], np.stack([nothing, alone["b"]]))


def test_linear() -> None:
    weight, bias = DRAW.normal(size=(4, 3)), DRAW.normal(size=4)
    np.testing.assert_allclose(value(Linear(), x=A, weight=weight), A @ weight.T)
    out = value(Linear(units=4), x=STACK, weight=weight, bias=bias)
    np.testing.assert_allclose(out, STACK @ weight.T + bias)


def test_einsum() -> None:
    np.testing.assert_allclose(value(Einsum(), **{"terms.0": A, "terms.1": B}), A @ B)
    bilinear = Einsum(subscripts="bij,jk,k->bi")
    terms = {"terms.0": STACK, "terms.1": B, "terms.2": B[0]}
    np.testing.assert_allclose(value(bilinear, **terms), STACK @ (B @ B[0]))
    np.testing.assert_allclose(value(Einsum(subscripts="ij->j"), **{"terms.0": A}), A.sum(0))


@pytest.mark.parametrize("subscripts", ["ij,jk", "i j->i", "i1->i", "", "ij->j->i"])
def test_einsum_refuses_what_is_no_subscript(subscripts: str) -> None:
    with pytest.raises(ParameterError, match="subscripts"):
        Einsum.from_record({"subscripts": subscripts})


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (MatMul(), {"a": A, "b": A}, r"\[2, 3\] and \[2, 3\]"),
        (MatMul(), {"a": A, "b": floats(1)[0]}, "needs vectors or matrices"),
        (Dot(), {"a": A, "b": B}, r"got \(2, 3\) and \(3, 4\)"),
        (Dot(), {"a": A, "b": floats(1.0)}, r"got \(2, 3\) and \(1,\)"),
        (CosineSimilarity(), {"a": A, "b": B}, "last axes of a and b"),
        (Linear(), {"x": A, "weight": B}, r"got \(3, 4\) and \(2, 3\)"),
        (Linear(), {"x": A, "weight": B[0]}, r"got \(4,\) and \(2, 3\)"),
        (Linear(units=7), {"x": A, "weight": A}, r"Expected weight \(7, 3\), got \(2, 3\)"),
        (Linear(), {"x": A, "weight": A, "bias": A[0]}, r"Expected \(2,\), got \(3,\)"),
        (Einsum(), {"terms.0": A}, "2 terms for 1 arrays"),
        (Einsum(), {"terms.0": A, "terms.1": A}, "'j' has lengths 3 and 2"),
    ],
    ids=str,
)
def test_what_does_not_fit(block: object, inputs: dict[str, object], message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, **inputs)


def test_linear_needs_at_least_one_unit() -> None:
    with pytest.raises(ParameterError, match="units"):
        Linear.from_record({"units": 0})
