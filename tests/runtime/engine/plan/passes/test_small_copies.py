"""Copies of small arrays in machine code: any memory, joined and embedded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.jobs import Joinable
from gradwire.runtime.engine.plan.passes.compiled import SmallCopyTask, compiled
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.tasks import copies, small_copy

pytest.importorskip("llvmlite")


def layouts(dtype: str) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Targets, and sources that lie otherwise."""
    x = np.random.default_rng(0).standard_normal((5, 6, 7)).astype(dtype)
    new = np.zeros((9, 10, 11), dtype)
    yield new[:5, :6, :7], x
    yield new[2:7, ::2, 3:6], x[:, :5, 1:4]
    yield new[:7, :6, :5], x.T
    yield new[:5, :6, :7][:, ::-1], x[::-1]
    yield new[:5, :6, :7], x[:, :1]
    yield new[0, 0, :7], x[1, 2]
    yield new[0, 0, :1], x[1, 2, :1]
    yield new[:5, :6, :7], np.array(3, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_copies_leave_the_numbers_and_nothing_beside(dtype: str) -> None:
    for target, source in layouts(dtype):
        step = small_copy(target, source)
        assert isinstance(step, Joinable)
        job = step.job()
        assert job is not None
        whole = target if target.base is None else target.base
        whole[...] = 5
        expected = np.full_like(whole, 5)
        job()
        place = np.zeros(whole.shape, bool)
        np.lib.stride_tricks.as_strided(  # the same part of another array
            place.reshape(-1)[(target.ctypes.data - whole.ctypes.data) // whole.itemsize :],
            target.shape,
            [s // whole.itemsize for s in target.strides],
        )[...] = True
        np.testing.assert_array_equal(target, np.broadcast_to(source, target.shape))
        np.testing.assert_array_equal(whole[~place], expected[~place])


def test_what_is_large_or_of_another_kind_is_numpys() -> None:
    large, other = np.zeros((60, 60)), np.zeros((3, 3), bool)
    assert not isinstance(small_copy(large, large + 1), Joinable)
    assert not isinstance(small_copy(other, ~other), Joinable)
    apart = np.zeros((30, 60))[:, ::2]
    assert copies([(apart, np.ones(apart.shape))]) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_are_joined_and_embedded(dtype: str) -> None:
    trace = Trace()
    xp = trace.xp
    x, y = (trace.apply(LEAF, shape=s, dtype=dtype) for s in ((3, 5, 2), (3, 1, 2)))
    turned = xp.permute_dims(x, (2, 1, 0))
    outputs = [
        xp.concat([x, y, x], 1),
        xp.concat([turned, turned[:, 1:]], 1),
        xp.pad(x, [(0, 1), (2, 0), (1, 1)], 7),
        xp.embed(x, (6, 5, 2), (slice(0, 6, 2), slice(None), slice(None)), -1),
        xp.pad(turned, [(0, 0), (0, 0), (1, 0)]),
    ]
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in (x, y)}
    plan, reference = Plan(outputs, (compiled,)), Plan(outputs, ())
    for each in (plan, reference):
        for value, array in numbers.items():
            each.leaves[value][...] = array
        each.run()
    steps = [step for step, task in plan.parts if isinstance(task, SmallCopyTask)]
    assert len(steps) == len(outputs)
    for step, value in zip(steps, outputs, strict=True):
        assert isinstance(step, Joinable)
        expected = reference.read(value)
        np.testing.assert_array_equal(plan.read(value), expected)
        plan.array(value)[...] = 0
        job = step.job()
        assert job is not None
        job()
        np.testing.assert_array_equal(plan.read(value), expected)
