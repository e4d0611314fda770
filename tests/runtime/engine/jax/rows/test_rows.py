"""Every primitive has a row, with the shape, dtype and numbers of its kernel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

from gradwire.runtime.calculus import Trace, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.jax.traced import ROWS, apply
from gradwire.runtime.engine.norms import RMS, SUM_OF_SQUARES, square_of
from tests.runtime.calculus.cases import CASES
from tests.runtime.calculus.test_primitives import table
from tests.runtime.engine.jax.rows.comparing import Sheet, arrays_of, check, computed
from tests.runtime.engine.programs import FAMILIES

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from tests.runtime.calculus.tracing import Array

BOUND_BY_PLANS = {"leaf", "constant"}
OUTSIDE_OF_FAMILIES = {RMS.name, SUM_OF_SQUARES.name, "custom_vjp"}


def test_every_primitive_has_a_row_or_is_computed_as_it_is_spelled():
    known = {*ROWS, *BOUND_BY_PLANS}
    others = {p.name: str(p.spelling.jax) for p in table() if p.name not in known}
    assert set(ROWS) <= {p.name for p in table()} | OUTSIDE_OF_FAMILIES
    assert {
        name for name, text in others.items() if text == "None" or re.search(r"\b_", text)
    } == set()


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rows_have_the_numbers_of_kernels(dtype):
    """All cases, at random numbers."""
    sheet = Sheet()
    for case in CASES:
        if dtype == "float64" or dtype in case.dtypes:
            sheet.add(case.call, *[_as(x, dtype) for x in case.inputs])
    assert {v.primitive.name for v in sheet.trace.values} >= {
        p.name for p in table() if p.name != "one_hot"
    }
    sheet.check()


@pytest.mark.night
def test_rows_have_the_numbers_of_kernels_in_gradients():
    """What no case has by itself, once each."""
    sheet = Sheet()
    for case in CASES:
        leaves = [sheet.leaf(_as(x, "float32")) for x in case.inputs]
        result = sheet.trace.xp.asarray(case.call(sheet.trace.xp, *leaves))
        if result.dtype == "float32":
            sweep([(result, sheet.trace.xp.ones_like(result))], leaves)
    once = {_signature(value): value for value in computed(sheet.trace.values)}
    check(once.values(), arrays_of(sheet.trace, sheet.bound))


def _as(x: Array, dtype: str) -> Array:
    return x.astype(dtype) if x.dtype.kind == "f" else x


def _signature(value: Value) -> str:
    shapes = [(x.shape, x.dtype) for x in value.inputs]
    return repr((value.primitive.name, shapes, sorted(value.attributes.items())))


@pytest.mark.night
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_numbers_of_kernels_in_programs(family):
    written = FAMILIES[family](3)
    numbers = {x: np.asarray(array, x.dtype) for x, array in written.numbers(1).items()}
    check(computed(written.trace.values), arrays_of(written.trace, numbers))


@pytest.mark.night
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sums_of_squares_are_those_of_numpy_also_where_the_dtype_overflows(dtype):
    rng = np.random.default_rng(0)
    largest = 200.0 if dtype == "float16" else 1e30
    for scale, shape in ((1.0, (33, 5)), (1.0, ()), (largest, (4, 3)), (1.0, (0, 2))):
        array = (scale * rng.standard_normal(shape)).astype(dtype)
        trace = Trace()
        total = square_of(trace.apply(LEAF, shape=shape, dtype=dtype))
        with jax.enable_x64(True):
            found = apply(total, [jax.numpy.asarray(array)])
        wanted = np.sum(array.astype(np.float64) ** 2)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
