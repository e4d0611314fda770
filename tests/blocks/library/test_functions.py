"""Functions of one value: exact where a formula loses digits, and slopes at the edge."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.blocks.library.functions import (
    Arccos,
    Arccosh,
    Arcsin,
    Arcsinh,
    Arctan,
    Arctanh,
    Cosh,
    Erf,
    Sinh,
    Tan,
)
from tests.blocks.single import floats, gradients, value

if TYPE_CHECKING:
    from gradwire.blocks import Block

TINY, LARGE, EDGE = floats(1e-9, -1e-9), floats(1e200, -1e200), floats(1 - 1e-9, 1e-9 - 1)
INSIDE, BEYOND = floats(-0.8, -0.1, 0.3, 0.9), floats(1.5, 2.0, 40.0)


@pytest.mark.parametrize(
    ("block", "function", "x"),
    [
        (Tan(), math.tan, INSIDE),
        (Arcsin(), math.asin, INSIDE),
        (Arcsin(), math.asin, EDGE),
        (Arccos(), math.acos, INSIDE),
        (Arccos(), math.acos, EDGE),
        (Arctan(), math.atan, INSIDE),
        (Arctan(), math.atan, LARGE),
        (Sinh(), math.sinh, INSIDE),
        (Sinh(), math.sinh, TINY),
        (Cosh(), math.cosh, INSIDE),
        (Arcsinh(), math.asinh, INSIDE),
        (Arcsinh(), math.asinh, TINY),
        (Arcsinh(), math.asinh, LARGE),
        (Arccosh(), math.acosh, BEYOND),
        (Arccosh(), math.acosh, LARGE[:1]),
        (Arctanh(), math.atanh, INSIDE),
        (Arctanh(), math.atanh, TINY),
        (Erf(), math.erf, INSIDE),
    ],
    ids=str,
)
def test_values(block: Block, function: object, x: np.ndarray) -> None:
    np.testing.assert_allclose(value(block, x=x), [function(n) for n in x], rtol=1e-15)


@pytest.mark.parametrize(
    ("block", "x", "slopes"),
    [
        (Arcsin(), [1, -1], [np.inf, np.inf]),
        (Arccos(), [1, -1], [-np.inf, -np.inf]),
        (Arccosh(), [1], [np.inf]),
        (Arctanh(), [1, -1], [np.inf, np.inf]),
        (Arcsin(), [1 - 2**-40], [1 / math.sqrt(2**-40 * (2 - 2**-40))]),
        (Arccosh(), [1 + 2**-40], [1 / math.sqrt(2**-40 * (2 + 2**-40))]),
        (Arcsinh(), [1e200, -1e200, np.inf], [1e-200, 1e-200, 0]),
        (Arccosh(), [1e200, np.inf], [1e-200, 0]),
        (Arctan(), [1e200, np.inf], [0, 0]),
    ],
)
def test_slopes_at_the_edge_and_far_out(block: Block, x: list[float], slopes: list[float]) -> None:
    np.testing.assert_allclose(gradients(block, x=floats(*x))["x"], slopes, rtol=1e-14)


@pytest.mark.parametrize("block", [Arcsin(), Arccos(), Arctanh()], ids=str)
def test_beyond_1_is_not_a_number(block: Block) -> None:
    assert np.isnan(value(block, x=floats(1.1, -1.1))).all()


def test_arccosh_below_1_is_not_a_number() -> None:
    assert np.isnan(value(Arccosh(), x=floats(0.9)))


@pytest.mark.parametrize("block", [Arcsinh(), Arccosh()], ids=str)
def test_slopes_of_narrow_floats_do_not_vanish(block: Block) -> None:
    x = np.array([300.0], np.float16)  # whose square float16 does not hold
    np.testing.assert_allclose(gradients(block, np.ones(1), x=x)["x"], [1 / 300], rtol=1e-3)
