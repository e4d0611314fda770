"""Rows of several axes: of images, of groups of channels, and with one number for each channel."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.library.layers.normalisation import GroupNorm, LayerNorm
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import jobs, threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.rowwise import RowwiseTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

Array = np.ndarray[Any, Any]
WHICH = passes.rowwise, passes.components, passes.fused


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("gradwire.runtime.engine.plan.passes.elementwise.rowwise")
    monkeypatch.setattr(module, "LARGE", 64)


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the number of threads for plans, however little they compute."""
    for name in ("PART", "WAKE", "PLAN"):
        monkeypatch.setattr(jobs, name, 1)
    yield threads.limit
    threads.limit(None)


def leaf(trace: Trace, *shape: int, dtype: str = "float32") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def found(trace: Trace, outputs: list[Value], *which: Any) -> tuple[Plan, list[Array]]:
    plan = Plan(outputs, which)
    rng = np.random.default_rng(0)
    for value in (v for v in trace.values if v.primitive is LEAF):
        numbers = rng.standard_normal(value.shape)
        if value in plan.leaves:
            plan.leaves[value][...] = numbers
    plan.run()
    return plan, [plan.read(value) for value in outputs]


def check(trace: Trace, outputs: list[Value]) -> Plan:
    """Compare with the kernels one by one."""
    plan, numbers = found(trace, outputs, *WHICH)
    _, expected = found(trace, outputs)
    for value, a, b in zip(outputs, numbers, expected, strict=True):
        bound = 1e-5 if value.dtype == "float32" else 1e-12
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * np.abs(b).max())
    return plan


def regions(plan: Plan) -> list[RowwiseTask]:
    return [task for _, task in plan.parts if isinstance(task, RowwiseTask)]


def normalised(
    block: Any, *shape: int, dtype: str = "float32", weight: tuple[int, ...] = ()
) -> tuple[Trace, list[Value]]:
    """A block's output, and the gradients of its input, weight and bias."""
    trace = Trace()
    given = [leaf(trace, *s, dtype=dtype) for s in (shape, weight, weight)]
    y = block.forward(trace.xp, *given)
    gradients = sweep([(y, leaf(trace, *shape, dtype=dtype))], given)
    return trace, [y, *(gradients[x] for x in given)]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("groups", [1, 3, 12])
@pytest.mark.parametrize("behind", [(7, 7), (5, 8), (33,), (2, 3, 6), (64,)], ids=str)
def test_groups_of_channels(behind: tuple[int, ...], groups: int, dtype: str) -> None:
    trace, outputs = normalised(GroupNorm(groups=groups), 4, 12, *behind, dtype=dtype, weight=(12,))
    (only,) = regions(check(trace, outputs))
    assert only.axes == 1 + (groups < 12)
    totals = [value for value in only.values if value.primitive.name == "sum"]
    assert totals, "the gradient of the weight is added up on the way"


@pytest.mark.parametrize(("axes", "shape"), [
    ((-2, -1), (6, 5, 9)), ((-3, -2, -1), (4, 3, 5, 6)), ((1, 2), (3, 2, 40)), (-1, (40, 33)),
], ids=str)  # fmt: skip
def test_layers_of_several_axes(axes: Any, shape: tuple[int, ...]) -> None:
    block = LayerNorm(axes=axes)
    weight = tuple(shape[i] for i in ((axes,) if isinstance(axes, int) else axes))
    trace, outputs = normalised(block, *shape, weight=weight)
    (only,) = regions(check(trace, outputs))
    assert only.axes == len(weight)


def test_what_is_repeated_within_a_row_in_any_way() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 3, 4, 5, 6)
    others = [leaf(trace, *shape) for shape in ((4, 1, 1), (5, 1), (6,), (5, 6), (3, 1, 1, 6),
                                                (3, 4, 1, 1), (1, 4, 5, 1))]  # fmt: skip
    turned = xp.permute_dims(leaf(trace, 6, 5), (1, 0))
    y = x
    for other in (*others, turned):
        y = y * other + 1.0
    top = xp.max(y, (2, 3), keepdims=True)
    check(trace, [y - top, xp.sum(y, (2, 3)), xp.min(y * top, (2, 3))])


