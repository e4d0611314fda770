"""Reductions: values by numpy over every kind of axis, ties, zeros and empties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.reduce import (
    AllTrue,
    AnyTrue,
    ArgMax,
    ArgMin,
    CumulativeProduct,
    CumulativeSum,
    LogSumExp,
    Max,
    Mean,
    Min,
    Norm,
    Prod,
    Sum,
    Variance,
)
from tests.blocks.single import Single, floats, gradients, value
from tests.together import together

if TYPE_CHECKING:
    from gradwire.blocks import Block

X = np.random.default_rng(1).normal(size=(2, 3, 4))


def _logsumexp(x: np.ndarray, **how: object) -> np.ndarray:
    return np.log(np.sum(np.exp(x), **how))


def _norm(x: np.ndarray, **how: object) -> np.ndarray:
    return np.sqrt(np.sum(x * x, **how))


@together("keepdims", [False, True])
@together("axis", [None, 0, -1, (0, 2), (-1, -2)])
@together(
    ("cls", "reduce"),
    [(Sum, np.sum), (Mean, np.mean), (Variance, np.var), (Prod, np.prod), (Max, np.max),
     (Min, np.min), (LogSumExp, _logsumexp), (Norm, _norm)],
)  # fmt: skip
def test_values(cls: type[Block], reduce: object, axis: object, keepdims: bool) -> None:
    found = value(cls(axis=axis, keepdims=keepdims), x=X)
    np.testing.assert_allclose(found, reduce(X, axis=axis, keepdims=keepdims), rtol=1e-12)


@pytest.mark.parametrize(("cls", "reduce"), [(AllTrue, np.all), (AnyTrue, np.any)])
def test_logic(cls: type[Block], reduce: object) -> None:
    for axis in (None, 0, (0, 1)):
        np.testing.assert_array_equal(value(cls(axis=axis), x=X > 0), reduce(X > 0, axis=axis))


@pytest.mark.parametrize(("cls", "find"), [(ArgMax, np.argmax), (ArgMin, np.argmin)])
def test_choice(cls: type[Block], find: object) -> None:
    for axis in (None, 0, -1):
        for keepdims in (False, True):
            found = value(cls(axis=axis, keepdims=keepdims), x=X)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, find(X, axis=axis, keepdims=keepdims))
    assert value(cls(), x=floats(2, 2, 2)) == 0


@pytest.mark.parametrize("cls", [Max, Min])
def test_ties_share_evenly(cls: type[Block]) -> None:
    np.testing.assert_allclose(gradients(cls(), x=floats(3, 3, 3))["x"], [1 / 3] * 3)
    found = gradients(cls(axis=1), x=np.array([[1.0, 1.0], [5.0, 5.0]]))["x"]
    np.testing.assert_array_equal(found, np.full((2, 2), 0.5))


def test_norm_at_zero_has_gradient_zero() -> None:
    np.testing.assert_array_equal(gradients(Norm(), x=floats(0, 0))["x"], [0, 0])
    found = gradients(Norm(axis=1), x=np.array([[3.0, 4.0], [0.0, 0.0]]))["x"]
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]])


def test_product_with_zeros_has_the_right_gradient() -> None:
    np.testing.assert_array_equal(gradients(Prod(), x=floats(2, 0, 5))["x"], [0, 10, 0])
    np.testing.assert_array_equal(gradients(Prod(), x=floats(2, 0, 0))["x"], [0, 0, 0])


def test_smooth_maximum_does_not_overflow() -> None:
    np.testing.assert_allclose(value(LogSumExp(), x=floats(1000, 1000)), 1000 + np.log(2))
    np.testing.assert_allclose(gradients(LogSumExp(), x=floats(1000, 1000))["x"], [0.5, 0.5])


def test_running_sum() -> None:
    np.testing.assert_allclose(value(CumulativeSum(axis=1), x=X), np.cumsum(X, axis=1))
    np.testing.assert_array_equal(gradients(CumulativeSum(), x=floats(1, 2, 3))["x"], [3, 2, 1])


def test_dtypes() -> None:
    integers = np.array([[1, 2], [3, 4]], np.int8)
    assert Single(Sum(), x=integers).traced == ((), "int64")
    assert Single(Mean(), x=integers).traced == ((), "float32")
    assert value(Sum(), x=integers > 2) == 2


def test_empty() -> None:
    empty = np.zeros((0, 3))
    np.testing.assert_array_equal(value(Sum(axis=0), x=empty), [0, 0, 0])
    np.testing.assert_array_equal(value(Prod(axis=0), x=empty), [1, 1, 1])
    for cls in (Mean, Max, Min, LogSumExp, ArgMax):
        with pytest.raises(GradwireError, match=r"\[0, 3\]"):
            value(cls(axis=0), x=empty)


def test_axis_that_is_not_there() -> None:
    with pytest.raises(GradwireError, match="Axis 3"):
        value(Sum(axis=3), x=X)


def test_no_axis_at_all_is_refused() -> None:
    with pytest.raises(ParameterError, match="axis"):
        Sum.from_record({"axis": []})


def test_label_says_the_axis() -> None:
    assert Sum().label() == "Σ"
    assert Sum(axis=-1).label() == "Σ -1"
    assert Sum(axis=(0, 1)).label() == "Σ 0,1"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_products(axis: int) -> None:
    np.testing.assert_allclose(value(CumulativeProduct(axis=axis), x=X), np.cumprod(X, axis))


def test_running_products_of_integers_are_wide() -> None:
    found = value(CumulativeProduct(), x=np.array([100, 100, 100], np.int8))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, [100, 10**4, 10**6])


def test_a_zero_among_the_factors_has_its_gradient() -> None:
    found = gradients(CumulativeProduct(), floats(1, 1, 1, 1), x=floats(2, 0, 3, 5))["x"]
    np.testing.assert_array_equal(found, [1, 2 + 6 + 30, 0, 0])


@pytest.mark.parametrize(
    ("flags", "sums", "products"),
    [
        ({"reverse": True}, [9, 7, 4], [24, 12, 4]),
        ({"exclusive": True}, [0, 2, 5], [1, 2, 6]),
        ({"reverse": True, "exclusive": True}, [7, 4, 0], [12, 4, 1]),
    ],
)
def test_running_backwards_and_without_the_element(
    flags: dict[str, bool], sums: list[int], products: list[int]
) -> None:
    x = floats(2, 3, 4)
    np.testing.assert_array_equal(value(CumulativeSum(**flags), x=x), sums)
    np.testing.assert_array_equal(value(CumulativeProduct(**flags), x=x), products)


@pytest.mark.parametrize("cls", [CumulativeSum, CumulativeProduct])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_along_nothing(cls: type[Block], exclusive: bool) -> None:
    assert value(cls(exclusive=exclusive), x=np.zeros((2, 0))).shape == (2, 0)
    with pytest.raises(GradwireError, match="Axis 2"):
        value(cls(axis=2), x=X[0])
