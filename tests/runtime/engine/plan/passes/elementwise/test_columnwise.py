"""Regions with reductions along an axis that is not the last, as machine code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import ColumnwiseTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.night

Array = np.ndarray[Any, Any]
MODULE = importlib.import_module("gradwire.runtime.engine.plan.passes.elementwise.rowwise")
SHAPES = [((40, 33), 0), ((3, 21, 16), 1), ((2, 5, 7, 9), 1), ((2, 3, 30, 20), 2), ((7, 150), 0),
          ((2, 200, 17), 1)]  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few columns at a time: most shapes have several blocks."""
    monkeypatch.setattr(MODULE, "LARGE", 64)
    monkeypatch.setattr(MODULE, "BLOCK", (3, 32))


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for plans, however little they compute."""
    for name in ("PART", "WAKE"):
        monkeypatch.setattr(jobs, name, 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    yield threads.limit
    threads.limit(None)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def run(trace: Trace, outputs: list[Value], *which: Any) -> tuple[Plan, list[Array]]:
    plan = Plan(outputs, which)
    rng = np.random.default_rng(0)
    for value in (v for v in trace.values if v.primitive is LEAF):
        numbers = rng.standard_normal(value.shape)
        plan.leaves[value][...] = numbers > 0 if value.dtype == "bool" else numbers
    plan.run()
    plan.run()
    return plan, [plan.read(value) for value in outputs]


def check(trace: Trace, outputs: list[Value]) -> list[ColumnwiseTask]:
    """Compare with the kernels one by one; returns the regions."""
    plan, found = run(trace, outputs, passes.columnwise)
    _, expected = run(trace, outputs)
    for value, a, b in zip(outputs, found, expected, strict=True):
        if value.dtype == "bool":
            np.testing.assert_array_equal(a, b)
        else:
            bound = 4e-6 if value.dtype == "float32" else 1e-12
            np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
    return [task for _, task in plan.parts if isinstance(task, ColumnwiseTask)]


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_a_softmax_and_its_gradient_are_one_loop(
    shape: tuple[int, ...], axis: int, name: str
) -> None:
    trace = Trace()
    x, g = leaf(trace, *shape), leaf(trace, *shape)
    out = getattr(trace.xp, name)(x * 3.0, axis)
    assert len(check(trace, [out, sweep([(out, g)], [x])[x]])) == 1


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_logarithms_of_sums_of_powers(shape: tuple[int, ...], axis: int, shift: float) -> None:
    trace = Trace()
    x = leaf(trace, *shape)
    out = trace.xp.logsumexp(x * 3.0 + shift, axis)
    g = leaf(trace, *out.shape)
    assert check(trace, [out, sweep([(out, g)], [x])[x]])


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_every_reduction_and_what_follows_from_it(shape: tuple[int, ...], axis: int) -> None:
    """Beside a softmax: by themselves other loops are faster."""
    trace = Trace()
    xp, x = trace.xp, leaf(trace, *shape)
    far = xp.greater(x, 2.5)
    ends = [getattr(xp, name)(x, axis, keepdims=True) for name in ("sum", "max", "min")]
    some = [getattr(xp, name)(far, axis, keepdims=True) for name in ("any", "all")]
    spread = (x - ends[2]) / (ends[1] - ends[2])
    outputs = [*ends, *some, spread, xp.where(some[0], spread, x), xp.greater(spread, 0.5)]
    assert not check(trace, outputs)
    outputs.append(xp.softmax(x, axis))
    assert len(check(trace, outputs)) == 1


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_what_is_repeated_along_any_axis(shape: tuple[int, ...], axis: int) -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, *shape)
    y = x
    for kept in (0, axis, len(shape) - 1):
        y = y * leaf(trace, *(n if i == kept else 1 for i, n in enumerate(shape))) + 0.5
    y = y * leaf(trace, *(1 if i == axis else n for i, n in enumerate(shape)))
    turned = xp.permute_dims(leaf(trace, *shape[::-1]), tuple(range(len(shape)))[::-1])
    mask = xp.less(turned, 1.0)
    assert check(trace, [xp.softmax(xp.where(mask, y, -np.inf), axis), y])


def test_no_number_is_no_number_in_its_column_alone() -> None:
    trace = Trace()
    x = leaf(trace, 40, 50)
    outputs = [trace.xp.softmax(x, 0), trace.xp.log_softmax(x, 0), trace.xp.max(x, 0)]
    case = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    for column, odd in enumerate((np.nan, -np.nan, np.inf, -np.inf)):
        case[7, column] = odd
    case[:, 4], case[:, 5] = -np.inf, np.nan
    found = []
    for which in ((passes.columnwise,), ()):
        plan = Plan([*outputs, outputs[2] - x], which)
        plan.leaves[x][...] = case
        plan.run()
        found.append([plan.read(value) for value in outputs])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=4e-6, atol=1e-30)


@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_the_number_of_threads_changes_no_bit(
    shape: tuple[int, ...], axis: int, limited: Callable[[int], None]
) -> None:
    results = []
    for count in (1, 2, 5):
        limited(count)
        trace = Trace()
        x, g = leaf(trace, *shape), leaf(trace, *shape)
        out = trace.xp.softmax(x, axis)
        results.append(run(trace, [out, sweep([(out, g)], [x])[x]], passes.columnwise)[1])
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_results_in_new_memory_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradwire.runtime.engine.plan.plan.WORTH_GIVING", 1)
    trace = Trace()
    x = leaf(trace, 3, 20, 77)
    out = trace.xp.softmax(x, 1)
    plan = Plan([out], (passes.columnwise,))
    found, expected = [], []
    for seed in range(4):
        case = np.random.default_rng(seed).standard_normal(x.shape).astype(np.float32)
        plan.leaves[x][...] = case
        plan.run()
        found.append(plan.read(out))
        powers = np.exp(case)
        expected.append(powers / powers.sum(1, keepdims=True))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_sums_of_which_nothing_follows_are_left_to_others() -> None:
    trace = Trace()
    x = leaf(trace, 40, 50)
    plan, _ = run(trace, [trace.xp.sum(x * x, 0)], passes.columnwise)
    assert not any(isinstance(task, ColumnwiseTask) for _, task in plan.parts)


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("shape", [(3, 8, 21), (8, 8), (9, 2), (16, 9, 9)])
def test_many_small_ones_are_machine_code_too(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the steps of dynamic programming: each adds what a choice costs, over all before it."""
    monkeypatch.setattr(MODULE, "LARGE", 1 << 12)
    for steps in (20, 2):
        trace = Trace()
        cost, state = leaf(trace, *shape), leaf(trace, *shape[:-2], 1, shape[-1])
        xp, axis = trace.xp, len(shape) - 2
        found = state
        for _ in range(steps):
            found = xp.logsumexp(cost + found, axis, keepdims=True) * 0.9
        gradients = sweep([(found, xp.ones_like(found))], [cost, state])
        regions = check(trace, [found, *gradients.values()])
        assert bool(regions) == (steps > 16 or np.prod(shape) >= 256)
