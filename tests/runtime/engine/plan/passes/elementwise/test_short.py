"""Simulations of few elements in many steps: equal loops, few calls, the numbers of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.jobs import Job, Joinable, joined
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise import fused
from gradwire.runtime.engine.plan.passes.elementwise.fused import FEW, ShortTask, short
from gradwire.runtime.engine.plan.passes.elementwise.rows import layout_of
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

pytestmark = pytest.mark.night


def swings(shape: tuple[int, ...], steps: int) -> tuple[list[Value], dict[Value, Any]]:
    """The end of a simulation of pendulums and its gradients, with numbers for its leaves."""
    trace = Trace()
    leaves = x, k, dt = tuple(
        trace.apply(LEAF, shape=s, dtype="float32") for s in (shape, shape, ())
    )
    xp = trace.xp
    for _ in range(steps):
        x = x + dt * xp.sin(k * x)
    end = xp.sum(x * x)
    gradients = sweep([(end, xp.ones_like(end))], leaves)
    rng = np.random.default_rng(0)
    numbers = [rng.standard_normal(s).astype("float32") for s in (shape, shape, ())]
    return [end, *(gradients[x] for x in leaves)], dict(zip(leaves, numbers, strict=True))


def run(plan: Plan, outputs: list[Value], numbers: dict[Value, Any]) -> list[Any]:
    for leaf, array in numbers.items():
        plan.leaves[leaf][...] = array
    plan.run()
    return [plan.read(value) for value in outputs]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("shape", [(2,), (64,), (100,), (3, 7), (2047,)])
def test_numbers_are_those_of_the_kernels(shape: tuple[int, ...]) -> None:
    outputs, numbers = swings(shape, 40)
    plan = Plan(outputs, passes.FAST)
    expected = run(Plan(outputs, ()), outputs, numbers)
    for _ in range(2):
        for a, b in zip(run(plan, outputs, numbers), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=4e-6, atol=4e-6 * np.abs(b).max())
    assert any(isinstance(task, ShortTask) for _, task in plan.parts)


def layouts(dtype: str) -> tuple[list[Value], dict[Value, Any]]:
    """Arithmetic on parts, backwards, across, and with a number for each row and column."""
    trace = Trace()
    shapes = (6, 8), (8, 6), (8,), (6, 1), (6, 24)
    leaves = [trace.apply(LEAF, shape=s, dtype=dtype) for s in shapes]
    x, across, row, column, wide = leaves
    xp = trace.xp
    for _ in range(12):
        y = xp.where(x > row, x * column, xp.permute_dims(across, (1, 0)) - x)
        y = xp.maximum(y[:, ::-1] + wide[:, ::3], -y) * 0.5
        inner = y[1:-1, 1:-1] + (y[:-2, 1:-1] - y[2:, 1:-1]) * row[1:-1]
        x = xp.embed(inner, x.shape, (slice(1, 5), slice(1, 7))) + y
        across = xp.permute_dims(x, (1, 0)) * 0.5
    rng = np.random.default_rng(0)
    return [x, inner, y], {v: rng.standard_normal(v.shape).astype(dtype) for v in leaves}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_is_equal_bit_for_bit_however_arrays_lie(dtype: str) -> None:
    outputs, numbers = layouts(dtype)
    expected = run(Plan(outputs, ()), outputs, numbers)
    plan = Plan(outputs, (short,))
    assert any(isinstance(task, ShortTask) for _, task in plan.parts)
    for _ in range(2):
        for a, b in zip(run(plan, outputs, numbers), expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("least", [0, 1 << 30], ids=["in place", "apart"])
def test_without_rows_all_is_copied(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def layout(arrays: Any, *how: Any) -> Any:
        return layout_of(arrays, *how) if all(x.flags.c_contiguous for x in arrays) else None

    monkeypatch.setattr(fused, "layout_of", layout)
    monkeypatch.setattr("gradwire.runtime.engine.plan.memory._SMALL", least)
    outputs, numbers = layouts("float32")
    expected = run(Plan(outputs, ()), outputs, numbers)
    for a, b in zip(run(Plan(outputs, (short,)), outputs, numbers), expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.night
def test_a_repeated_step_is_compiled_once_and_called_in_a_row() -> None:
    outputs, numbers = swings((64,), 200)
    without_dt = outputs[:3]
    before = compiled_region.cache_info().misses
    plan = Plan(without_dt, passes.FAST)
    loops = [task for _, task in plan.parts if isinstance(task, ShortTask)]
    assert len(loops) > 1000 // FEW
    assert compiled_region.cache_info().misses - before <= 12
    steps = [step for step, _ in joined([step for step, _ in plan.parts])]
    assert len(steps) <= 6
    assert run(plan, without_dt, numbers)


def test_few_operations_are_not_compiled() -> None:
    outputs, _ = swings((64,), 5)
    assert not any(isinstance(t, ShortTask) for _, t in Plan(outputs, passes.FAST).parts)


def test_of_loops_that_differ_those_that_come_often_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs, numbers = swings((64,), 60)
    expected = run(Plan(outputs, ()), outputs, numbers)
    counts = []
    for most in (32, 1, 0):
        monkeypatch.setattr("gradwire.runtime.engine.plan.passes.elementwise.fused.DIFFERENT", most)
        plan = Plan(outputs, (short,))
        loops = [task.pattern() for _, task in plan.parts if isinstance(task, ShortTask)]
        assert len(set(loops)) <= most
        counts.append(len(loops))
        for a, b in zip(run(plan, outputs, numbers), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=4e-6, atol=4e-6 * np.abs(b).max())
    assert counts[0] > counts[1] > counts[2] == 0


def test_one_operation_is_numpys_unless_it_is_next_to_machine_code() -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=(9, 5), dtype="float32") for _ in range(2))
    xp, chain = trace.xp, x
    for _ in range(70):  # what is sorted is no machine code
        chain = xp.sort(chain * y, 1)
    plan = Plan([chain], passes.FAST)
    ours = [step for step, task in plan.parts if isinstance(task, ShortTask)]
    assert ours and all(isinstance(step, Joinable) for step in ours)
    assert len(joined([step for step, _ in plan.parts])) == len(plan.parts)
    for step in ours:
        assert isinstance(step.job(), Job)


def test_what_numpy_computes_overwrites_only_what_it_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``where`` writes one side before it reads the other."""
    monkeypatch.setattr("gradwire.runtime.engine.plan.memory._SMALL", 0)
    trace = Trace()
    mask = trace.apply(LEAF, shape=(9, 5), dtype="bool")
    x, y = (trace.apply(LEAF, shape=(9, 5), dtype="float32") for _ in range(2))
    xp, chain = trace.xp, x
    for i in range(70):
        sides = (xp.sort(chain, 1), y)
        chain = xp.where(mask, *(sides if i % 2 else sides[::-1]))
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in (x, y)} | {mask: rng.random((9, 5)) > 0.5}
    plan = Plan([chain], passes.FAST)
    assert any(isinstance(task, ShortTask) for _, task in plan.parts)
    np.testing.assert_array_equal(
        run(plan, [chain], numbers), run(Plan([chain], ()), [chain], numbers)
    )


def test_without_a_compiler_all_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "installed", lambda: False)
    outputs, _ = swings((64,), 60)
    assert not any(isinstance(t, ShortTask) for _, t in Plan(outputs, (passes.short,)).parts)
