"""Comparisons, logic and choice: values, dtypes, and where gradient stops."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from blocks.errors import GradwireError
from blocks.library.logic import (
    And,
    Equal,
    Greater,
    GreaterEqual,
    IsFinite,
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
    from blocks import Block

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
