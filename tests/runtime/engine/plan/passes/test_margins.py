"""Gradients of stencils: shifted views of one array within zeros, equal bit for bit."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.chains import (
    MarginTask,
    PartsTask,
    margins,
    margins_shared,
)
from gradwire.runtime.engine.plan.plan import Plan

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.tasks import Task

pytest.importorskip("llvmlite")

TASKS: list[Task] = []


def seen(tasks: list[Task], kept: Any) -> list[Task]:
    """A pass that only looks."""
    TASKS[:] = tasks
    return tasks


def run(outputs: list[Value], numbers: dict[Value, Any], *which: passes.Pass) -> list[Any]:
    plan = Plan(outputs, which)
    for leaf, array in numbers.items():
        plan.leaves[leaf][...] = array
    for _ in range(2):
        plan.run()
    return [plan.read(value) for value in outputs]


def fields(
    shape: tuple[int, ...], steps: int, dtype: str = "float32"
) -> tuple[list[Value], dict[Value, Any]]:
    """Diffusion along all axes: the end and the gradient, no constant."""
    trace = Trace()
    u = leaf = trace.apply(LEAF, shape=shape, dtype=dtype)
    inner = (slice(1, -1),) * len(shape)
    for _ in range(steps):
        around = -2 * len(shape) * u[inner]
        for axis in range(len(shape)):
            for side in (slice(None, -2), slice(2, None)):
                around = around + u[(*inner[:axis], side, *inner[axis + 1 :])]
        u = u[inner] + 0.1 * around / (1 + u[inner] * u[inner])
    end = trace.xp.sum(u * u)
    gradient = sweep([(end, trace.xp.ones_like(end))], [leaf])[leaf]
    rng = np.random.default_rng(0)
    return [end, gradient], {leaf: rng.standard_normal(shape).astype(dtype)}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(40,), (30, 34), (19, 20, 21)])
def test_gradients_of_stencils_are_equal_bit_for_bit(shape: tuple[int, ...], dtype: str) -> None:
    outputs, numbers = fields(shape, 3, dtype)
    expected = run(outputs, numbers)
    found = run(outputs, numbers, margins, margins_shared, seen)
    assert any(isinstance(task, MarginTask) for task in TASKS)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    for a, b in zip(run(outputs, numbers, *passes.FAST), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=4e-6 * np.abs(b).max())


def test_slices_are_computed_within_their_margins_and_nothing_is_copied() -> None:
    plan = Plan(fields((60, 64), 4)[0], (*passes.FAST, seen))
    assert sum(isinstance(task, MarginTask) for task in TASKS) >= 4
    assert not any(isinstance(task, MarginTask | PartsTask) for _, task in plan.parts)


def test_large_memory_serves_slices_of_any_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module(margins.__module__), "LARGE", 1)
    for shape in ((200,), (70, 72)):
        outputs, numbers = fields(shape, 25)
        expected = run(outputs, numbers)
        found = run(outputs, numbers, margins, margins_shared, seen)
        made = [task for task in TASKS if isinstance(task, MarginTask)]
        owners = {id(task.whole.base) for task in made if task.whole is not None}
        assert len(made) > 40
        assert len(owners) <= len(made) // 2
        for a, b in zip(found, expected, strict=True):
            assert np.isfinite(b).all()
            np.testing.assert_array_equal(a, b)


def test_memory_of_one_length_is_used_again_only_when_it_is_free() -> None:
    """Periodic steps, whose arrays all have one shape."""
    trace = Trace()
    u = leaf = trace.apply(LEAF, shape=(50,), dtype="float32")
    grown = []
    for _ in range(12):
        wide = trace.xp.pad(u, [(1, 1)])
        shifted = trace.xp.embed(u[1:], (50,), (slice(0, 49),))
        u = u + (wide[:-2] - shifted) * u
        grown.append(trace.xp.embed(u[:-1], (50,), (slice(1, 50),)) + u)
    end = trace.xp.sum(sum(grown[1:], grown[0]) * u)
    gradient = sweep([(end, trace.xp.ones_like(end))], [leaf])[leaf]
    numbers = {leaf: np.random.default_rng(0).standard_normal(50).astype("float32") / 9}
    expected = run([end, gradient, u], numbers)
    found = run([end, gradient, u], numbers, margins, margins_shared, seen)
    made = [task for task in TASKS if isinstance(task, MarginTask)]
    assert len({id(task.whole.base) for task in made if task.whole is not None}) < len(made)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["little", "steps", "filled", "alone", "kept"])
def test_others_stay_as_they_are(name: str) -> None:
    trace = Trace()
    xp = trace.xp
    x, more = (trace.apply(LEAF, shape=(n,), dtype="float32") for n in (20, 40))
    places = {"little": slice(3, 23), "steps": slice(0, 40, 2)}
    shape = 41 if name == "little" else 40
    if name in ("filled", "alone", "kept"):
        x = more[1:]
        places[name] = slice(0, 39)
    found = xp.embed(x * 2, (shape,), (places[name],), 1 if name == "filled" else 0)
    outputs = [found * 2 if name == "alone" else found + found * 0.5]
    if name == "kept":
        outputs.append(found)
    Plan(outputs, (margins, margins_shared, seen))
    assert not any(isinstance(task, MarginTask) for task in TASKS)


def test_without_a_compiler_parts_are_added_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "installed", lambda: False)
    Plan(fields((40,), 2)[0], (passes.margins, seen))
    assert not any(isinstance(task, MarginTask) for task in TASKS)


def test_what_is_padded_for_its_neighbours_is_computed_within_the_padding() -> None:
    """As a field with a border that is 0, in each of its steps."""
    trace = Trace()
    u = leaf = trace.apply(LEAF, shape=(40, 50), dtype="float32")
    for _ in range(3):
        v = trace.xp.pad(u * u, [(1, 1), (1, 1)])
        u = 0.3 * (v[:-2, 1:-1] + v[2:, 1:-1] - v[1:-1, 1:-1]) + u
    numbers = {leaf: np.random.default_rng(0).standard_normal((40, 50)).astype("float32") / 2}
    expected = run([u], numbers)
    found = run([u], numbers, margins, margins_shared, seen)
    assert sum(isinstance(task, MarginTask) for task in TASKS) == 3
    np.testing.assert_array_equal(found[0], expected[0])
    plan = Plan([u, trace.xp.matmul(v, trace.xp.permute_dims(v, (1, 0)))], (margins, seen))
    assert sum(isinstance(task, MarginTask) for task in TASKS) == 2, "others want whole rows"
    assert len(plan)


def test_memory_serves_no_slice_of_another_length() -> None:
    """What lies behind a shorter one would be the end of the longer one."""
    trace = Trace()
    y = leaf = trace.apply(LEAF, shape=(12,), dtype="float32")
    for n in (11, 9, 10, 8, 11):
        first = trace.xp.embed(y[:n] * 0.5, (12,), (slice(0, n),))
        last = trace.xp.embed(y[12 - n :] * 0.25, (12,), (slice(12 - n, 12),))
        y = first + last + y * 0.125
    numbers = {leaf: np.arange(1, 13, dtype=np.float32)}
    expected = run([y], numbers)
    found = run([y], numbers, margins, margins_shared, seen)
    assert sum(isinstance(task, MarginTask) for task in TASKS) == 10
    np.testing.assert_array_equal(found[0], expected[0])


def test_results_that_are_views_of_a_margin_keep_it() -> None:
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(10,), dtype="float32") for _ in range(2)]
    wide = [trace.xp.embed(x * 2, (12,), (slice(1, 11),)) for x in leaves]
    outputs = [x[:10] for x in wide]
    numbers = {leaf: np.full(10, i + 1, np.float32) for i, leaf in enumerate(leaves)}
    expected = run(outputs, numbers)
    found = run(outputs, numbers, margins, margins_shared, seen)
    assert sum(isinstance(task, MarginTask) for task in TASKS) == 2
    np.testing.assert_array_equal(found, expected)
