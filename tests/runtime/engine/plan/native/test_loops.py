"""Loops along several axes at once, whatever their lengths are."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.compiler.recipes import Recipe
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan.native import Operation, address
from gradwire.runtime.engine.plan.passes.elementwise.layouts import Limits, layout_of

pytest.importorskip("llvmlite")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("lengths", [(20, 9), (32, 8), (16, 16), (8, 3, 4), (2, 100), (7, 8, 9)])
def test_arrays_that_are_repeated_along_some_axes(lengths: tuple[int, ...]) -> None:
    for is_read in ((True, False, True), (False, True, False)):
        some = [n if reads else 1 for n, reads in zip(lengths, is_read, strict=False)]
        x = np.arange(np.prod(lengths), dtype=np.float32).reshape(lengths)
        rows = 1000 * np.arange(np.prod(some), dtype=np.float32).reshape(some)
        out = np.zeros_like(x)
        limits = Limits(x.size, x.size, 1, 1)
        layout = layout_of([x, np.broadcast_to(rows, lengths), out], 2, limits)
        assert layout is not None
        operands = tuple(("float32", place) for place in layout.places[:2])
        add = Operation("add", "float32", (0, 1))
        recipe = Recipe(0, operands, (add,), (True,), ((2, layout.places[2]),))
        frame = np.array([(address(array), 0) for array in (x, rows, out, *layout.tables)])
        (sheet,) = layout.sheets
        compiled_region(recipe)(address(frame), sheet.columns, 0, sheet.rows)
        np.testing.assert_array_equal(out, x + rows)
