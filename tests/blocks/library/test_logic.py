"""Comparisons, logic and choice: values, dtypes, and where gradient stops."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.logic import (
    And,
    Bits,
    Equal,
    Greater,
    GreaterEqual,
    IsFinite,
    IsInf,
    IsNaN,
    Less,
    LessEqual,
    Not,
    NotEqual,
    Or,
    Where,
    Xor,
)
from tests.blocks.single import Single, floats, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

A, B = floats(1, 2, 3, np.nan), floats(2, 2, 2, np.nan)
P, Q = np.array([True, True, False, False]), np.array([True, False, True, False])


@pytest.mark.parametrize(
    ("block", "compare"),
    [(Greater(), operator.gt), (GreaterEqual(), operator.ge), (Less(), operator.lt),
     (LessEqual(), operator.le), (Equal(), operator.eq), (NotEqual(), operator.ne)],
    ids=str,
)  # fmt: skip
def test_comparisons(block: Block, compare: object) -> None:
    found = value(block, a=A, b=B)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, compare(A, B))
    np.testing.assert_array_equal(value(block, a=A), compare(A, 0))


@pytest.mark.parametrize(
    ("block", "combine"),
    [(And(), operator.and_), (Or(), operator.or_), (Xor(), operator.xor)],
    ids=str,
)
def test_logic(block: Block, combine: object) -> None:
    np.testing.assert_array_equal(value(block, a=P, b=Q), combine(P, Q))


def test_not_and_is_finite() -> None:
    np.testing.assert_array_equal(value(Not(), x=P), ~P)
    np.testing.assert_array_equal(
        value(IsFinite(), x=floats(1, np.nan, np.inf)), [True, False, False]
    )


def test_logic_refuses_numbers() -> None:
    with pytest.raises(GradwireError, match="boolean"):
        value(And(), a=A, b=Q)
    with pytest.raises(GradwireError, match="boolean"):
        value(Where(), condition=A, a=A, b=B)


def test_choice_splits_the_gradient() -> None:
    c = np.array([True, False, True, False])
    a, b = floats(1, 2, 3, 4), floats(5, 6, 7, 8)
    np.testing.assert_array_equal(value(Where(), condition=c, a=a, b=b), [1, 6, 3, 8])
    found = gradients(Where(), seed=floats(10, 20, 30, 40), condition=c, a=a, b=b)
    assert found["condition"] is None
    np.testing.assert_array_equal(found["a"], [10, 0, 30, 0])
    np.testing.assert_array_equal(found["b"], [0, 20, 0, 40])


def test_choice_between_a_value_and_a_literal() -> None:
    single = Single(Where(b=0.0), condition=P, a=floats(1, 2, 3, 4))
    np.testing.assert_array_equal(single.value(), [1, 2, 0, 0])
    assert single.traced[1] == "float64"


X = floats(1, np.nan, np.inf, -np.inf)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (IsNaN(), [False, True, False, False]),
        (IsInf(), [False, False, True, True]),
        (IsInf(sign="positive"), [False, False, True, False]),
        (IsInf(sign="negative"), [False, False, False, True]),
    ],
    ids=str,
)
def test_special_numbers(block: Block, expected: list[bool]) -> None:
    found = value(block, x=X)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)
    assert gradients(block, x=X) == {"x": None}


@pytest.mark.parametrize("sign", ["both", "positive", "negative"])
def test_no_integer_is_infinite(sign: str) -> None:
    np.testing.assert_array_equal(value(IsInf(sign=sign), x=np.array([0, 2**62])), [False, False])


@pytest.mark.parametrize(
    ("op", "combine"),
    [("and", operator.and_), ("or", operator.or_), ("xor", operator.xor),
     ("left", operator.lshift), ("right", operator.rshift)],
)  # fmt: skip
def test_bits_are_those_of_python(op: str, combine: object) -> None:
    a, b = np.array([12, -7, 1, 2**40]), np.array([10, 3, 0, 5])
    found = value(Bits(op=op), a=a, b=b)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(
        found, [combine(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    )


def test_bits_that_the_dtype_does_not_hold_are_lost() -> None:
    found = value(Bits(op="left"), a=np.array([255], np.uint8), b=np.array([4], np.uint8))
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, [240])


def test_bits_of_booleans_are_logic() -> None:
    np.testing.assert_array_equal(value(Bits(op="xor"), a=P, b=Q), P ^ Q)


@pytest.mark.parametrize(
    ("op", "a"), [("and", floats(1)), ("left", floats(1)), ("right", np.array([True]))]
)
def test_what_has_no_such_bits_is_refused(op: str, a: np.ndarray) -> None:
    with pytest.raises(GradwireError, match="works on bits"):
        value(Bits(op=op), a=a, b=a)
