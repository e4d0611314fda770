"""What the compiler takes over in plans, and what it leaves to NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import plan as plans
from gradwire.runtime.engine.plan.jobs import Job, Joinable
from gradwire.runtime.engine.plan.passes.compiled import CompiledTask, compiled
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")


def ran(outputs: list[Value], *leaves: Value, passes: Any = (compiled,)) -> Plan:
    """Compares what a plan computes with NumPy; twice, as results of one run stay."""
    plan, plain = Plan(outputs, passes), Plan(outputs, ())
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        for leaf in leaves:
            plan.leaves[leaf][...] = plain.leaves[leaf][...] = rng.standard_normal(leaf.shape)
        plan.run()
        plain.run()
        for value in outputs:
            bound = 1e-5 if value.dtype == "float32" else 1e-13
            np.testing.assert_allclose(plan.read(value), plain.read(value), bound, bound)
    return plan


def steps(plan: Plan) -> list[type]:
    return [type(step) for step, task in plan.parts if isinstance(task, CompiledTask)]


def test_what_is_not_tiny_is_machine_code_by_itself() -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=s, dtype="float32") for s in ((64, 12, 5), (12, 3)))
    xp = trace.xp
    outputs = [xp.sum(x, 1), xp.max(x, 2), xp.cumulative_sum(x, 0), xp.sum(y, 0)]
    assert steps(ran(outputs, x, y)) == [Job, Job, Job, Joinable]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_have_the_bits_of_numpy(axis: int) -> None:
    """Also of reversed arrays, and in memory that is the caller's."""
    trace = Trace()
    x = trace.apply(LEAF, shape=(8, 20, 30), dtype="float32")
    sums = trace.xp.cumulative_sum(x, axis)
    back = trace.xp.flip(trace.xp.cumulative_sum(trace.xp.flip(sums, axis), axis), axis)
    outputs = [sums, back]
    plan, plain = Plan(outputs, (compiled,)), Plan(outputs, ())
    assert steps(plan) == [Job, Job]
    numbers = np.random.default_rng(0).standard_normal(x.shape)
    for each in (plan, plain):
        each.leaves[x][...] = numbers
        each.run()
    for value in outputs:
        np.testing.assert_array_equal(plan.read(value), plain.read(value))


def test_results_in_new_memory_are_computed_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "WORTH_GIVING", 1)
    trace = Trace()
    x = trace.apply(LEAF, shape=(40, 30), dtype="float64")
    outputs = [trace.xp.cumulative_sum(x, 1), trace.xp.sum(x, 1)]
    plan = ran(outputs, x)
    first = [plan.reader(value)() for value in outputs]
    kept = [array.copy() for array in first]
    plan.leaves[x].fill(0)
    plan.run()
    assert not plan.reader(outputs[0])().any()
    np.testing.assert_array_equal(first[0], kept[0])


def test_memory_that_is_shared_is_left_to_numpy() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(64, 70), dtype="float32")
    sums = trace.xp.cumulative_sum(x, 1)
    memory = np.ones(x.shape, np.float32)
    (step,) = CompiledTask(sums, (x,)).bind({x: memory, sums: memory})
    assert not isinstance(step, (Job, Joinable))
    plan = Plan([sums], (compiled,), {x: memory}, [(sums, memory)])
    plan.run()
    np.testing.assert_array_equal(memory[0], np.arange(1, 71))


@pytest.mark.parametrize("shape", [(0, 30), (30, 0)])
def test_what_is_empty_is_left_to_numpy(shape: tuple[int, ...]) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=shape, dtype="float32")
    assert steps(ran([trace.xp.sum(x, 1), trace.xp.cumulative_sum(x, 1)], x)) == []


def test_integers_and_halves_are_left_to_numpy() -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=(40, 40), dtype=d) for d in ("int64", "float16"))
    plan = Plan([trace.xp.max(x, 1), trace.xp.max(y, 1)], (compiled,))
    assert steps(plan) == []
