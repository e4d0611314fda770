"""Products of columns and rows are elementwise: their numbers, and that they join regions."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise import fused as fused_tasks
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.plan import Plan

SHAPES = [((3, 1), (1, 4)), ((0, 1), (1, 4)), ((90, 1), (1, 70)), ((2, 1, 90, 1), (3, 1, 70))]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize("which", [(), passes.DEFAULT, passes.FAST], ids=["plain", "numpy", "fast"])
def test_a_column_times_a_row_is_their_matrix_product(
    which: tuple[passes.Pass, ...], dtype: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    trace = Trace()
    column, row = (trace.apply(LEAF, shape=shape, dtype=dtype) for shape in shapes)
    product = column @ row
    outputs = [product, product + 1]
    plan = Plan(outputs, which)
    random = np.random.default_rng(0)
    for leaf in (column, row):
        numbers = (10 * random.standard_normal(leaf.shape)).astype(dtype)
        if dtype.startswith("f") and numbers.size > 8:
            numbers.flat[:3] = np.nan, np.inf, 0
        plan.leaves[leaf][...] = numbers
    plan.run()
    with np.errstate(all="ignore"):
        expected = np.matmul(plan.leaves[column], plan.leaves[row])
        np.testing.assert_array_equal(plan.read(product), expected)
        np.testing.assert_array_equal(plan.read(outputs[1]), expected + np.asarray(1, dtype))


def test_it_is_part_of_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(fused_tasks, "WIDE", 9_000)
    trace = Trace()
    column, row, other = (
        trace.apply(LEAF, shape=shape, dtype="float32") for shape in [(90, 1), (1, 100), (90, 100)]
    )
    alone, joined = column @ row, other - (column @ (row * 2)) * 0.1
    plan = Plan([joined], passes.FAST)
    compiled = [task for _, task in plan.parts if isinstance(task, FusedTask)]
    assert [len(task.tasks) for task in compiled] == [3]
    assert [type(task) for _, task in Plan([alone], passes.FAST).parts] == [FusedTask]
