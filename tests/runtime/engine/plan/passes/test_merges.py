"""Heads that are merged without a copy: the values of the plain plan, in fewer steps."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.merges import MergeTask
from gradwire.runtime.engine.plan.passes.products import ProductTask
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.tasks import PlainTask

Array = np.ndarray[Any, Any]
CODE = passes.native_products, passes.merges
AXES = [(0, 2, 1, 3), (2, 1, 0, 3), (0, 3, 1, 2), (3, 0, 1, 2), (0, 1, 2, 3)]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products are machine code, on any processor."""
    pytest.importorskip("llvmlite")
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.products")
    for name in ("LARGE", "WIDE"):
        monkeypatch.setattr(module, name, 1)


class Heads:
    """Leaves of two batches of matrices, and what is made of them."""

    def __init__(self, dtype: str = "float32") -> None:
        self.trace = Trace()
        self.left, self.right = (
            self.trace.apply(LEAF, shape=shape, dtype=dtype)
            for shape in ((2, 3, 20, 30), (2, 3, 30, 40))
        )
        self.xp = self.trace.xp
        self.product: Value = self.xp.matmul(self.left, self.right)

    def merged(self, x: Value, axes: tuple[int, ...]) -> Value:
        permuted = self.xp.permute_dims(x, axes)
        first, *others = permuted.shape
        found: Value = self.xp.reshape(permuted, (first * others[0], others[1] * others[2]))
        return found

    def assert_right(self, outputs: list[Value], chosen: tuple[passes.Pass, ...]) -> Plan:
        plan, reference = Plan(outputs, chosen), Plan(outputs, ())
        for seed in range(2):
            rng = np.random.default_rng(seed)
            for leaf in (self.left, self.right):
                numbers = rng.standard_normal(leaf.shape)
                for each in (plan, reference):
                    if leaf in each.leaves:
                        each.leaves[leaf][...] = numbers
            plan.run()
            reference.run()
            for output in outputs:
                found, wanted = plan.read(output), reference.read(output)
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
        return plan


def kinds(plan: Plan) -> list[type]:
    return [type(task) for _, task in plan.parts]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.usefixtures("eager")
def test_a_product_is_computed_where_it_is_merged(axes: tuple[int, ...], dtype: str) -> None:
    heads = Heads(dtype)
    end = heads.xp.square(heads.merged(heads.product, axes))
    assert kinds(heads.assert_right([end], CODE)) == [ProductTask, PlainTask]


@pytest.mark.parametrize(("axes", "copies"), [((0, 2, 1, 3), 0), ((0, 3, 1, 2), 1)], ids=str)
def test_elementwise_arithmetic_leaves_rows_where_they_are_merged(
    axes: tuple[int, ...], copies: int
) -> None:
    heads = Heads()
    end = heads.xp.square(heads.merged(heads.xp.sqrt(heads.xp.abs(heads.left)), axes))
    plan = heads.assert_right([end], (passes.merges,))
    assert kinds(plan).count(MergeTask) == copies
    assert len(plan) == 3 + copies


@pytest.mark.usefixtures("eager")
def test_what_can_lie_in_no_such_order_is_copied() -> None:
    heads = Heads()
    end = heads.xp.square(heads.merged(heads.product, (2, 0, 3, 1)))
    assert kinds(heads.assert_right([end], CODE)) == [ProductTask, MergeTask, PlainTask]


@pytest.mark.usefixtures("eager")
def test_what_is_read_elsewhere_stays_as_it_is() -> None:
    heads = Heads()
    merged = heads.merged(heads.product, (0, 2, 1, 3))
    outputs = [heads.xp.square(merged), heads.xp.abs(heads.product)]
    plan = heads.assert_right(outputs, CODE)
    assert len(plan) == 4
    assert MergeTask not in kinds(plan)


@pytest.mark.usefixtures("eager")
def test_results_are_never_views() -> None:
    heads = Heads()
    merged = heads.merged(heads.product, (0, 2, 1, 3))
    plan = heads.assert_right([merged, heads.product], CODE)
    first = plan.read(merged)
    copy = first.copy()
    plan.leaves[heads.left][...] = 0
    plan.run()
    assert np.array_equal(first, copy)
    assert not plan.read(merged).any()
