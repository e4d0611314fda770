"""Arithmetic and functions: values by numpy, gradients at the points where systems disagree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError, ParameterError, RunError
from gradwire.blocks.library.arithmetic import (
    Add,
    AddN,
    Div,
    Maximum,
    Minimum,
    Mod,
    Mul,
    Neg,
    Pow,
    Sub,
)
from gradwire.blocks.library.functions import (
    Abs,
    Arctan2,
    Ceil,
    Clip,
    Cos,
    Exp,
    Expm1,
    Floor,
    Log,
    Log1p,
    Round,
    Sign,
    Sin,
    Sqrt,
    Square,
)
from tests.blocks.single import Single, floats, gradients, value
from tests.together import together

if TYPE_CHECKING:
    from gradwire.blocks import Block

A = np.array([[1.0, -2.0, 3.5], [0.25, -0.5, 6.0]])
ROW = np.array([2.0, -4.0, 0.5])
INF = math.inf


@pytest.mark.parametrize(
    ("block", "formula"),
    [
        (Add(), lambda a, b: a + b),
        (Sub(), lambda a, b: a - b),
        (Mul(), lambda a, b: a * b),
        (Div(), lambda a, b: a / b),
        (Mod(), np.mod),
        (Maximum(), np.maximum),
        (Minimum(), np.minimum),
        (Arctan2(), np.arctan2),
    ],
)
def test_binary_values(block: Block, formula: object) -> None:
    np.testing.assert_allclose(value(block, a=A, b=ROW), formula(A, ROW), rtol=1e-14)


@pytest.mark.parametrize(
    ("block", "formula"),
    [
        (Neg(), lambda x: -x), (Abs(), np.abs), (Square(), np.square), (Exp(), np.exp),
        (Expm1(), np.expm1), (Sin(), np.sin), (Cos(), np.cos), (Sign(), np.sign),
        (Round(), np.round), (Floor(), np.floor), (Ceil(), np.ceil),
        (Clip(min=-1, max=2), lambda x: np.clip(x, -1, 2)),
        (Clip(min=None, max=2), lambda x: np.minimum(x, 2)),
        (Clip(min=-1, max=None), lambda x: np.maximum(x, -1)),
        (Clip(min=None, max=None), lambda x: x),
    ],
)  # fmt: skip
def test_unary_values(block: Block, formula: object) -> None:
    np.testing.assert_allclose(value(block, x=A), formula(A), rtol=1e-14)


def test_functions_of_positive_numbers() -> None:
    x = floats(0.5, 2.0, 9.0)
    np.testing.assert_allclose(value(Sqrt(), x=x), x**0.5, rtol=1e-15)
    np.testing.assert_allclose(value(Log(), x=x), [math.log(v) for v in x], rtol=1e-15)
    np.testing.assert_allclose(value(Log1p(), x=x * 1e-20), x * 1e-20, rtol=1e-15)


def test_gradient_of_the_product_is_the_other_side_summed_over_rows() -> None:
    found = gradients(Mul(), a=A, b=ROW)
    np.testing.assert_allclose(found["a"], np.broadcast_to(ROW, A.shape))
    np.testing.assert_allclose(found["b"], A.sum(axis=0))


def test_power_is_a_square_unless_told_otherwise() -> None:
    np.testing.assert_allclose(value(Pow(), a=A), A * A)
    np.testing.assert_allclose(value(Pow(b=3), a=A), A**3)


def test_power_where_its_derivative_is_awkward() -> None:
    np.testing.assert_array_equal(gradients(Pow(b=0.5), a=floats(0, 4))["a"], [INF, 0.25])
    np.testing.assert_array_equal(gradients(Pow(b=0), a=floats(0, 4))["a"], [0, 0])
    found = gradients(Pow(), a=floats(0, 2), b=floats(2, 3))
    np.testing.assert_allclose(found["b"], [0, 8 * math.log(2)])


def test_division_by_zero_is_infinite() -> None:
    assert value(Div(), a=floats(1.0), b=floats(0.0)) == [INF]
    assert gradients(Div(), a=floats(1.0), b=floats(0.0))["b"] == [-INF]


def test_square_root_at_zero_has_an_infinite_gradient() -> None:
    np.testing.assert_array_equal(gradients(Sqrt(), x=floats(0, 4))["x"], [INF, 0.25])


@pytest.mark.parametrize("cls", [Maximum, Minimum])
def test_ties_go_half_to_each(cls: type[Block]) -> None:
    found = gradients(cls(), a=floats(2, 2), b=floats(2, 5))
    won = 1.0 if cls is Minimum else 0.0
    np.testing.assert_array_equal(found["a"], [0.5, won])
    np.testing.assert_array_equal(found["b"], [0.5, 1 - won])


def test_absolute_value_at_zero_has_gradient_zero() -> None:
    np.testing.assert_array_equal(gradients(Abs(), x=floats(-1, 0, 2))["x"], [-1, 0, 1])


@pytest.mark.parametrize("block", [Sign(), Round(), Floor(), Ceil()], ids=str)
def test_steps_are_connected_with_gradient_zero(block: Block) -> None:
    np.testing.assert_array_equal(gradients(block, x=floats(-1.5, 0, 2.5))["x"], [0, 0, 0])


def test_round_takes_halves_to_the_even() -> None:
    np.testing.assert_array_equal(value(Round(), x=floats(0.5, 1.5, 2.5, -0.5)), [0, 2, 2, 0])


def test_clip_passes_gradient_on_the_closed_interval() -> None:
    found = gradients(Clip(min=-1, max=1), x=floats(-1, 1, 0.5, 2, -3))
    np.testing.assert_array_equal(found["x"], [1, 1, 1, 0, 0])


def test_clip_of_integers_stays_inside_their_range() -> None:
    x = np.array([-5, 0, 5, 9], np.int8)
    clipped = value(Clip(min=-1.5, max=6.9), x=x)
    assert clipped.dtype == np.int8
    np.testing.assert_array_equal(clipped, [-1, 0, 5, 6])
    np.testing.assert_array_equal(value(Clip(min=-1, max=300), x=x.view(np.uint8)), x.view("u1"))


def test_clip_refuses_limits_out_of_order() -> None:
    with pytest.raises(ParameterError, match="min 2 is above max 1"):
        Clip.from_record({"min": 2, "max": 1})


def test_angle_at_the_origin_has_gradient_zero() -> None:
    found = gradients(Arctan2(), a=floats(0, 1), b=floats(0, 1))
    np.testing.assert_array_equal(found["a"], [0, 0.5])
    np.testing.assert_array_equal(found["b"], [0, -0.5])


def test_remainder_has_the_sign_of_the_divisor() -> None:
    a, b = np.array([5, -5, 5, -5]), np.array([3, 3, -3, -3])
    np.testing.assert_array_equal(value(Mod(), a=a, b=b), a % b)
    assert value(Mod(), a=a, b=b).dtype == np.int64
    large = np.array([2**40 + 5])
    assert value(Mod(), a=large, b=np.array([8])) == 5


@together(
    ("a", "b", "remainder"),
    [
        (np.float32(1e9), np.float32(7), 6),
        (np.float32(123456789), np.float32(0.1), math.fmod(123456792, np.float32(0.1))),
        (np.float64(1e17), np.float64(3), 1),
        (np.float64(-1e17), np.float64(3), 2),
        (np.float64(1), np.float64(INF), 1),
        (np.float64(-1), np.float64(INF), INF),
        (np.float64(-6), np.float64(3), 0.0),
        (np.float64(5), np.float64(-0.0), math.nan),
        (np.float64(INF), np.float64(3), math.nan),
        (np.int64(2**53 + 1), np.int64(2), 1),
        (np.int64(-(2**63)), np.int64(-1), 0),
        (np.int64(-(2**63)), np.int64(10**9), -(2**63) % 10**9),
        (np.uint64(2**64 - 1), np.uint64(10), 5),
    ],
)
@together("shape", [(), (3,), (70_000,)])
def test_remainder_is_exact(
    a: np.generic, b: np.generic, remainder: float, shape: tuple[int, ...]
) -> None:
    """Whatever computes it: one kernel, a region of scalars, tiles."""
    found = value(Mod(), a=np.full(shape, a), b=np.full(shape, b))
    np.testing.assert_array_equal(found, np.full(shape, remainder, found.dtype))
    assert found.dtype == a.dtype


def test_an_integer_has_no_remainder_by_zero() -> None:
    with pytest.raises(RunError, match="no remainder by 0") as caught:
        value(Mod(), a=np.array([5, 5]), b=np.array([2, 0]))
    assert caught.value.location is not None and caught.value.location.block == "block"


def test_remainder_gradient() -> None:
    """1, and minus the quotient that goes with the remainder: 9 for 1 by 0.1, whose floor is 10."""
    a, b = floats(7.5, -7.5, 1, 2, -1, 1, 1, 0), floats(2, 2, 0.1, INF, INF, -INF, 0, 2)
    found = gradients(Mod(), a=a, b=b)
    np.testing.assert_array_equal(found["a"], np.ones(8))
    np.testing.assert_array_equal(found["b"], [-3, 4, -9, 0, 1, 1, -INF, 0])


def test_any_number_of_terms_add_up() -> None:
    parts = {f"terms.{i}": floats(i, 2 * i) for i in range(4)}
    np.testing.assert_array_equal(value(AddN(), **parts), [6, 12])
    assert all(np.array_equal(g, [1, 1]) for g in gradients(AddN(), **parts).values())


def test_nothing_to_add() -> None:
    with pytest.raises(GradwireError, match="Nothing to add"):
        value(AddN())


def test_scalar_literals_are_weak() -> None:
    half = np.array([1.0, 2.0], np.float16)
    assert value(Mul(a=3), b=half).dtype == np.float16
    assert Single(Mul(a=0.5), b=np.array([1, 2])).traced[1] == "float32"
    typed = Mul(a={"dtype": "float64", "value": 3})
    assert value(typed, b=half).dtype == np.float64


@pytest.mark.parametrize(("dtype", "number"), [("int8", 300), ("int8", -129), ("uint8", -1)])
def test_a_literal_that_does_not_fit_what_it_meets_is_refused(dtype: str, number: int) -> None:
    with pytest.raises(GradwireError, match=rf"block\.a: {number} doesn't fit {dtype}.*you mean"):
        value(Mul(a=number), b=np.array([1, 2], dtype))


def test_a_literal_that_just_fits_is_not() -> None:
    assert value(Add(a=127), b=np.array([0, -127], np.int8)).tolist() == [127, 0]
    assert value(Mul(a=300), b=np.array([1.0], np.float32)).tolist() == [300]


def test_integers_become_float32_where_reals_come_out() -> None:
    for block in (Sqrt(), Exp(), Log()):
        assert Single(block, x=np.array([1, 4])).traced[1] == "float32"
    assert Single(Div(), a=np.array([1]), b=np.array([2])).traced[1] == "float32"
    assert Single(Square(), x=np.array([1, 4])).traced[1] == "int64"
