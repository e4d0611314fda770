"""Repeats cheap operations in each region that reads their result, in place of storing it.

A difference of all pairs takes as much memory as everything that is computed with it, but comes
from points that are few. Where such values are read by a later region, writing and reading them
takes longer than computing them again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.engine.plan.passes.regions import Region

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Task

CHEAP = frozenset({
    "add", "subtract", "multiply", "negative", "square", "abs", "maximum", "minimum", "relu",
    "where", "cast", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_not", "sign", "clip",
})  # fmt: skip
"""Primitives that take no longer than writing and reading their result."""

MOST = 4
"""Operations that are repeated for one value."""

FEWER = 2
"""How many times as many elements a value has as what it is computed from, if that has to be read
for it alone.
"""


def repeated(
    items: Sequence[Region | Task],
    kept: Collection[Value],
    is_worthwhile: Callable[[Sequence[Task]], bool],
) -> list[Region | Task]:
    """The items, of which regions begin with what they would read of earlier regions of their kind
    and can compute as fast.
    """
    regions = {
        i: list(item.tasks)
        for i, item in enumerate(items)
        if isinstance(item, Region) and is_worthwhile(item.tasks)
    }
    if len(regions) < 2:
        return list(items)
    reads: dict[int, set[Value]] = {}
    readers: dict[Value, set[int]] = defaultdict(set)
    made = {t.values[0] for tasks in regions.values() for t in tasks}
    for i, item in enumerate(items):
        for task in item.tasks if isinstance(item, Region) else (item,):
            for x in task.inputs:
                if x in made:
                    readers[x].add(i)
        if i in regions:
            reads[i] = {x for task in regions[i] for x in task.inputs}
    makers = {i: {t.values[0]: t for t in tasks} for i, tasks in regions.items()}
    first: dict[int, list[Task]] = {i: [] for i in regions}
    for i, tasks in regions.items():
        tasks[:0] = first[i]
        makers[i] = {t.values[0]: t for t in tasks}
        for task in tuple(tasks):
            value = task.values[0]
            others = {j for j in readers[value] if j != i and value not in makers.get(j, ())}
            if not others or value in kept or not _are_alike(items, i, others, regions):
                continue
            again = _operations(value, makers[i], reads, others)
            for j in others if again else ():
                new = [t for t in again if t.values[0] not in makers[j]]
                first[j] += new
                makers[j] |= {t.values[0]: t for t in new}
                for x in (x for t in new for x in t.inputs):
                    reads[j].add(x)
                    readers[x].add(j)
        _drop_unread(i, tasks, makers, readers, kept)
    return [
        Region(item.kind, tuple(regions[i])) if isinstance(item, Region) and i in regions else item
        for i, item in enumerate(items)
    ]


def _are_alike(
    items: Sequence[Region | Task], i: int, others: Collection[int], regions: Collection[int]
) -> bool:
    """Whether some items are regions of the kind of a region."""
    kinds = {
        item.kind for j in (i, *others) if j in regions and isinstance(item := items[j], Region)
    }
    return len(kinds) == 1 and all(j in regions for j in others)


def _operations(
    value: Value, made: dict[Value, Task], reads: Mapping[int, set[Value]], others: Collection[int]
) -> list[Task]:
    """What computes a value from without its region, in order; nothing if that takes too long."""
    found: dict[Task, None] = {}
    given: set[Value] = set()
    pending = [value]
    while pending:
        x = pending.pop()
        if x not in made:
            given.add(x)
        elif made[x] not in found:
            if len(found) == MOST or x.primitive.name not in CHEAP:
                return []
            found[made[x]] = None
            pending += made[x].inputs
    if any(not _is_little([x for x in given if x not in reads[j]], value) for j in others):
        return []
    order = {task: place for place, task in enumerate(made.values())}
    return sorted(found, key=order.__getitem__)


def _is_little(values: Sequence[Value], value: Value) -> bool:
    """Whether values have far fewer elements than one, or all but one, which is kept anyway."""
    *few, last = sorted(values, key=lambda x: x.size) or [value]
    if not values or FEWER * (sum(x.size for x in few) + last.size) <= value.size:
        return True
    return _whole(last).primitive is LEAF and FEWER * sum(x.size for x in few) <= value.size


def _whole(value: Value) -> Value:
    """What a value is a view of."""
    while value.primitive.view and value.inputs:
        value = value.inputs[0]
    return value


def _drop_unread(
    i: int,
    tasks: list[Task],
    makers: dict[int, dict[Value, Task]],
    readers: dict[Value, set[int]],
    kept: Collection[Value],
) -> None:
    """Remove the tasks of a region whose results nobody reads any more."""
    read = {x for x in makers[i] for j in readers[x] if j != i and x not in makers.get(j, ())}
    needed: list[Task] = []
    for task in reversed(tasks):
        value = task.values[0]
        if value in read or value in kept:
            read.update(task.inputs)
            needed.append(task)
        else:
            del makers[i][value]
    tasks[:] = reversed(needed)
