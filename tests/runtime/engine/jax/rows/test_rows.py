"""Every primitive has a row, with the shape, dtype and numbers of its kernel."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from runtime.calculus import sweep
from runtime.engine.jax.rows import ROWS
from runtime.engine.norms import RMS
from tests.runtime.calculus.cases import CASES
from tests.runtime.calculus.test_primitives import table
from tests.runtime.engine.jax.rows.comparing import Sheet, check
from tests.runtime.engine.programs import FAMILIES

BOUND_BY_PLANS = {"leaf", "constant"}
OUTSIDE_OF_FAMILIES = {RMS.name, "custom_vjp"}


def test_every_primitive_has_a_row():
    assert set(ROWS) == {p.name for p in table()} - BOUND_BY_PLANS | OUTSIDE_OF_FAMILIES


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rows_have_the_numbers_of_kernels(dtype):
    """All cases and their gradients, at random numbers."""
    sheet = Sheet()
    for case in CASES:
        if dtype != "float64" and dtype not in case.dtypes:
            continue
        inputs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in case.inputs]
        leaves = [sheet.leaf(x) for x in inputs]
        result = sheet.trace.xp.asarray(case.call(sheet.trace.xp, *leaves))
        if result.dtype == dtype:
            sweep([(result, sheet.trace.xp.ones_like(result))], leaves)
    assert {v.primitive.name for v in sheet.trace.values} >= {
        p.name for p in table() if p.name != "one_hot"
    }
    sheet.check()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_have_the_numbers_of_kernels_in_programs(family):
    written = FAMILIES[family](3)
    numbers = {x: np.asarray(array, x.dtype) for x, array in written.numbers(1).items()}
    check(written.trace, numbers)