def test_sums_over_all_but_some_axes() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 3, 4, 5, 6)
    y = x * x - xp.mean(x, (2, 3), keepdims=True)
    axes = [(0, 3), (0, 1, 3), (1, 2, 3), (0, 2, 3), (3,), (0, 1), (0, 1, 2, 3), (0,), (1, 3)]
    check(trace, [y, *(xp.sum(y, some) for some in axes)])


def test_logic_and_logarithms_over_two_axes() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 6, 5, 9)
    far = xp.greater(x, 1.5)
    out = xp.logsumexp(x, (1, 2), keepdims=True)
    some = xp.astype(xp.any(far, (1, 2), keepdims=True), "float32")
    check(trace, [out, some * x, xp.exp(x - out)])


def test_an_axis_of_length_1_is_one_of_a_row() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 6, 4, 1, 50)
    y = x - xp.mean(x, (2, 3), keepdims=True)
    plan = check(trace, [y / xp.sum(y * y, 3, keepdims=True), xp.sum(y * x, (0, 3))])
    assert len(regions(plan)) == 1


def test_rows_of_which_only_columns_are_added_up() -> None:
    """Axes of length 1 are no part of a row."""
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 1, 5, 1, 40)
    weight = leaf(trace, 40)
    gradients = [xp.sum(x * weight + i, 1, keepdims=True) for i in range(2)]
    top = xp.max(leaf(trace, 1, 5, 1, 40), 3)
    (only,) = regions(check(trace, [*gradients, top]))[:1]
    assert only.axes == 1


@pytest.mark.parametrize("length", [4, 8])
def test_parts_that_are_short_have_no_loop(length: int) -> None:
    trace, outputs = normalised(GroupNorm(groups=2), 4, 16, length, weight=(16,))
    assert bool(regions(check(trace, outputs))) == (length >= 8)


@pytest.mark.parametrize("groups", [1, 12])
def test_the_number_of_threads_changes_no_bit(groups: int, limited: Callable[[int], None]) -> None:
    results = []
    for count in (1, 2, 5):
        limited(count)
        trace, outputs = normalised(GroupNorm(groups=groups), 5, 12, 9, 7, weight=(12,))
        results.append(found(trace, outputs, *WHICH)[1])
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize(
    "shape", [(4, 6, 5, 9), (7, 3, 40), (1, 6, 70), (2, 3, 4, 5, 6), (3, 4, 5, 33)], ids=str
)
def test_sums_of_channels_are_added_on_the_way(
    shape: tuple[int, ...], number: int, dtype: str, limited: Callable[[int], None]
) -> None:
    """As of images that are brought to mean 0, and of the gradient of a bias."""
    axis = 2 if shape == (3, 4, 5, 33) else 1
    trace = Trace()
    kept = [n if i == axis else 1 for i, n in enumerate(shape)]
    x, each = (leaf(trace, *s, dtype=dtype) for s in (shape, kept))
    others = tuple(i for i in range(len(shape)) if i != axis)
    y = (x * each + 1) * x
    outputs = [y, trace.xp.sum(y, others), trace.xp.sum(y * x, others, keepdims=True)]
    limited(number)
    plan = check(trace, [*outputs, trace.xp.sum(y)])
    assert [type(task) for _, task in plan.parts] == [RowwiseTask]


def test_sums_of_channels_that_lie_in_no_rows() -> None:
    """Of images whose channels are last in memory, and along two axes at once."""
    trace = Trace()
    x = trace.xp.permute_dims(leaf(trace, 4, 5, 9, 6), (0, 3, 1, 2))
    y = x * x + 1
    check(trace, [trace.xp.sum(y, (0, 2, 3))])
    trace = Trace()
    w = leaf(trace, 4, 6, 7, 9) * 2 + 1
    check(trace, [trace.xp.sum(w, (0, 2, 3)), trace.xp.sum(w, (0, 1, 3)), w])
