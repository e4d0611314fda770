"""Small products in machine code, where a plan has many: any sizes, any memory, one call."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.compiled import CompiledTask
from gradwire.runtime.engine.plan.passes.products import ProductTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.night

MODULE = "gradwire.runtime.engine.plan.passes.products"


@pytest.fixture(autouse=True)
def on_any_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the library's products are faster."""
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.products")
    monkeypatch.setattr(module, "WIDE", 1)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def compare(outputs: list[Value], leaves: list[Value], *which: Any) -> Plan:
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in leaves}
    plan, reference = Plan(outputs, which), Plan(outputs, ())
    for _ in range(2):
        for each in (plan, reference):
            for value, array in numbers.items():
                each.leaves[value][...] = array
            each.run()
        for value in outputs:
            bound = 2e-5 if value.dtype == "float32" else 1e-12
            found, expected = plan.read(value), reference.read(value)
            np.testing.assert_allclose(found, expected, rtol=bound, atol=bound * 10)
    return plan


def network(layers: int, rows: int, width: int, dtype: str) -> tuple[list[Value], list[Value]]:
    """The last layer, and the gradients by all weights, biases and the input."""
    trace = Trace()
    xp, x = trace.xp, leaf(trace, rows, width, dtype=dtype)
    h, leaves = x, [x]
    for _ in range(layers):
        w, b = leaf(trace, width, width, dtype=dtype), leaf(trace, width, dtype=dtype)
        h = xp.tanh(xp.matmul(h, w) * 0.3 + b)
        leaves += [w, b]
    g = leaf(trace, rows, width, dtype=dtype)
    gradients = sweep([(h, g)], leaves)
    return [h, *gradients.values()], [*leaves, g]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "width"), [(1, 1), (4, 3), (5, 16), (33, 40), (64, 7)])
def test_a_deep_network_of_narrow_layers(rows: int, width: int, dtype: str) -> None:
    outputs, leaves = network(12, rows, width, dtype)
    plan = compare(outputs, leaves, *passes.FAST)
    kinds = [type(task) for _, task in plan.parts]
    if rows > 4:  # of less, numpy's sums and products are others' to take
        assert ProductTask in kinds and CompiledTask in kinds


def test_steps_in_between_are_few_calls() -> None:
    outputs, leaves = network(12, 33, 40, "float32")
    plan = compare(outputs, leaves, *passes.FAST)
    assert len(plan._joined) < len(plan.parts) / 4


def test_few_products_and_those_of_many_kinds_are_left_to_numpy() -> None:
    for sizes in ([5] * 10, range(1, 60)):
        trace = Trace()
        pairs = [(leaf(trace, n, 3), leaf(trace, 3, m)) for n in sizes for m in (4, 30)]
        outputs = [trace.xp.matmul(*pair) for pair in pairs]
        plan = compare(outputs, [x for pair in pairs for x in pair], passes.small_products)
        assert not any(isinstance(task, ProductTask) for _, task in plan.parts)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[MODULE], "FEWEST", 1)
    monkeypatch.setattr(sys.modules[MODULE], "DIFFERENT", 100)


SHAPES = [
    ((3, 5), (5, 4)), ((1, 7), (7, 1)), ((40, 2), (2, 50)), ((64, 50), (50, 2)), ((2, 9), (9, 33)),
    ((20, 600), (600, 3)), ((6, 3, 5), (6, 5, 2)), ((2, 3, 4, 5), (3, 5, 17)), ((4, 5), (3, 5, 6)),
]  # fmt: skip


@pytest.mark.sampled(one_in=7)
@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("turned", [(), (0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_any_sizes_and_any_operands_that_are_turned(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], turned: tuple[int, ...]
) -> None:
    trace = Trace()
    leaves, operands = [], []
    for i, shape in enumerate(shapes):
        given = (*shape[:-2], shape[-1], shape[-2]) if i in turned else shape
        leaves.append(leaf(trace, *given))
        axes = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        operands.append(trace.xp.permute_dims(leaves[-1], axes) if i in turned else leaves[-1])
    y = trace.xp.matmul(*operands)
    plan = compare([y, y * 2], leaves, passes.small_products)
    assert any(isinstance(task, ProductTask) for _, task in plan.parts)


@pytest.mark.usefixtures("eager")
def test_operands_whose_elements_lie_apart() -> None:
    trace = Trace()
    wide, other = leaf(trace, 6, 5, 2), leaf(trace, 5, 4)
    apart = trace.xp.squeeze(trace.xp.matmul(wide, leaf(trace, 2, 1)), 2)
    strided = trace.xp.permute_dims(wide, (2, 1, 0))
    outputs = [trace.xp.matmul(apart, other), trace.xp.matmul(strided, apart)]
    compare(outputs, [v for v in trace.values if v.primitive is LEAF], passes.small_products)
