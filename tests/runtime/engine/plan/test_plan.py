"""The plan: pruning, folding, views, buffers."""

from __future__ import annotations

import itertools
import tracemalloc
from functools import partial

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.memory import HUGE
from gradwire.runtime.engine.plan.passes.elementwise.groups import GroupTask, groups
from gradwire.runtime.engine.plan.passes.late import DEFAULT, FAST, Pass
from gradwire.runtime.engine.plan.plan import WORTH_GIVING, Plan
from gradwire.runtime.engine.plan.tasks import PlainTask


def leaf(trace: Trace, *shape: int, dtype: str = "float64") -> Value:
    return trace.apply(LEAF, shape=shape, dtype=dtype)


def steps(plan: Plan) -> int:
    return len(plan)


def test_what_nobody_asked_for_is_pruned() -> None:
    trace = Trace()
    x, unread = leaf(trace, 3), leaf(trace, 3)
    trace.xp.exp(unread)
    plan = Plan([trace.xp.exp(x)])
    assert set(plan.leaves) == {x}
    assert steps(plan) == 1


def test_a_bound_plan_keeps_arrays_and_tasks_only_of_what_may_be_asked_for() -> None:
    """Of a large diagram they would take more memory than all else together."""
    trace = Trace()
    xp, leaves = trace.xp, [leaf(trace, 3) for _ in range(10)]
    between = [xp.exp(x) for x in leaves]
    results = [xp.sin(x) for x in between]
    plan = Plan([*results, leaves[0], results[0]], (groups,))
    for number, x in enumerate(leaves):
        plan.writer(x)(np.full(3, number / 10))
    plan.run()
    for number, y in enumerate(results):
        assert np.allclose(plan.read(y), np.sin(np.exp(number / 10)))
    assert np.allclose(plan.read(leaves[0]), 0)
    with pytest.raises(KeyError):
        plan.read(between[0])
    tasks = [task for _, task in plan.parts if isinstance(task, GroupTask)]
    assert [len(task.covers) for task in tasks] == [10, 10]
    assert not any(task.tasks or task.inputs for task in tasks)


def test_a_surrogate_needs_only_its_value() -> None:
    trace = Trace()
    x = leaf(trace, 3)
    plan = Plan([trace.xp.surrogate(trace.xp.round(x), trace.xp.exp(x))])
    assert steps(plan) == 1


def test_constants_are_folded_and_views_cost_no_step() -> None:
    trace = Trace()
    xp, x = trace.xp, leaf(trace, 2, 3)
    constant = xp.exp(xp.full((3, 2), 2.0, "float64")) + 1
    view = xp.wire(xp.stop_gradient(xp.reshape(xp.permute_dims(constant, (1, 0)), (2, 3))))
    plan = Plan([x + view])
    assert steps(plan) == 1
    plan.leaves[x][...] = 0
    plan.run()
    assert np.allclose(plan.read(plan_output(trace)), np.exp(2) + 1)


def plan_output(trace: Trace) -> Value:
    return trace.values[-1]


def test_a_reshape_that_can_not_be_a_view_is_copied_at_every_run() -> None:
    trace = Trace()
    x = leaf(trace, 2, 3)
    flat = trace.xp.reshape(trace.xp.permute_dims(x, (1, 0)), (6,))
    plan = Plan([flat])
    for start in (0, 10):
        data = np.arange(start, start + 6.0).reshape(2, 3)
        plan.leaves[x][...] = data
        plan.run()
        assert plan.read(flat).tolist() == data.T.reshape(-1).tolist()


def test_a_copy_in_another_shape_takes_no_memory_of_its_own() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(64, 64, 32), dtype="float64")
    flat = trace.xp.reshape(trace.xp.permute_dims(x, (1, 0, 2)), (64 * 64 * 32,))
    plan = Plan([trace.xp.exp(flat), flat], ())
    plan.leaves[x][...] = np.arange(64 * 64 * 32).reshape(x.shape) / 1e6
    plan.run()
    tracemalloc.start()
    plan.run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < flat.size
    np.testing.assert_array_equal(plan.read(flat), plan.leaves[x].swapaxes(0, 1).ravel())


def test_reading_copies() -> None:
    trace = Trace()
    x = leaf(trace, 2)
    y = trace.xp.wire(x)
    plan = Plan([y])
    plan.leaves[x][...] = 1
    plan.run()
    first = plan.read(y)
    plan.leaves[x][...] = 2
    plan.run()
    assert first.tolist() == [1, 1]
    assert plan.read(y).tolist() == [2, 2]


def test_empty_arrays_run() -> None:
    trace = Trace()
    x = leaf(trace, 0, 3)
    total = trace.xp.sum(trace.xp.reshape(trace.xp.exp(x), (3, 0)))
    plan = Plan([total])
    plan.run()
    assert plan.read(total) == 0


def test_a_large_result_is_given_away_and_its_memory_used_again_only_when_it_is_let_go() -> None:
    trace = Trace()
    x = leaf(trace, 200, 100)
    y = trace.xp.exp(x)
    plan = Plan([y])
    plan.leaves[x][...] = 0
    plan.run()
    first = plan.read(y)
    view = first[0]
    again = plan.read(y)
    assert not np.shares_memory(first, again)
    del first, again
    plan.leaves[x][...] = 1
    for _ in range(3):
        plan.run()
        other = plan.read(y)
        assert not np.shares_memory(view, other)
    assert view.tolist() == [1.0] * 100
    assert other[0, 0] == np.e
    address = other.__array_interface__["data"][0]
    del other, view
    addresses = set()
    for _ in range(4):
        plan.run()
        addresses.add(plan.read(y).__array_interface__["data"][0])
    assert len(addresses) <= 2
    assert address in addresses or len(addresses) == 1


