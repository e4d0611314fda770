"""Tensor and PortLiteral: immutable, comparable, exact in JSON."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from blocks import DTYPES, PortLiteral, Tensor


def test_dtypes_by_content() -> None:
    assert Tensor([[1, 2]]).dtype == "int64"
    assert Tensor(0.5).dtype == "float64"
    assert Tensor([True]).dtype == "bool"
    assert Tensor([]).dtype == "float64"
    assert Tensor(np.float16(1)).dtype == "float16"
    assert Tensor([[1, 2]]).shape == (1, 2)


@pytest.mark.parametrize(
    "data",
    [
        [[1], [2, 3]], "three", [1, "x"], [None], {}, 1j, [2**70], [-1, 2**63],
        {"shape": [2, 3]}, {"shape": [0], "dtype": "int8"}, {"shape": 0}, {"shape": [0, -1]},
    ],
)  # fmt: skip
def test_what_is_no_array(data: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        Tensor(data)


def test_large_unsigned_integers_are_exact() -> None:
    assert Tensor([0, 2**63 + 1]).array.tolist() == [0, 2**63 + 1]
    assert Tensor([0, 2**63 + 1]).dtype == "uint64"
    assert Tensor([0.5, 2**63]).dtype == "float64"
    assert Tensor([1e300, math.inf]).dtype == "float64"


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 0, 3)])
def test_without_elements_the_shape_stays(shape: tuple[int, ...]) -> None:
    tensor = Tensor(np.zeros(shape))
    assert Tensor(json.loads(json.dumps(tensor.to_json()))) == tensor
    literal = PortLiteral(np.zeros(shape, np.float32))
    assert PortLiteral(json.loads(json.dumps(literal.to_json()))).array.shape == shape


def test_non_finite_numbers_are_strings_in_json() -> None:
    tensor = Tensor([math.nan, math.inf, -math.inf, 1.0])
    assert tensor.to_json() == ["nan", "inf", "-inf", 1.0]
    assert Tensor(tensor.to_json()) == tensor
    assert Tensor("inf") == Tensor(math.inf)


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
        )
    )
)
def test_json_is_exact(array: np.ndarray) -> None:
    tensor = Tensor(array)
    back = np.array(Tensor(json.loads(json.dumps(tensor.to_json()))).array).astype(array.dtype)
    np.testing.assert_array_equal(back, array)


def test_short_floats_are_written_short() -> None:
    assert Tensor(np.float32(0.1)).to_json() == 0.1
    assert Tensor(np.array([0.1, 1e-8], np.float16)).to_json() == [0.1, 0.0]


def test_equality_is_by_dtype_shape_and_bytes() -> None:
    assert Tensor([1.0, math.nan]) == Tensor([1.0, math.nan])
    assert Tensor([1]) != Tensor([1.0])
    assert Tensor([1, 2]) != Tensor([[1, 2]])
    assert Tensor([0.0]) != Tensor([-0.0])
    assert Tensor([1]) != [1]
    assert len({Tensor([1]), Tensor([1]), Tensor([2])}) == 2


def test_immutable_and_never_an_alias() -> None:
    array = np.ones(2)
    tensor = Tensor(array)
    array[0] = 7
    assert tensor.to_json() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="immutable"):
        tensor.array = array  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        tensor.array[0] = 7
    with pytest.raises(AttributeError, match="immutable"):
        PortLiteral(1).dtype = "int8"  # type: ignore[misc]


def test_repr_is_short() -> None:
    assert repr(Tensor([1, 2])) == "Tensor([1, 2], int64)"
    assert repr(Tensor(np.zeros((9, 9)))) == "Tensor(shape=(9, 9), float64)"
    assert repr(PortLiteral(0.5)) == "PortLiteral(0.5)"


@pytest.mark.parametrize(
    ("data", "dtype", "weak"),
    [
        (3, "int64", True),
        (0.5, "float32", True),
        (True, "bool", True),
        ([1.0, 2.0], "float32", False),
        ([1, 2], "int64", False),
        ({"dtype": "float64", "value": 3}, "float64", False),
        ({"dtype": "int8", "value": [3]}, "int8", False),
    ],
)
def test_literals(data: object, dtype: str, weak: bool) -> None:
    literal = PortLiteral(data)
    assert (literal.dtype, literal.weak) == (dtype, weak)
    assert literal.to_json() == data
    assert PortLiteral(literal.to_json()) == literal == PortLiteral(literal)


def test_weak_literals_keep_full_precision() -> None:
    assert PortLiteral(0.1).array.dtype == np.float64
    assert PortLiteral([0.1]).array.dtype == np.float32
    assert PortLiteral(1) != PortLiteral(1.0)
    assert len({PortLiteral(1), PortLiteral(1), PortLiteral(2)}) == 2


@pytest.mark.parametrize("data", [{"dtype": "x", "value": 1}, {"value": 1}, "abc", None])
def test_what_is_no_literal(data: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        PortLiteral(data)
