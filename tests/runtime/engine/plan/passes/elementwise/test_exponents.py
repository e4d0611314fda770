"""Powers in regions of machine code, whose exponents change from run to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.passes import FAST
from gradwire.runtime.engine.plan.passes.elementwise.components import ComponentsTask
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

EXPONENTS = [2.0, 3.0, 2.0, -1.5, 2.3, 0.0, 7.0, np.nan]


def squares(trace: Trace, x: Value, b: Value) -> Value:
    """Two powers in one region, of which one exponent is computed."""
    return (x**b + x ** (b - 1)) * 2


def standardised(trace: Trace, x: Value, b: Value) -> Value:
    """A power of deviations from the mean of their row, and its mean."""
    xp = trace.xp
    powers = (x - xp.mean(x, -1, keepdims=True)) ** b
    return powers / xp.sum(powers, -1, keepdims=True)


def distances(trace: Trace, x: Value, b: Value) -> Value:
    """A power of coordinates, added up by point."""
    return trace.xp.sum((x * 0.5) ** b, -1)


@pytest.mark.night
@pytest.mark.parametrize(
    ("function", "shape", "kind"),
    [
        (squares, (70_000,), FusedTask),
        (standardised, (100, 64), RowwiseTask),
        (distances, (40, 50, 3), ComponentsTask),
    ],
)
def test_each_run_has_its_exponents(function: Any, shape: tuple[int, ...], kind: type) -> None:
    trace = Trace()
    x, b = (trace.apply(LEAF, shape=s, dtype="float32") for s in (shape, ()))
    outputs = [function(trace, x, b)]
    threads.limit(2)
    try:
        plans = [Plan(outputs, FAST), Plan(outputs)]
    finally:
        threads.limit(None)
    owners = [task for _, task in plans[0].parts if isinstance(task, kind)]
    powers = [v for task in owners for v in task.covers if v.primitive.name == "power"]
    assert powers, "no region has the power"
    data = np.random.default_rng(0).standard_normal(shape)
    for exponent in EXPONENTS:
        for plan in plans:
            plan.leaves[x][...], plan.leaves[b][...] = data, exponent
            plan.run()
        found, expected = (plan.read(outputs[0]) for plan in plans)
        np.testing.assert_allclose(found, expected, rtol=3e-4, atol=1e-5)


def test_an_exponent_for_each_element_is_no_number() -> None:
    trace = Trace()
    x, b = (trace.apply(LEAF, shape=(5000,), dtype="float32") for _ in range(2))
    outputs = [x**b + 1]
    plan = Plan(outputs, FAST)
    rng = np.random.default_rng(0)
    plan.leaves[x][...] = base = rng.uniform(0.5, 2, 5000).astype(np.float32)
    plan.leaves[b][...] = exponents = rng.integers(-4, 5, 5000).astype(np.float32)
    plan.run()
    np.testing.assert_allclose(plan.read(outputs[0]), base**exponents + 1, rtol=3e-7)
