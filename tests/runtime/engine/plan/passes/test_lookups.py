"""Gradients of looked up tables: which are added up by rows, and that they stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.blocks.errors import RunError
from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.norms import norm_of, square_of
from gradwire.runtime.engine.plan.passes import DEFAULT, FAST
from gradwire.runtime.engine.plan.passes.late import lookups, native_lookups
from gradwire.runtime.engine.plan.passes.lookups import AddedRowsTask, SparseTask
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.sparse_rows import form_of

Array = NDArray[Any]
ROWS = 1024


class Table:
    """A table, and what is computed from it."""

    def __init__(self, dtype: str = "float32", width: tuple[int, ...] = (16,), seed: int = 0):
        self.trace = Trace()
        self.xp = self.trace.xp
        self.random = np.random.default_rng(seed)
        self.feeds: dict[Value, Array] = {}
        self.table = self.fed(self.random.standard_normal((ROWS, *width)).astype(dtype))

    def fed(self, array: Any) -> Value:
        leaf = self.trace.apply(LEAF, shape=array.shape, dtype=str(array.dtype))
        self.feeds[leaf] = array
        return leaf

    def total(self, x: Value, count: int | tuple[int, ...]) -> Value:
        """A number from rows that were looked up."""
        places = np.asarray(self.random.integers(-ROWS, ROWS, count))
        rows = self.xp.take(x, self.fed(places), 0)
        return self.xp.sum(self.xp.astype(self.xp.tanh(rows) * 1.5, "float64"))

    def gradients(self, total: Value, *of: Value) -> list[Value]:
        found = sweep([(total, self.xp.ones_like(total))], of)
        return [found[x] for x in of]

    def run(self, outputs: list[Value], *how: Any, **options: Any) -> Plan:
        plan = Plan(outputs, *how, **options)
        for _ in range(2):
            for leaf in plan.leaves:
                plan.leaves[leaf][...] = self.feeds[leaf]
            plan.run()
        return plan


def tasks(plan: Plan) -> list[SparseTask]:
    return [task for _, task in plan.parts if isinstance(task, SparseTask)]


@pytest.mark.parametrize("count", [(), 0, 1, (4, 50)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("width", [(16,), (4, 5)], ids=str)
def test_a_gradient_by_rows_has_the_bits_of_the_whole_array(
    count: Any, dtype: str, width: tuple[int, ...]
) -> None:
    of = Table(dtype, width)
    (gradient,) = of.gradients(of.total(of.table, count), of.table)
    plan, reference = of.run([gradient], (lookups,)), of.run([gradient], ())
    assert len(tasks(plan)) == 1
    expected = reference.read(gradient)
    assert plan.read(gradient).tobytes() == expected.tobytes()
    rows = of.run([gradient], DEFAULT, sparse=[gradient]).rows(gradient)
    assert rows.dense().tobytes() == expected.tobytes()
    assert rows.values.dtype == dtype


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("width", [(16,), (4, 5), (3, 7)], ids=str)
def test_machine_code_adds_rows_with_the_same_bits(dtype: str, width: tuple[int, ...]) -> None:
    of = Table(dtype, width)
    total = of.total(of.table, (3, 50)) + of.total(of.table, 0) + of.total(of.table, 40)
    (gradient,) = of.gradients(total, of.table)
    assert native_lookups in FAST
    plan = of.run([gradient], (native_lookups,), sparse=[gradient])
    assert [task.compiles for task in tasks(plan)] == [True]
    expected = of.run([gradient], ()).read(gradient)
    assert plan.rows(gradient).dense().tobytes() == expected.tobytes()


@pytest.mark.parametrize("width", [(), (3,), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_machine_code_adds_many_rows_to_a_small_table(dtype: str, width: tuple[int, ...]) -> None:
    pytest.importorskip("llvmlite")
    of = Table(dtype, width)
    (gradient,) = of.gradients(of.total(of.table, (3, ROWS)), of.table)
    plan = of.run([gradient], (native_lookups,))
    added = [task for _, task in plan.parts if isinstance(task, AddedRowsTask)]
    assert len(added) == (dtype != "float16")
    assert plan.read(gradient).tobytes() == of.run([gradient], ()).read(gradient).tobytes()


def test_an_index_of_many_that_is_out_of_range_fails() -> None:
    of = Table()
    wrong = of.fed(np.full(ROWS, ROWS))
    (gradient,) = of.gradients(of.xp.sum(of.xp.take(of.table, wrong, 0) * 2.0), of.table)
    with pytest.raises(RunError, match=f"index {ROWS} is out of range"):
        of.run([gradient], (native_lookups,))


def test_several_lookups_of_one_table_are_added_in_their_order() -> None:
    of = Table()
    total = of.total(of.table, 100) + of.total(of.table, 50) + of.total(of.table, 60)
    (gradient,) = of.gradients(total, of.table)
    plan = of.run([gradient], (lookups,))
    assert [task.owner for task in tasks(plan)] == [None]
    assert not {"add", "scatter_add"} & {v.primitive.name for v in _plain(plan) if v.size >= ROWS}
    assert plan.read(gradient).tobytes() == of.run([gradient], ()).read(gradient).tobytes()


def _plain(plan: Plan) -> list[Value]:
    return [task.values[0] for _, task in plan.parts if not isinstance(task, SparseTask)]


@pytest.mark.parametrize("factor", [2.5, -3.0, 0.0, np.inf, np.nan])
def test_what_scales_or_casts_a_table_scales_its_rows(factor: float) -> None:
    of = Table()
    scaled = of.xp.astype(of.table * of.fed(np.float32(factor)), "float16")
    (gradient,) = of.gradients(of.total(scaled, 40) + of.total(of.table, 30), of.table)
    plan = of.run([gradient], DEFAULT, sparse=[gradient])
    expected = of.run([gradient], ()).read(gradient)
    np.testing.assert_array_equal(plan.rows(gradient).dense(), expected)
    assert len(plan.rows(gradient).rows) == (ROWS if not np.isfinite(factor) else 70 - _met(of))


def _met(of: Table) -> int:
    """How many lookups met a row that another one looked up too."""
    places = [a % ROWS for a in of.feeds.values() if a.dtype == np.int64]
    return sum(map(len, places)) - len(set(np.concatenate(places).tolist()))


def test_what_is_measured_is_measured_by_rows() -> None:
    of = Table()
    (gradient,) = of.gradients(of.total(of.table, 100), of.table)
    outputs = [norm_of(gradient), square_of(gradient)]
    plan, reference = of.run(outputs, (lookups,)), of.run(outputs, ())
    (task,) = tasks(plan)
    assert list(task.values) == outputs  # and no whole array
    for output in outputs:
        np.testing.assert_allclose(plan.read(output), reference.read(output), rtol=1e-6)


def test_a_whole_array_is_made_for_who_reads_one() -> None:
    """A table that is used as a whole too, a term that is asked for, and the rows besides."""
    of = Table()
    one, two = of.total(of.table, 30), of.total(of.table, 20)
    whole = of.xp.sum(of.xp.astype(of.xp.sin(of.table), "float64"))
    (first,) = of.gradients(one, of.table)
    (both,) = of.gradients(one + two, of.table)
    (all_,) = of.gradients(one + two + whole, of.table)
    assert form_of(both) and not form_of(all_)
    outputs = [first, both, all_, norm_of(both), of.xp.exp(both)]
    plan = of.run(outputs, (lookups,), sparse=[both])
    reference = of.run(outputs, ())
    for output in (first, all_, outputs[-1]):
        assert plan.read(output).tobytes() == reference.read(output).tobytes()
    assert plan.rows(both).dense().tobytes() == reference.read(both).tobytes()


def test_small_tables_and_those_read_in_full_are_left_alone() -> None:
    of = Table()
    (often,) = of.gradients(of.total(of.table, ROWS // 2), of.table)
    few = of.table[:8]
    (small,) = of.gradients(of.xp.sum(of.xp.take(few, of.fed(np.arange(2)), 0)), few)
    (columns,) = of.gradients(of.xp.sum(of.xp.take(of.table, of.fed(np.arange(2)), 1)), of.table)
    assert not any(map(form_of, (often, small, columns)))
    assert not tasks(of.run([often, small, columns], (lookups,)))


def test_constant_rows_are_rows_too() -> None:
    of = Table()
    places = of.xp.asarray(np.array([7, 3, 7]))
    (gradient,) = of.gradients(of.xp.sum(of.xp.take(of.table, places, 0)), of.table)
    found = of.run([gradient], DEFAULT, sparse=[gradient]).rows(gradient)
    assert found.rows.tolist() == [3, 7]
    assert found.values[:, 0].tolist() == [1.0, 2.0]


def test_results_belong_to_who_reads_them() -> None:
    of = Table()
    (gradient,) = of.gradients(of.total(of.table, 30), of.table)
    plan = of.run([gradient], DEFAULT)
    one, two = plan.read(gradient), plan.read(gradient)
    assert not np.shares_memory(one, two)
    expected = one.copy()
    plan.run()
    plan.read(gradient)[:] = 0
    assert np.array_equal(one, expected)
    by_rows = of.run([gradient], DEFAULT, sparse=[gradient])
    before = by_rows.rows(gradient)
    by_rows.run()
    assert not np.shares_memory(before.values, by_rows.rows(gradient).values)


def test_an_index_out_of_range_names_its_block() -> None:
    of = Table()
    wrong = of.fed(np.array([ROWS]))
    of.trace.owner = "first"
    total = of.total(of.table, 3)
    of.trace.owner = "second"
    total = total + of.xp.sum(of.xp.take(of.table, wrong, 0) * 2.0)
    of.trace.owner = None
    (gradient,) = of.gradients(total, of.table)
    with pytest.raises(RunError, match=f"index {ROWS} is out of range") as caught:
        of.run([gradient], (lookups,))
    assert caught.value.location is not None
    assert caught.value.location.block == "second"
