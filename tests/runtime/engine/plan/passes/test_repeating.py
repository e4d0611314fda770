"""Cheap operations that each region computes for itself: which, and that numbers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.fused import FusedTask
from gradwire.runtime.engine.plan.plan import Plan

pytest.importorskip("llvmlite")

SIDE = 80


class Pairs:
    """Differences of all pairs, read by two regions with a maximum over all rows in between."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.xp = self.trace.xp
        self.column, self.row = (
            self.trace.apply(LEAF, shape=shape, dtype="float32") for shape in [(SIDE, 1), (1, SIDE)]
        )
        self.square = self.trace.apply(LEAF, shape=(SIDE, SIDE), dtype="float32")

    def twice(self, away: Value) -> list[Value]:
        xp = self.xp
        first = away * away * 0.5
        return [first, xp.max(first, 0, keepdims=True) * away - 1.0]

    def run(self, outputs: list[Value]) -> list[FusedTask]:
        """The regions, whose results have the bits of the kernels."""
        plan, plain = Plan(outputs, (passes.fused,)), Plan(outputs, ())
        random = np.random.default_rng(0)
        for leaf in plan.leaves:
            plan.leaves[leaf][...] = plain.leaves[leaf][...] = random.standard_normal(leaf.shape)
        for each in (plan, plain):
            each.run()
        for y in outputs:
            assert plan.read(y).tobytes() == plain.read(y).tobytes()
        tasks = dict.fromkeys(task for _, task in plan.parts)
        return [task for task in tasks if isinstance(task, FusedTask)]


def names(tasks: list[FusedTask]) -> list[list[str]]:
    return [[task.value.primitive.name for task in each.tasks] for each in tasks]


def test_what_comes_from_few_numbers_is_computed_in_each_region() -> None:
    of = Pairs()
    away = of.xp.negative(of.column - of.row)
    regions = of.run(of.twice(away))
    assert [some[:2] for some in names(regions)] == [["subtract", "negative"]] * 2
    assert not any(away in set(region.values) for region in regions)


def test_a_leaf_is_read_again_in_place_of_what_is_computed_of_it() -> None:
    of = Pairs()
    regions = of.run(of.twice(of.xp.negative(of.square - of.row)))
    assert [some[:2] for some in names(regions)] == [["subtract", "negative"]] * 2


def _asked_for(of: Pairs) -> list[Value]:
    away = of.column - of.row
    return [away, *of.twice(away)]


def _slow(of: Pairs) -> list[Value]:
    return of.twice(of.xp.sqrt(of.xp.abs(of.column - of.row)))


def _long(of: Pairs) -> list[Value]:
    away = of.column - of.row
    for _ in range(5):
        away = of.xp.negative(away) + of.row
    return of.twice(away)


def _of_much(of: Pairs) -> list[Value]:
    return of.twice(of.square - of.xp.flip(of.square, 0))


def _read_by_another(of: Pairs) -> list[Value]:
    away = of.column - of.row
    return [*of.twice(away), of.xp.argmax(away, 0)]


@pytest.mark.parametrize("compute", [_asked_for, _slow, _long, _of_much, _read_by_another])
def test_all_else_is_stored(compute: Any) -> None:
    of = Pairs()
    first, second = of.run(compute(of))
    assert set(first.values) & set(second.inputs)
    made = [{task.value for task in each.tasks} for each in (first, second)]
    assert not made[0] & made[1]


def test_what_is_computed_again_is_given_once() -> None:
    """Else it would lie in memory that is thought to be free in between."""
    of = Pairs()
    difference = of.column - of.row
    away = of.xp.negative(difference)
    first, second = of.run([*of.twice(away), of.xp.max(difference, 1)])
    assert [names([each])[0][:2] for each in (first, second)] == [["subtract", "negative"]] * 2
    assert difference in set(first.values)
    assert difference not in set(second.values)
