"""Sums and extremes in machine code: any axes, any memory, and numpy where there is no code."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.jobs import Job
from gradwire.runtime.engine.plan.passes.small.small_folds import FoldTask, folding, small_folds
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

NUMPY = {"sum": np.sum, "max": np.max, "min": np.min}
SHAPES = [(7,), (40,), (3, 21), (70, 2), (4, 9, 5), (3, 1, 6), (2, 3, 4, 5), (1, 1)]


def check(how: str, source: np.ndarray, axes: tuple[int, ...]) -> bool:
    """Whether there is a job, which computes what numpy does."""
    expected = NUMPY[how](source, axes, keepdims=True)
    out = np.full_like(expected, 99)
    job = folding(how, source, out, axes)
    if job is None:
        return False
    job()
    bound = 2e-6 if source.dtype == np.float32 else 1e-14
    np.testing.assert_allclose(out, expected, rtol=bound, atol=bound * 10)
    if how != "sum":
        np.testing.assert_array_equal(out, expected)
    return True


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", NUMPY)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_axes_of_arrays_in_any_order(shape: tuple[int, ...], how: str, dtype: str) -> None:
    rng = np.random.default_rng(0)
    some = 0
    for order in permutations(range(len(shape))):
        x = (
            rng.standard_normal([shape[i] for i in order])
            .astype(dtype)
            .transpose(np.argsort(order))
        )
        for count in range(1, len(shape) + 1):
            for axes in combinations(range(len(shape)), count):
                some += check(how, x, axes)
    assert some


@pytest.mark.parametrize("how", NUMPY)
def test_parts_of_arrays_and_arrays_that_are_repeated(how: str) -> None:
    x = np.random.default_rng(0).standard_normal((6, 20, 8)).astype(np.float32)
    for part in (x[:, 1:-2, 3:], x[::2, ::3], x[:, ::-1], x[1], x[..., ::2]):
        for axis in range(part.ndim):
            check(how, part, (axis,))
    assert check(how, x[1:5, 3:, 2:7], (1,))
    check(how, np.broadcast_to(x[:, :1], x.shape), (1,))


@pytest.mark.parametrize("how", NUMPY)
def test_axes_with_others_between_are_folded_one_by_one(how: str) -> None:
    x = np.random.default_rng(0).standard_normal((4, 6, 5, 9)).astype(np.float32)
    for axes in [(0, 3), (0, 2), (1, 3), (0, 2, 3), (0, 1, 3)]:
        assert check(how, x, axes)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("how", ["max", "min"])
def test_no_number_wins(how: str, axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((5, 19, 3)).astype(np.float32)
    x[2, 17, 1], x[0, 0, 0], x[1, :, 2] = np.nan, np.nan, -np.inf
    x[3, 4], x[4, 18, 2] = np.inf, np.nan
    assert check(how, x, (axis,))


@pytest.mark.parametrize("how", NUMPY)
def test_long_axes_have_no_larger_errors_than_numpy(how: str) -> None:
    rng = np.random.default_rng(0)
    for shape, axis in [((70_000, 3), 0), ((3, 4_096), 1), ((2, 5_000, 70), 1), ((257, 65), 0)]:
        x = (1 + rng.random(shape)).astype(np.float32)
        exact = NUMPY[how](x.astype(np.float64), axis, keepdims=True)
        out = np.zeros(exact.shape, np.float32)
        job = folding(how, x, out, (axis,))
        assert job is not None
        job()
        np.testing.assert_allclose(out, exact, rtol=2e-6)
    assert folding("sum", x.reshape(1, -1), out, (1,)) is None


def test_what_is_not_tiny_is_machine_code_by_itself() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(64, 12, 5), dtype="float32")
    y = trace.apply(LEAF, shape=(12, 3), dtype="float32")
    outputs = [trace.xp.sum(x, 1), trace.xp.max(x, 2), trace.xp.sum(y, 0)]
    plan = Plan(outputs, (small_folds,))
    jobs = [isinstance(step, Job) for step, task in plan.parts if isinstance(task, FoldTask)]
    assert jobs == [True, True, False]
    rng = np.random.default_rng(0)
    for _ in range(2):
        numbers = [rng.standard_normal(v.shape).astype(np.float32) for v in (x, y)]
        plan.leaves[x][...], plan.leaves[y][...] = numbers
        plan.run()
        np.testing.assert_array_equal(plan.read(outputs[0]), numbers[0].sum(1))
        np.testing.assert_array_equal(plan.read(outputs[1]), numbers[0].max(2))
        np.testing.assert_allclose(plan.read(outputs[2]), numbers[1].sum(0), rtol=1e-5)
