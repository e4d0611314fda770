"""Regions with reductions of rows as machine code: any rows, any reductions, any threads."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.norms import norm_of
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

SHAPES = [(64, 64), (3, 50, 33), (2, 3, 40, 100), (5, 1000), (130, 32)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.elementwise.rowwise")
    monkeypatch.setattr(module, "LARGE", 64)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def run(outputs: list[Value], numbers: dict[Value, Any], *which: Any) -> list[Any]:
    plan = Plan(outputs, which)
    for value in plan.leaves:
        plan.leaves[value][...] = numbers[value]
    plan.run()
    return [plan.read(value) for value in outputs]


def numbers_for(trace: Trace) -> dict[Value, Any]:
    rng = np.random.default_rng(0)
    leaves = [v for v in trace.values if v.primitive is LEAF]
    return {
        v: rng.integers(0, 2, v.shape) if v.dtype == "bool" else rng.standard_normal(v.shape)
        for v in leaves
    }


def check(trace: Trace, outputs: list[Value], steps: int | None = None) -> None:
    """Compare with the kernels one by one, also when run again."""
    numbers = numbers_for(trace)
    plan = Plan(outputs, (passes.rowwise,))
    assert any(isinstance(task, RowwiseTask) for _, task in plan.parts)
    assert steps is None or len(plan) == steps
    expected = run(outputs, numbers)
    bound = 4e-6 if any(value.dtype == "float32" for value in numbers) else 1e-12
    for _ in range(2):
        for value in plan.leaves:
            plan.leaves[value][...] = numbers[value]
        plan.run()
        for value, b in zip(outputs, expected, strict=True):
            a = plan.read(value)
            if value.dtype == "bool":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_norm_of_a_layer_and_its_gradient_are_a_loop_each(
    shape: tuple[int, ...], dtype: str
) -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, *shape, dtype=dtype)
    weight, bias, g = (leaf(trace, *s, dtype=dtype) for s in (shape[-1:], shape[-1:], shape))
    away = x - xp.mean(x, -1, keepdims=True)
    spread = xp.sqrt(xp.mean(xp.square(away), -1, keepdims=True) + 1e-5)
    y = xp.divide(away, spread) * weight + bias
    check(trace, [y], steps=1)
    check(trace, [sweep([(y, g)], [x])[x]], steps=1)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("shape", SHAPES)
def test_masked_scores_are_normalised_in_one_loop(shape: tuple[int, ...]) -> None:
    """Where nothing may be seen, all is 0; and what is not seen gets no gradient."""
    trace = Trace()
    xp, scores, g = trace.xp, leaf(trace, *shape), leaf(trace, *shape)
    mask = leaf(trace, *(1,) * (len(shape) - 2), *shape[-2:], dtype="bool")
    hidden = xp.where(mask, scores, -np.inf)
    seen = xp.any(xp.not_equal(hidden, -np.inf), -1, keepdims=True)
    share = xp.where(seen, xp.softmax(xp.where(seen, hidden, 0.0), -1), 0.0)
    check(trace, [share, seen], steps=1)
    check(trace, [share, sweep([(share, g)], [scores])[scores]])


@pytest.mark.parametrize("shape", SHAPES)
def test_every_reduction_and_what_follows_from_it(shape: tuple[int, ...]) -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, *shape)
    far = xp.greater(x, 2.5)
    ends = [getattr(xp, name)(x, -1, keepdims=True) for name in ("sum", "max", "min")]
    some = [getattr(xp, name)(far, -1, keepdims=True) for name in ("any", "all")]
    spread = (x - ends[2]) * xp.divide(1.0, ends[1] - ends[2])
    outputs = [*ends, *some, spread, xp.where(some[0], spread, x), xp.greater(spread, 0.5)]
    check(trace, outputs, steps=1)


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_logarithms_of_sums_of_powers_and_their_gradient(
    shape: tuple[int, ...], shift: float
) -> None:
    trace = Trace()
    xp, x, g = trace.xp, leaf(trace, *shape), leaf(trace, *shape[:-1])
    found = xp.logsumexp(x * 3.0 + shift, -1)
    check(trace, [found, sweep([(found, g)], [x])[x]])


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("columns", [1, 2, 5, 10])
@pytest.mark.parametrize("name", ["logsumexp", "max", "min"])
def test_short_rows_too_where_numpy_is_slow(name: str, columns: int) -> None:
    """As of the clusters that a point may be in, or what each of some actions is worth."""
    trace = Trace()
    x, other, g = (leaf(trace, 300, n) for n in (columns, columns, 1))
    y = getattr(trace.xp, name)(x + other, 1, keepdims=True)
    outputs = [y, sweep([(y, g)], [x])[x], x - y]
    if columns > 1:
        check(trace, outputs)
    else:
        numbers = numbers_for(trace)
        found, expected = (run(outputs, numbers, *p) for p in ((passes.rowwise,), ()))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize("steps", [5, 40])
def test_small_rows_are_compiled_where_there_are_many(steps: int) -> None:
    """As of the states that a hidden Markov model may be in, step by step."""
    trace = Trace()
    xp, change, start = trace.xp, leaf(trace, 6, 6), leaf(trace, 6)
    x = start
    for _ in range(steps):
        x = xp.logsumexp(change + xp.reshape(x, (1, 6)), 1)
    seed = xp.asarray(1.0, "float32")
    outputs = [x, sweep([(xp.sum(x), seed)], [change])[change]]
    numbers = numbers_for(trace)
    plan = Plan(outputs, (passes.rowwise,))
    assert any(isinstance(task, RowwiseTask) for _, task in plan.parts) == (steps > 32)
    found, expected = run(outputs, numbers, passes.rowwise), run(outputs, numbers)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_no_number_is_no_number_in_its_row_alone() -> None:
    trace = Trace()
    x = leaf(trace, 8, 40)
    outputs = [trace.xp.softmax(x, -1), trace.xp.max(x, -1), trace.xp.min(x, -1)]
    outputs.append(trace.xp.logsumexp(x, -1))
    outputs.append(trace.xp.exp(x - trace.xp.logsumexp(x, -1, keepdims=True)))
    case = np.random.default_rng(0).standard_normal((8, 40)).astype(np.float32)
    for row, odd in enumerate((np.nan, -np.nan, np.inf, -np.inf)):
        case[row, 7] = odd
    case[4], case[5] = -np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = run(outputs, {x: case})
    for a, b in zip(run(outputs, {x: case}, passes.rowwise), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_rows_are_shared_by_threads(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "WAKE", 1)
    monkeypatch.setattr(jobs, "PART", 1)
    monkeypatch.setattr(jobs, "PLAN", 0)
    trace = Trace()
    x = leaf(trace, 3, 7, 64)
    y = trace.xp.softmax(x, -1) * 3
    outputs = [y, trace.xp.sum(y), norm_of(y)]
    numbers = numbers_for(trace)
    expected = run(outputs, numbers, passes.rowwise)
    threads.limit(number)
    try:
        found = run(outputs, numbers, passes.rowwise)
    finally:
        threads.limit(None)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_totals_of_rows_and_of_what_has_one_element_in_each() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 50, 40)
    mean = xp.mean(x, -1, keepdims=True)
    away = x - mean
    outputs = [xp.sum(away * x), xp.sum(mean), norm_of(away), norm_of(mean)]
    check(trace, outputs, steps=1)


def test_rows_in_any_memory() -> None:
    """Transposed, reversed, every second, repeated."""
    trace = Trace()
    xp = trace.xp
    turned = xp.permute_dims(leaf(trace, 40, 3, 50), (2, 1, 0))
    back, second = leaf(trace, 50, 3, 40)[..., ::-1], leaf(trace, 50, 3, 80)[..., ::2]
    row, each = leaf(trace, 40), xp.broadcast_to(leaf(trace, 50, 1, 1), (50, 3, 40))
    y = turned * back + second * row - each
    check(trace, [y - xp.max(y, -1, keepdims=True), xp.max(each, -1, keepdims=True) + y])


def test_what_is_repeated_along_rows_is_not_written_but_where_it_is_asked_for() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 50, 40)
    mean = xp.broadcast_to(xp.mean(x, -1, keepdims=True), (50, 40))
    check(trace, [x - mean], steps=1)
    check(trace, [x - mean, mean])
    check(trace, [xp.tanh(mean), x - mean])


def test_regions_of_other_rows_stay_apart() -> None:
    """As many rows of two lengths, and sums along other axes."""
    trace = Trace()
    xp, x, z = trace.xp, leaf(trace, 6, 50, 40), leaf(trace, 6, 50, 64)
    both = xp.mean(x, -1, keepdims=True) * xp.mean(z, -1, keepdims=True)
    check(trace, [x * both, z - both, xp.sum(x * both, 0), xp.sum(z - both, (1, 2))])


@pytest.mark.parametrize("shape", [(50, 40), (200, 33), (3, 70, 64), (128, 32)])
def test_sums_of_columns_are_added_on_the_way(shape: tuple[int, ...]) -> None:
    """As of the gradients of a bias and of a weight; in the same order on any threads."""
    trace = Trace()
    xp, x, g = trace.xp, leaf(trace, *shape), leaf(trace, *shape)
    y = xp.divide(x - xp.mean(x, -1, keepdims=True), xp.max(x, -1, keepdims=True))
    lead = tuple(range(len(shape) - 1))
    check(trace, [y, xp.sum(y * g, lead), xp.sum(y, lead, keepdims=True)], steps=1)


@pytest.mark.parametrize("columns", [2, 3])
def test_the_compiler_says_nothing_of_short_rows(
    columns: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gradwire.runtime.engine.plan.native.machine.stored.load", lambda key: None)
    compiled_region.cache_clear()
    trace = Trace()
    x, g = leaf(trace, 512, columns), leaf(trace, 512, columns)
    y = trace.xp.softmax(x, -1)
    check(trace, [y, sweep([(y, g)], [x])[x]])
    assert capfd.readouterr().err == ""
