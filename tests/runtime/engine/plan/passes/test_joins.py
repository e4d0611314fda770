"""Concatenations whose parts are computed in place, and those whose parts are copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late
from gradwire.runtime.engine.plan.passes.joins import PlacedJoinTask
from gradwire.runtime.engine.plan.plan import Plan
from gradwire.runtime.engine.plan.tasks import PlainTask


def compare(outputs: list[Value], leaves: list[Value], which: Any) -> Plan:
    rng = np.random.default_rng(0)
    numbers = {v: rng.standard_normal(v.shape) for v in leaves}
    plan, reference = Plan(outputs, which), Plan(outputs, ())
    for _ in range(2):
        for each in (plan, reference):
            for value, array in numbers.items():
                each.leaves[value][...] = array
            each.run()
        for value in outputs:
            np.testing.assert_array_equal(plan.read(value), reference.read(value))
    return plan


def copies(plan: Plan) -> int:
    """Steps of concatenations."""
    return sum(isinstance(task, PlacedJoinTask) for _, task in plan.parts)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("which", [late.DEFAULT, (late.joins,)], ids=["all", "alone"])
def test_parts_of_arithmetic_are_left_where_they_belong(axis: int, which: Any) -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=(20, 32, 40), dtype="float32") for _ in range(2))
    whole = trace.xp.concat([x * y, x - y], axis)
    plan = compare([whole * 0.5], [x, y], which)
    assert copies(plan) == 0


def test_what_is_no_arithmetic_is_copied() -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=(40, 20, 32), dtype="float32") for _ in range(2))
    xp = trace.xp
    mixed = xp.concat([x, x * y, xp.flip(y, 1), x + y], 2)
    plan = compare([mixed * 0.5], [x, y], (late.joins,))
    assert copies(plan) == 2
    copied = xp.concat([x, y], 2)
    plan = compare([copied * 0.5], [x, y], (late.joins,))
    assert copies(plan) == 1


def test_parts_that_others_read_keep_memory_of_their_own() -> None:
    trace = Trace()
    x, y = (trace.apply(LEAF, shape=(400, 32), dtype="float32") for _ in range(2))
    xp, product = trace.xp, x * y
    twice = xp.concat([product, product], 1)
    also = xp.concat([x - y, x + y], 1)
    plan = compare([twice * 2, also], [x, y], (late.joins,))
    kinds = [type(task) for _, task in plan.parts if task.values and task.values[0] is twice]
    assert kinds == [PlainTask]
    kept = compare([product, xp.concat([product, x - y], 1) + 1], [x, y], (late.joins,))
    assert copies(kept) == 1