@pytest.mark.parametrize("passes", [(), DEFAULT, FAST], ids=["none", "numpy", "fast"])
def test_a_large_output_is_left_where_a_leaf_is_that_is_read_after_it(
    passes: tuple[Pass, ...],
) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(WORTH_GIVING,), dtype="float64")
    outputs = [trace.xp.add(x, 1), trace.xp.exp(x)]
    array = np.linspace(0, 1, WORTH_GIVING)
    expected = np.exp(array)
    plan = Plan(outputs, passes, leaves={x: array}, places=[(outputs[0], array)])
    plan.run()
    assert np.array_equal(array, np.linspace(0, 1, WORTH_GIVING) + 1)
    assert np.allclose(plan.read(outputs[1]), expected, rtol=1e-12)


def test_outputs_are_left_in_the_callers_arrays() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(2, 3), dtype="float32")
    xp = trace.xp
    product = xp.multiply(x, x)
    view = xp.permute_dims(product, (1, 0))
    outputs = [product, view, x, xp.multiply(x, x)]
    places = [(value, np.full(value.shape, np.nan, np.float32)) for value in outputs]
    given = {x: np.arange(6, dtype=np.float32).reshape(2, 3)}
    plan = Plan(outputs, leaves=given, places=places)
    plan.run()
    square = given[x] ** 2
    for (_, array), expected in zip(places, [square, square.T, given[x], square], strict=True):
        assert np.array_equal(array, expected)
    assert plan.leaves[x] is given[x]
    assert plan.array(product) is places[0][1]  # computed there, not copied


def test_numbers_that_stop_being_finite_raise_a_flag_and_no_warning() -> None:
    trace = Trace()
    x = leaf(trace, 2)
    plan = Plan([trace.xp.exp(trace.xp.log(x))])
    for data, is_flagged in (([1.0, 2.0], False), ([1.0, -2.0], True), ([np.nan, 1.0], False)):
        plan.leaves[x][...] = data
        plan.run()
        assert plan.flag.take() is is_flagged
        assert not plan.flag.is_raised


def test_a_product_of_matrices_does_not_overwrite_its_operands():
    """numpy would copy them first."""
    trace = Trace()
    x = trace.apply(LEAF, shape=(64, 64), dtype="float32")
    operand = trace.xp.exp(x)
    plan = Plan([trace.xp.matmul(operand, operand)], ())
    arrays = [step.args for step, task in plan.parts if task.values[0].primitive.name == "matmul"]
    ((left, right, out),) = arrays
    assert not np.may_share_memory(out, left)
    assert not np.may_share_memory(out, right)


def test_large_arrays_are_cut_from_regions_and_never_overlap():
    """Of several sizes, some too large for the rest of a region or for any."""
    trace = Trace()
    sizes = [20_000, 300_001, 1_000_000, 700_003, 5_000_000, 1_000_000]
    leaves = [trace.apply(LEAF, shape=(n,), dtype="float32") for n in sizes]
    middles = [trace.xp.exp(x) for x in leaves]
    outputs = [trace.xp.cos(x) for x in middles]
    plan = Plan(outputs, ())
    for leaf, n in zip(leaves, sizes, strict=True):
        plan.leaves[leaf][...] = np.linspace(0, 1, n)
    plan.run()
    for leaf, output in zip(leaves, outputs, strict=True):
        assert np.array_equal(plan.read(output), np.cos(np.exp(plan.leaves[leaf])))
    cut = [step.args[-1] for step, task in plan.parts if task.covers[0].primitive.name == "exp"]
    assert [x.size for x in cut] == sizes
    assert not any(np.may_share_memory(a, b) for a, b in itertools.combinations(cut, 2))
    assert 1 < len({id(x.base) for x in cut}) < len(sizes)
    assert all(x.ctypes.data % 64 == 0 for x in cut if x.nbytes < HUGE)


def test_no_region_is_taken_where_memory_is_short(monkeypatch):
    monkeypatch.setattr("gradwire.runtime.engine.plan.memory.machine_bytes", lambda: 3 << 20)
    trace = Trace()
    x = trace.apply(LEAF, shape=(100_000,), dtype="float32")
    plan = Plan([trace.xp.cos(trace.xp.exp(x))], ())
    plan.leaves[x].fill(1)
    plan.run()


def test_parts_of_a_block_are_one_copy_and_others_are_joined_by_numpy() -> None:
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=(2, 3), dtype="float32") for _ in range(8)]
    whole = trace.xp.concat(leaves, 0)
    block = np.random.default_rng(0).standard_normal((8, 2, 3)).astype(np.float32)
    expected, out = block.reshape(16, 3), np.zeros((16, 3), np.float32)
    for places, is_one in ((block, True), ([x.copy() for x in block], False)):
        arrays = {**dict(zip(leaves, places, strict=True)), whole: out}
        (step,) = PlainTask(whole, leaves).bind(arrays)
        assert (isinstance(step, partial) and step.func is np.copyto) == is_one
        out.fill(0)
        step()
        np.testing.assert_array_equal(out, expected)
