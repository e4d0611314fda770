"""Random numbers have the same bits on every engine."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.calculus.dtypes import FLOATS
from tests.runtime.calculus.tracing import compute
from tests.runtime.engine.jax.rows.comparing import Sheet, as_a_whole

UNITS = 4
"""Units in the last place by which normal numbers of float64 may differ."""


@pytest.mark.parametrize("dtype", sorted(FLOATS))
def test_engines_draw_the_same_numbers(dtype):
    sheet = Sheet()
    uniform = sheet.trace.xp.random_uniform((40, 500), 5, dtype)
    normal = sheet.trace.xp.random_normal((3, 9999), 6, dtype)
    assert sheet.trace.step is not None
    sheet.bound[sheet.trace.step] = np.array(7, "uint32")
    flat, bell = as_a_whole([uniform, normal], sheet.bound)
    assert (flat.shape, flat.dtype, bell.shape, bell.dtype) == ((40, 500), dtype, (3, 9999), dtype)
    wanted = compute(normal, sheet.bound)
    assert np.array_equal(flat, compute(uniform, sheet.bound))
    if dtype == "float64":
        np.testing.assert_array_max_ulp(bell, wanted, UNITS)
    else:
        assert np.array_equal(bell, wanted)
