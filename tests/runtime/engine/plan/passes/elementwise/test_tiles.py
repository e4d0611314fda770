"""Results of tiles in new memory: they need no copy, and stay as they were."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan import threads
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise import tiles
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledTask
from gradwire.runtime.engine.plan.plan import WORTH_GIVING, Plan


def in_order(x: Value) -> list[Value]:
    return [x * x + x * 3]


def with_a_row(x: Value) -> list[Value]:
    return [(x * x + x[0]) * 3]


def cast(x: Value) -> list[Value]:
    return [x.trace.xp.astype(x * x + 3, "float64")]


def read_again(x: Value) -> list[Value]:
    y = x * x + x * 3
    return [y, (y + 1) * y]


@pytest.mark.parametrize("compute", [in_order, with_a_row, cast, read_again])
@pytest.mark.parametrize("number", [1, 2])
def test_results_stay_as_they_were(
    compute: Callable[[Value], list[Value]], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "count", lambda: number)
    monkeypatch.setattr(tiles, "TILE", 1 << 14)
    trace = Trace()
    x = trace.apply(LEAF, shape=(301, 300), dtype="float32")
    outputs = compute(x)
    assert all(y.size >= WORTH_GIVING for y in outputs)
    plan, reference = Plan(outputs, (passes.tiles,)), Plan(outputs, ())
    assert any(isinstance(task, TiledTask) for _, task in plan.parts)
    assert plan.array(outputs[-1]) is None
    random = np.random.default_rng(0)
    found, expected = [], []
    for _ in range(4):
        plan.leaves[x][...] = reference.leaves[x][...] = random.standard_normal(x.shape)
        for each, results in (plan, found), (reference, expected):
            each.run()
            results += [each.read(y) for y in outputs]
    for i, one in enumerate(found):
        np.testing.assert_array_equal(one, expected[i])
        assert not any(np.shares_memory(one, other) for other in found[:i])


def test_what_the_region_reads_again_stays_in_the_plan() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(301, 300), dtype="float32")
    first, second = read_again(x)
    plan = Plan([first, second], (passes.tiles,))
    assert plan.array(first) is not None
    assert plan.array(second) is None


def test_memory_is_used_again_once_nobody_has_it() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(301, 300), dtype="float32")
    (y,) = in_order(x)
    plan = Plan([y], (passes.tiles,))
    places = set()
    for _ in range(5):
        plan.run()
        places.add(plan.read(y).__array_interface__["data"][0])
    assert len(places) <= 2
