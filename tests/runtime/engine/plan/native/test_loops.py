"""Loops along several axes at once, whatever their lengths are."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.plan.native import Operation, Recipe, address, compiled
from gradwire.runtime.engine.plan.passes.elementwise.layouts import layout_of

pytest.importorskip("llvmlite")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("lengths", [(20, 9), (32, 8), (16, 16), (8, 3, 4), (2, 100), (7, 8, 9)])
def test_arrays_that_are_repeated_along_some_axes(lengths: tuple[int, ...]) -> None:
    for is_read in ((True, False, True), (False, True, False)):
        some = [n if reads else 1 for n, reads in zip(lengths, is_read, strict=False)]
        x = np.arange(np.prod(lengths), dtype=np.float32).reshape(lengths)
        rows = 1000 * np.arange(np.prod(some), dtype=np.float32).reshape(some)
        out = np.zeros_like(x)
        layout = layout_of([x, np.broadcast_to(rows, lengths), out], 2, x.size, x.size)
        assert layout is not None
        operands, tables = layout.operands([x, np.broadcast_to(rows, lengths)])
        recipe = Recipe(tuple(operands), (Operation("add", "float32", (0, 1)),), (2,))
        frame = np.array([(address(array), 0) for array in (x, rows, out, *tables)])
        compiled(recipe).call(address(frame), x.size, 0, 1)
        np.testing.assert_array_equal(out, x + rows)
