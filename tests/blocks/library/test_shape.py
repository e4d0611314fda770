"""Shapes, orders and dtypes: values by numpy, gradients that find their way back."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks import DTYPES
from gradwire.blocks.errors import GradwireError, ParameterError
from gradwire.blocks.library.shape import (
    ArgSort,
    Broadcast,
    Cast,
    ExpandDims,
    Flatten,
    Flip,
    OneHot,
    Reshape,
    Sort,
    Squeeze,
    TopK,
    Transpose,
)
from tests.blocks.single import Single, floats, gradients, value

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("shape", [(24,), (4, 6), (-1, 4), (2, -1, 2), (1, 24, 1)])
def test_reshape(shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(value(Reshape(shape=shape), x=X), X.reshape(shape))


def test_reshape_refuses() -> None:
    with pytest.raises(ParameterError, match="only one length can be -1"):
        Reshape.from_record({"shape": [-1, -1]})
    with pytest.raises(ParameterError, match="shape"):
        Reshape.from_record({"shape": [-2]})
    with pytest.raises(GradwireError, match=r"can't be reshaped to \[5\]"):
        value(Reshape(shape=(5,)), x=X)


@pytest.mark.parametrize(
    ("start", "shape"), [(0, (24,)), (1, (2, 12)), (2, (2, 3, 4)), (3, (2, 3, 4, 1))]
)
def test_flatten(start: int, shape: tuple[int, ...]) -> None:
    np.testing.assert_array_equal(value(Flatten(start=start), x=X), X.reshape(shape))


def test_flatten_of_too_few_axes() -> None:
    with pytest.raises(GradwireError, match="Expected rank 4 or more"):
        value(Flatten(start=4), x=X)
    assert Single(Flatten(), x=np.zeros((0, 3, 2))).traced[0] == (0, 6)


@pytest.mark.parametrize("perm", [None, (0, 2, 1), (2, 0, 1)])
def test_transpose(perm: tuple[int, ...] | None) -> None:
    np.testing.assert_array_equal(value(Transpose(perm=perm), x=X), np.transpose(X, perm))


def test_transpose_refuses() -> None:
    with pytest.raises(ParameterError, match="not a permutation"):
        Transpose.from_record({"perm": [0, 0]})
    with pytest.raises(GradwireError, match="not a permutation of the 3 axes"):
        value(Transpose(perm=(1, 0)), x=X)


@pytest.mark.parametrize("axis", [0, 1, 3, -1, -4])
def test_expand_and_squeeze_undo_each_other(axis: int) -> None:
    wide = np.expand_dims(X, axis)
    np.testing.assert_array_equal(value(ExpandDims(axis=axis), x=X), wide)
    np.testing.assert_array_equal(value(Squeeze(axis=axis), x=wide), X)


def test_squeeze_of_an_axis_that_is_not_one() -> None:
    with pytest.raises(GradwireError, match="not of length 1"):
        value(Squeeze(axis=1), x=X)


def test_broadcast_sums_its_gradient() -> None:
    x = floats([1.0], [2.0])
    np.testing.assert_array_equal(
        value(Broadcast(shape=(3, 2, 2)), x=x), np.broadcast_to(x, (3, 2, 2))
    )
    np.testing.assert_array_equal(gradients(Broadcast(shape=(3, 2, 2)), x=x)["x"], [[6], [6]])
    with pytest.raises(GradwireError, match="broadcast"):
        value(Broadcast(shape=(3,)), x=x)


@pytest.mark.parametrize("axis", [None, 1, (0, -1)])
def test_flip(axis: object) -> None:
    np.testing.assert_array_equal(value(Flip(axis=axis), x=X), np.flip(X, axis))


def test_sort_sends_gradient_back_where_it_came_from() -> None:
    x, seed = floats(3, 1, 2), floats(1, 10, 100)
    np.testing.assert_array_equal(value(Sort(), x=x), [1, 2, 3])
    np.testing.assert_array_equal(gradients(Sort(), seed, x=x)["x"], [100, 1, 10])
    np.testing.assert_array_equal(value(Sort(descending=True), x=x), [3, 2, 1])
    np.testing.assert_array_equal(gradients(Sort(descending=True), seed, x=x)["x"], [1, 100, 10])


def test_one_hot() -> None:
    indices = np.array([[0, 2], [1, 5]])
    out = value(OneHot(depth=3, dtype="int8"), indices=indices)
    assert out.dtype == np.int8
    np.testing.assert_array_equal(out, [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 0, 0]]])
    with pytest.raises(GradwireError, match="'indices' must be an integer"):
        value(OneHot(), indices=floats(1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cast(dtype: str) -> None:
    x = floats(0, 1.75, 3)
    out = value(Cast(dtype=dtype), x=x)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, x.astype(dtype))
    gradient = gradients(Cast(dtype=dtype), x=x)["x"]
    if dtype.startswith("float"):
        assert gradient.dtype == np.float64
        np.testing.assert_array_equal(gradient, [1, 1, 1])
    else:
        assert gradient is None


def test_labels() -> None:
    assert Reshape(shape=(2, -1)).label() == "2×?"
    assert Reshape(shape=()).label() == "( )"
    assert Transpose(perm=(1, 0)).label() == "ᵀ 1,0"
    assert Cast(dtype="int8").label() == "int8"


TIED = floats([2, 1, 2, 0], [5, 5, 5, 5])


@pytest.mark.parametrize(
    ("descending", "places"),
    [(False, [[3, 1, 0, 2], [0, 1, 2, 3]]), (True, [[0, 2, 1, 3], [0, 1, 2, 3]])],
)
def test_argsort_keeps_the_order_of_equal_ones(descending: bool, places: list[list[int]]) -> None:
    found = value(ArgSort(descending=descending), x=TIED)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, places)
    assert gradients(ArgSort(), x=TIED) == {"x": None}


@pytest.mark.parametrize(
    ("block", "values", "indices"),
    [
        (TopK(k=2), [[2, 2], [5, 5]], [[0, 2], [0, 1]]),
        (TopK(k=3, largest=False), [[0, 1, 2], [5, 5, 5]], [[3, 1, 0], [0, 1, 2]]),
        (TopK(axis=0), [[5, 5, 5, 5]], [[1, 1, 1, 1]]),
    ],
    ids=lambda x: x.label() if isinstance(x, TopK) else "",
)
def test_top_k(block: TopK, values: list[list[int]], indices: list[list[int]]) -> None:
    run = Single(block, x=TIED).session.run(ports=["block.values", "block.indices"]).values
    np.testing.assert_array_equal(run["block.values"], values)
    np.testing.assert_array_equal(run["block.indices"], indices)


def test_the_gradient_of_top_k_goes_where_the_values_came_from() -> None:
    found = gradients(TopK(k=2), floats([1, 2]), x=floats([4, 7, 5]))["x"]
    np.testing.assert_array_equal(found, [[0, 1, 2]])


def test_there_are_not_more_than_all() -> None:
    with pytest.raises(GradwireError, match="fewer elements"):
        value(TopK(k=5), x=TIED)
