"""Short last axes, component by component: pairs of points, any operands, any sums."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.norms import norm_of
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.components import ComponentsTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.elementwise.components")
    monkeypatch.setattr(module, "LARGE", 64)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def check(trace: Trace, outputs: list[Value], exact: int = 0) -> list[np.ndarray]:
    """Compare with the kernels one by one; so many of the first outputs are equal bit for bit."""
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in trace.values if v.primitive is LEAF}
    plan, plain = Plan(outputs, (passes.components,)), Plan(outputs, ())
    assert any(isinstance(task, ComponentsTask) for _, task in plan.parts)
    for each in (plan, plain):
        for value, array in each.leaves.items():
            array[...] = numbers[value]
        each.run()
    found = [plan.read(value) for value in outputs]
    for number, (a, value) in enumerate(zip(found, outputs, strict=True)):
        b = plain.read(value)
        bound = 0 if number < exact else 4e-6
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
    return found


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [2, 3, 4, 7, 8, 9, 15, 16])
def test_distances_of_all_pairs_and_their_gradient(width: int, dtype: str) -> None:
    trace = Trace()
    xp, x, g = trace.xp, leaf(trace, 70, width, dtype=dtype), leaf(trace, 70, 70, dtype=dtype)
    away = xp.reshape(x, (70, 1, width)) - xp.reshape(x, (1, 70, width))
    square = xp.sum(xp.square(away), -1)
    check(trace, [square, away, sweep([(square, g)], [x])[x]], exact=2)


@pytest.mark.parametrize("lead", [(100,), (40, 50), (2, 30, 40)])
def test_operands_of_any_shape_in_any_memory(lead: tuple[int, ...]) -> None:
    trace = Trace()
    xp, shape = trace.xp, (*lead, 3)
    x, scale, each = leaf(trace, *shape), leaf(trace, 3), leaf(trace, *lead, 1)
    back = leaf(trace, *lead, 6)[..., ::-2]
    flipped = xp.flip(leaf(trace, *shape), -2)
    turned = xp.permute_dims(leaf(trace, 3, *lead), (*range(1, len(lead) + 1), 0))
    far = xp.greater(x, flipped)
    y = xp.where(far, x * scale, back - each) + turned * 0.5
    check(trace, [y, far, xp.sum(y, -1), xp.sum(y * y, -1, keepdims=True) * each], exact=4)


def test_sums_over_every_axis() -> None:
    trace = Trace()
    xp, x, row = trace.xp, leaf(trace, 90, 40, 3), leaf(trace, 1, 40, 3)
    y = x * row
    sums = [xp.sum(y, axis) for axis in (2, 0, 1, (0, 1), (1, 2), None)]
    check(trace, [y, *sums, norm_of(y)], exact=2)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_rows_are_shared_by_threads(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    outcomes = []
    for count in (1, number):
        trace = Trace()
        xp, x, row = trace.xp, leaf(trace, 150, 40, 3), leaf(trace, 1, 40, 3)
        y = x - row
        threads.limit(count)
        try:
            outcomes.append(check(trace, [xp.sum(y * y, a) for a in (0, 1, 2, None)]))
        finally:
            threads.limit(None)
    for a, b in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(a, b)


def test_contiguous_arrays_are_left_to_flat_loops() -> None:
    trace = Trace()
    x, y = leaf(trace, 200, 3), leaf(trace, 200, 3)
    plan = Plan([x * y + 1], (passes.components,))
    assert not any(isinstance(task, ComponentsTask) for _, task in plan.parts)
