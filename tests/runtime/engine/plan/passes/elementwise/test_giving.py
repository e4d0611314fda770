"""Results of regions in new memory, which is used again only when it is let go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes import late as passes
from gradwire.runtime.engine.plan.passes.elementwise.tiles import TiledTask
from gradwire.runtime.engine.plan.plan import WORTH_GIVING, Plan

pytest.importorskip("llvmlite")


def plain(x: Value) -> Value:
    return x * x + x


def by_rows(x: Value) -> Value:
    return x * x + x.trace.xp.sum(x, 1, keepdims=True)


def by_tiles(x: Value) -> Value:
    """Of columns, which lie in no rows."""
    return x[:, ::3] * x[:, ::3] + x[:, ::3]


def components(x: Value) -> Value:
    points = x.trace.xp.reshape(x, (-1, 3))
    return points * points + x.trace.xp.sum(points, 1, keepdims=True)


@pytest.mark.parametrize("compute", [plain, by_rows, by_tiles, components])
def test_a_result_stays_as_it_was_in_memory_of_its_own(compute: Any) -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(300, 300), dtype="float32")
    outputs = [compute(x)]
    assert outputs[0].size >= WORTH_GIVING
    plan, reference = Plan(outputs, passes.FAST), Plan(outputs, ())
    assert any(isinstance(task, TiledTask) for _, task in plan.parts)
    assert plan.array(outputs[0]) is None
    random = np.random.default_rng(0)
    found, expected = [], []
    for _ in range(4):
        plan.leaves[x][...] = reference.leaves[x][...] = random.standard_normal(x.shape)
        for each, results in (plan, found), (reference, expected):
            each.run()
            results += [each.read(y) for y in outputs]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    for i, one in enumerate(found):
        assert not any(np.shares_memory(one, other) for other in found[:i])


def test_memory_is_used_again_once_nobody_has_it() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(300, 300), dtype="float32")
    y = plain(x)
    plan = Plan([y], passes.FAST)
    assert plan.array(y) is None
    places = set()
    for _ in range(5):
        plan.run()
        places.add(plan.read(y).__array_interface__["data"][0])
    assert len(places) <= 2


def test_what_is_read_in_the_plan_stays_there() -> None:
    trace = Trace()
    x = trace.apply(LEAF, shape=(300, 300), dtype="float32")
    y = plain(x)
    turned = trace.xp.permute_dims(y, (1, 0))
    plan = Plan([y, trace.xp.argmax(turned, 0)], passes.FAST)
    assert plan.array(y) is not None
