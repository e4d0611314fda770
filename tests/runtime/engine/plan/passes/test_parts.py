"""Sums of embedded parts: which are replaced, and that they have the numbers of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes.chains import PartsTask
from gradwire.runtime.engine.plan.passes.late import parts
from gradwire.runtime.engine.plan.plan import Plan
from tests.runtime.calculus.tracing import compute

Array = NDArray[Any]


def leaf(*shape: int) -> Value:
    return Trace().apply(LEAF, shape=shape, dtype="float32")


def found_and_expected(outputs: list[Value], x: Value) -> tuple[Plan, list[Array], list[Array]]:
    plan = Plan(outputs, (parts,))
    array = np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    for _ in range(2):
        plan.leaves[x][...] = array
        plan.run()
    return plan, [plan.read(v) for v in outputs], [compute(v, {x: array}) for v in outputs]


def gradient(head: Value, x: Value) -> Value:
    return sweep([(head, x.trace.xp.ones_like(head))], [x])[x]


def kinds(plan: Plan) -> list[str]:
    """The primitives that still have a task of their own."""
    return [t.values[0].primitive.name for _, t in plan.parts if not isinstance(t, PartsTask)]


@pytest.mark.parametrize(
    "places",
    [
        [slice(0, 2), slice(2, 4), slice(4, 6)],
        [slice(0, 2), slice(4, 6)],
        [slice(0, 4), slice(2, 6), slice(2, 4)],
        [slice(0, 6, 2), slice(1, 6, 2)],
        [slice(None, None, -1), slice(3, 0, -1)],
        [slice(0, 0), slice(1, 2), slice(1, 2)],
    ],
    ids=["covering", "gap", "overlapping", "interleaved", "reversed", "empty"],
)
def test_gradients_of_slices_are_written_where_they_belong(places: list[slice]) -> None:
    x = leaf(3, 6)
    xp = x.trace.xp
    total = xp.sum(x[:, places[0]] * 0.0)
    for number, place in enumerate(places):
        total = total + xp.sum(xp.tanh(x[:, place] * (number + 1.5)))
    outputs = [gradient(total, x)]
    plan, found, expected = found_and_expected(outputs, x)
    assert "embed" not in kinds(plan)
    np.testing.assert_array_equal(found, expected)


def test_whole_arrays_among_the_parts_keep_the_order_of_addition():
    x = leaf(4, 5)
    xp = x.trace.xp
    whole = xp.tanh(x * 1e4) + xp.embed(x[1:2] * 0.1, (4, 5), (slice(2, 3), slice(None)))
    later = whole + xp.sin(x) + xp.embed(x[:, :2], (4, 5), (slice(None), slice(3, 5)))
    plan, found, expected = found_and_expected([later], x)
    assert sum(isinstance(task, PartsTask) for task in {task for _, task in plan.parts}) == 1
    np.testing.assert_array_equal(found, expected)


def test_values_that_others_read_stay():
    """A partial sum that is asked for, and a part with two readers, one of them no sum."""
    x = leaf(4, 4)
    xp = x.trace.xp
    rows = [xp.embed(x[i : i + 1], (4, 4), (slice(3 - i, 4 - i), slice(None))) for i in range(4)]
    partial = rows[0] + rows[1]
    outputs = [partial + rows[2] + rows[3], partial, xp.exp(rows[3]), partial + rows[2] * 2.0]
    plan, found, expected = found_and_expected(outputs, x)
    assert kinds(plan).count("embed") == 2  # the one of exp, and the one that is doubled
    np.testing.assert_array_equal(found, expected)


def test_a_filled_part_is_no_part():
    x = leaf(2, 2)
    xp = x.trace.xp
    padded = xp.pad(x, ((0, 1), (0, 0)), 7.0) + xp.pad(x, ((1, 0), (0, 0)), 7.0)
    plan, found, expected = found_and_expected([padded], x)
    assert kinds(plan).count("embed") == 2
    np.testing.assert_array_equal(found, expected)


def test_a_failure_names_the_block_of_the_sum():
    x = leaf(4)
    xp = x.trace.xp
    x.trace.owner = "total"
    total = xp.embed(x[:2], (4,), (slice(0, 2),)) + xp.embed(x[2:], (4,), (slice(2, 4),))
    ((_, task), *_) = Plan([total], (parts,)).parts
    assert isinstance(task, PartsTask)
    assert task.owner == "total"
    assert [v.primitive.name for v in task.covers] == ["embed", "embed", "add"]


def test_parts_are_computed_within_the_sum_also_within_parts_of_parts() -> None:
    """Nothing is copied: steps of a network whose gates are parts of one value each."""
    x = leaf(4, 3, 8)
    xp = x.trace.xp
    total = xp.asarray(0.0)
    for number in range(4):
        step = xp.reshape(x[number : number + 1], (3, 8))
        for gate in range(2):
            total = total + xp.sum(xp.tanh(step[:, 4 * gate : 4 * gate + 4] * (number + 1.5)))
    plan, found, expected = found_and_expected([xp.exp(gradient(total, x))], x)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
    assert not any(isinstance(task, PartsTask) for _, task in plan.parts)


def test_gaps_between_parts_that_are_computed_within_the_sum_stay_zero() -> None:
    x = leaf(5, 6)
    xp = x.trace.xp
    total = xp.sum(xp.tanh(x[:, 0:2])) + xp.sum(xp.square(x[:, 4:6]))
    plan, (found,), (expected,) = found_and_expected([xp.exp(gradient(total, x))], x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert not any(isinstance(task, PartsTask) for _, task in plan.parts)


def test_a_part_that_is_asked_for_is_copied() -> None:
    x = leaf(5, 6)
    xp = x.trace.xp
    left, right = x[:, 0:3], x[:, 3:6]
    total = xp.sum(xp.tanh(left)) + xp.sum(xp.tanh(right))
    whole = gradient(total, x)
    asked = sweep([(total, xp.ones_like(total))], [left])[left]
    plan, found, expected = found_and_expected([xp.exp(whole), asked], x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert plan.array(asked) is not None
    assert plan.array(asked).flags.c_contiguous
