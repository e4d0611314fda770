"""Regions in parts: of bounded sizes, in order, and alike where the same comes again."""

from __future__ import annotations

import pytest

from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes.regions import Region, split
from gradwire.runtime.engine.plan.tasks import PlainTask


def simulated(steps: int, terms: int) -> list[PlainTask]:
    """Steps of a solver, each of which adds some terms that depend on the state before."""
    trace = Trace()
    xp = trace.xp
    a, b, x = (trace.apply(LEAF, shape=(8,), dtype="float32") for _ in range(3))
    for _ in range(steps):
        first = x
        for term in range(terms):
            slope = xp.sin(first * a) if term % 3 else xp.exp(first) - b
            x = x + slope * 0.1
    tasks = [v for v in trace.values if v.primitive.elementwise]
    return [PlainTask(value, value.inputs) for value in tasks]


def pattern(tasks: tuple[PlainTask, ...]) -> tuple[object, ...]:
    """What is computed from what, wherever it stands."""
    numbers: dict[Value, int] = {}
    found: list[object] = []
    for task in tasks:
        operands = [numbers.setdefault(x, len(numbers)) for x in task.inputs]
        numbers[task.value] = len(numbers)
        found.append((task.value.primitive.name, *operands))
    return tuple(found)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("most", [24, 60, 240])
@pytest.mark.parametrize("terms", [1, 2, 5, 11, 17])
def test_steps_that_repeat_make_parts_that_are_alike(terms: int, most: int) -> None:
    tasks = simulated(200, terms)
    parts = [x for x in split([Region("k", tuple(tasks))], most) if isinstance(x, Region)]
    sizes = [len(part.tasks) for part in parts]
    assert max(sizes) <= most and min(sizes[:-1]) >= most // 2
    done: set[Value] = set()
    made = {task.value for task in tasks}
    for part in parts:
        for task in part.tasks:
            assert all(x in done for x in task.inputs if x in made)
            done.add(task.values[0])
    assert done == made
    kinds = {pattern(part.tasks) for part in parts}  # type: ignore[arg-type]  # all are plain
    assert len(kinds) <= 10 < len(parts) or len(parts) < 15


def test_small_regions_stay_whole() -> None:
    (part,) = split([Region("k", tuple(simulated(1, 3)))], 24)
    assert isinstance(part, Region) and len(part.tasks) <= 24
