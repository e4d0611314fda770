"""Sums of products as one product: of steps, of other terms between them, of factors alike."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.products import ProductSumTask
from gradwire.runtime.engine.plan.plan import Plan


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def numbers_for(trace: Trace) -> dict[Value, Any]:
    rng = np.random.default_rng(0)
    return {v: rng.standard_normal(v.shape) for v in trace.values if v.primitive is LEAF}


def check(trace: Trace, outputs: list[Value], sums: int) -> Plan:
    """Compare with the kernels one by one, also when run again."""
    plan, plain = Plan(outputs, (passes.product_sums,)), Plan(outputs, ())
    found = {task for _, task in plan.parts if isinstance(task, ProductSumTask)}
    assert len(found) == sums
    numbers = numbers_for(trace)
    for each in (plan, plan, plain):
        for value, array in each.leaves.items():
            array[...] = numbers[value]
        each.run()
    for value in outputs:
        b = plain.read(value)
        bound = 1e-12 if value.dtype == "float64" else 4e-6
        np.testing.assert_allclose(plan.read(value), b, rtol=bound, atol=bound * np.abs(b).max())
    return plan


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_weight_of_all_steps_is_one_product(dtype: str) -> None:
    """Nothing is copied: factors are computed side by side, but for the first, which is a leaf."""
    trace = Trace()
    xp, w, h = trace.xp, leaf(trace, 40, 40, dtype=dtype), leaf(trace, 8, 40, dtype=dtype)
    start = h
    for _ in range(5):
        h = xp.tanh(h @ xp.permute_dims(w, (1, 0)))
    total = xp.sum(xp.square(h))
    found = sweep([(total, xp.ones_like(total))], [w, start])
    plan = check(trace, [total, found[w], found[start]], sums=1)
    steps = [task for _, task in plan.parts if isinstance(task, ProductSumTask)]
    assert len(steps) == 2


def test_a_large_product_is_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.products")
    for name in ("LARGE", "WIDE"):
        monkeypatch.setattr(module, name, 1)
    trace = Trace()
    xp, w, h = trace.xp, leaf(trace, 40, 40), leaf(trace, 8, 40)
    for _ in range(5):
        h = xp.tanh(h @ xp.permute_dims(w, (1, 0)))
    total = xp.sum(xp.square(h))
    plan = check(trace, [sweep([(total, xp.ones_like(total))], [w])[w]], sums=1)
    steps = [step for step, task in plan.parts if isinstance(task, ProductSumTask)]
    assert isinstance(steps[-1], Job)


def test_other_terms_stay_terms() -> None:
    trace = Trace()
    xp = trace.xp
    terms = [leaf(trace, 30, 5) @ leaf(trace, 5, 20) for _ in range(4)]
    terms.insert(1, leaf(trace, 30, 20))
    terms.append(xp.exp(terms[1]))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    check(trace, [total * 2, xp.exp(terms[1])], sums=1)


def test_factors_that_are_views_that_are_asked_for_or_that_count_twice_are_copied() -> None:
    trace = Trace()
    xp, x, y = trace.xp, leaf(trace, 30, 5), leaf(trace, 6, 20)
    asked = xp.exp(leaf(trace, 5, 30))
    twice = xp.tanh(leaf(trace, 5, 20))
    turned = xp.permute_dims(asked, (1, 0))
    total = turned @ twice + x @ y[1:] + turned @ xp.exp(y[:5]) + (x * 2) @ twice
    check(trace, [total, asked], sums=1)


def test_factors_that_are_reshaped_keep_their_shape_for_who_else_reads_them() -> None:
    trace = Trace()
    xp = trace.xp
    rows = [xp.exp(leaf(trace, 20)) for _ in range(3)]
    total = xp.reshape(leaf(trace, 30), (30, 1)) @ xp.reshape(rows[0], (1, 20))
    for row in rows[1:]:
        total = total + xp.reshape(leaf(trace, 30), (30, 1)) @ xp.reshape(row, (1, 20))
    check(trace, [total, *(xp.sum(row, axis=0, keepdims=True) for row in rows)], sums=1)


def test_products_that_are_read_or_large_are_left_alone() -> None:
    trace = Trace()
    read = [leaf(trace, 30, 5) @ leaf(trace, 5, 20) for _ in range(3)]
    large = [leaf(trace, 10, 50) @ leaf(trace, 50, 10) for _ in range(3)]
    check(trace, [read[0] + read[1] + read[2], read[1], large[0] + large[1] + large[2]], sums=0)


def test_a_room_counts_as_memory_once() -> None:
    trace = Trace()
    xp, w, h = trace.xp, leaf(trace, 64, 64), leaf(trace, 16, 64)
    for _ in range(8):
        h = xp.tanh(h @ xp.permute_dims(w, (1, 0)))
    total = xp.sum(h)
    outputs = [total, sweep([(total, xp.ones_like(total))], [w])[w]]
    joined, plain = Plan(outputs, (passes.product_sums,)), Plan(outputs, ())
    assert joined.bytes <= 1.6 * plain.bytes
