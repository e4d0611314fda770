"""Every primitive has a row, with the shape, dtype and numbers of its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("jax")

from runtime.calculus import sweep
from runtime.engine.jax.rows import ROWS
from runtime.engine.norms import RMS
from tests.runtime.calculus.cases import CASES
from tests.runtime.calculus.test_primitives import table
from tests.runtime.engine.jax.rows.comparing import Sheet, arrays_of, check, computed
from tests.runtime.engine.programs import FAMILIES

if TYPE_CHECKING:
    from runtime.calculus import Value
    from tests.runtime.calculus.tracing import Array

BOUND_BY_PLANS = {"leaf", "constant"}
OUTSIDE_OF_FAMILIES = {RMS.name, "custom_vjp"}


def test_every_primitive_has_a_row():
    assert set(ROWS) == {p.name for p in table()} - BOUND_BY_PLANS | OUTSIDE_OF_FAMILIES


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


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_numbers_of_kernels_in_programs(family):
    written = FAMILIES[family](3)
    numbers = {x: np.asarray(array, x.dtype) for x, array in written.numbers(1).items()}
    check(computed(written.trace.values), arrays_of(written.trace, numbers))
