"""Tensor and PortLiteral: immutable, comparable, exact in JSON."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import re

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pydantic import TypeAdapter

from gradwire.blocks import DTYPES, PortLiteral, Tensor
from gradwire.blocks.values import fitted


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


def test_ragged_rows_are_called_that() -> None:
    with pytest.raises(ValueError, match="rows of different lengths"):
        Tensor([[1], [2, 3]])


def test_large_unsigned_integers_are_exact() -> None:
    assert Tensor([0, 2**63 + 1]).array.tolist() == [0, 2**63 + 1]
    assert Tensor([0, 2**63 + 1]).dtype == "uint64"
    assert Tensor([2**63 + 2**40 + 1]).array.tolist() == [2**63 + 2**40 + 1]
    assert Tensor([0, 2**64 - 1]).array.tolist() == [0, 2**64 - 1]
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
    different = [[1], [2], [1.0], [1, 2], [[1, 2]], [0], [0.0], [-0.0]]
    for one, other in itertools.permutations(different, 2):
        assert Tensor(one) != Tensor(other)
    assert Tensor([1]) != [1]
    assert len({Tensor([1]), Tensor([1]), Tensor([2])}) == 2


def test_immutable_and_never_an_alias() -> None:
    array = np.ones(2)
    tensor = Tensor(array)
    array[0] = 7
    assert tensor.to_json() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="immutable"):
        tensor.array = array
    with pytest.raises(ValueError, match="read-only"):
        tensor.array[0] = 7
    with pytest.raises(AttributeError, match="immutable"):
        PortLiteral(1).dtype = "int8"


def test_repr_is_short() -> None:
    assert repr(Tensor([1, 2])) == "Tensor([1, 2], int64)"
    assert repr(Tensor(range(8))) == "Tensor([0, 1, 2, 3, 4, 5, 6, 7], int64)"
    assert repr(Tensor(range(9))) == "Tensor(shape=(9,), int64)"
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


EXTRA = {"dtype": "int8", "value": 1, "x": 1}


@pytest.mark.parametrize("data", [{"dtype": "x", "value": 1}, {"value": 1}, EXTRA, "abc", None])
def test_what_is_no_literal(data: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        PortLiteral(data)


def test_an_array_states_the_dtype_that_json_lacks() -> None:
    half = PortLiteral(np.ones(2, np.float16))
    assert (half.dtype, half.to_json()) == ("float16", {"dtype": "float16", "value": [1.0, 1.0]})
    assert PortLiteral(np.ones(2)).to_json() == [1.0, 1.0]
    assert PortLiteral(np.ones(2, np.float16), "int8").dtype == "int8"


@pytest.mark.parametrize("kind", [PortLiteral, Tensor])
@pytest.mark.parametrize("data", [3, "nan", True, [1.0, "-inf"], {"shape": [2, 0]}])
def test_the_schema_accepts_values(kind: type, data: object) -> None:
    jsonschema.validate(data, TypeAdapter(kind).json_schema())


def test_the_schema_of_literals_knows_dtypes() -> None:
    schema = TypeAdapter(PortLiteral).json_schema()
    typed = {"dtype": "int8", "value": [3]}
    jsonschema.validate(typed, schema)
    for wrong in ({"dtype": "int9", "value": 3}, {"value": 3}, {"dtype": "int8"}, typed | {"x": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(typed, TypeAdapter(Tensor).json_schema())


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (2.5, "int64"), (-2.5, "int64"), (math.nan, "int64"), (300, "int8"), (-300, "int8"),
        (-1, "uint8"), (2, "bool"), (1e300, "float32"), (-1e300, "float16"),
    ],
)  # fmt: skip
def test_a_number_that_a_dtype_lacks_is_named(number: float, dtype: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{number} is not representable as {dtype}")):
        fitted(Tensor([1, number]), dtype)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [([0.1], "float16"), ([math.inf, math.nan], "float32"), ([-3.0, 100.0], "int8"), ([1], "bool")],
)
def test_a_number_that_a_dtype_has_is_taken(data: list[float], dtype: str) -> None:
    found = fitted(Tensor(data), dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.array, np.array(data).astype(dtype))
    assert fitted(found, dtype) is found


def test_the_first_number_that_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match="300 is not representable as int8"):
        fitted(Tensor([1, 300, 400]), "int8")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_is_copied_and_pickled(again):
    tensor = again(Tensor(np.float32([[1.0, np.nan]])))
    assert tensor == Tensor(np.float32([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="read-only"):
        tensor.array[0, 0] = 2.0
