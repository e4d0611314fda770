"""Orders tasks so that those which a pass can replace are next to each other, and repeats cheap
ones in each region that reads their result, in place of storing it.

A difference of all pairs takes as much memory as everything that is computed with it, but comes
from points that are few. Where such values are read by a later region, writing and reading them
takes longer than computing them again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import LEAF

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Task


AROUND = 16
"""Tasks by which a place is told from others."""


@dataclass(frozen=True, slots=True)
class Region:
    """Tasks of one kind that can run as one: no path leaves the region and re-enters it."""

    kind: Hashable
    tasks: tuple[Task, ...]


def partition(
    tasks: Sequence[Task], kind: Callable[[Task], Hashable | None]
) -> list[Region | Task]:
    """All tasks in a valid order, with tasks of the same kind gathered in regions.

    Tasks whose kind is None run as early as they can. When only others are ready, all ready tasks
    of one kind, and those they make ready, form a region. Takes linear time.
    """
    kinds = [kind(task) for task in tasks]
    if kinds and kinds[0] is not None and kinds.count(kinds[0]) == len(kinds):
        return [Region(kinds[0], tuple(tasks))]
    makers = {value: i for i, task in enumerate(tasks) for value in task.values}
    readers: dict[int, list[int]] = defaultdict(list)
    waiting = []
    for i, task in enumerate(tasks):
        needs = {makers[x] for x in task.inputs if x in makers}
        waiting.append(len(needs))
        for need in needs:
            readers[need].append(i)
    plain: deque[int] = deque()
    special: dict[Hashable, deque[int]] = {}

    def ready(i: int) -> None:
        if kinds[i] is None:
            plain.append(i)
        else:
            special.setdefault(kinds[i], deque()).append(i)

    def done(i: int) -> None:
        for reader in readers[i]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready(reader)

    for i, count in enumerate(waiting):
        if not count:
            ready(i)
    result: list[Region | Task] = []
    while plain or special:
        while plain:
            i = plain.popleft()
            result.append(tasks[i])
            done(i)
        if not special:
            break
        chosen = next(iter(special))
        members = []
        while special.get(chosen):
            i = special[chosen].popleft()
            members.append(i)
            done(i)
        del special[chosen]
        result.append(Region(chosen, tuple(tasks[i] for i in sorted(members))))
    return result


def delayed(items: Sequence[Region | Task], kept: Collection[Value]) -> list[Region | Task]:
    """Move tasks whose result only one later region of the same kind reads into that region.

    What a derivative needs of the forward pass could be computed early, but would then be written
    and read again. A task moves only if that keeps no more in memory: it may read at most one
    value that would otherwise not leave its region.
    """
    tasks = [list(item.tasks) if isinstance(item, Region) else [item] for item in items]
    home = {
        value: i
        for i, item in enumerate(items)
        if isinstance(item, Region)
        for task in item.tasks
        for value in task.values
    }
    reading: dict[Value, list[int]] = {value: [] for value in home}  # no others can matter
    for i, some in enumerate(tasks):
        for task in some:
            for value in task.inputs:
                if value in home:
                    reading[value].append(i)
    for i, item in reversed(list(enumerate(items))):
        if not isinstance(item, Region):
            continue
        moved: dict[int, list[Task]] = defaultdict(list)
        for task in reversed(tasks[i]):
            (value,) = task.values
            where = set(reading[value])
            if value in kept or len(where) != 1:
                continue
            (there,) = where
            target = items[there]
            if there <= i or not isinstance(target, Region) or target.kind != item.kind:
                continue
            inner = {x for x in task.inputs if home.get(x) == i and x not in kept}
            if sum(set(reading[x]) == {i} for x in inner) > 1:
                continue
            moved[there].append(task)
            home[value] = there
            for x in task.inputs:
                if x in home:
                    reading[x].remove(i)
                    reading[x].append(there)
        for there, some in moved.items():
            tasks[there][:0] = reversed(some)
            gone = set(some)
            tasks[i] = [task for task in tasks[i] if task not in gone]
    return [
        Region(item.kind, tuple(some)) if isinstance(item, Region) else item
        for item, some in zip(items, tasks, strict=True)
        if some
    ]


def split(items: Sequence[Region | Task], most: int) -> list[Region | Task]:
    """Divide regions of more than ``most`` tasks into parts of at most so many, and at least half.

    What repeats, such as the steps of a simulation, is cut at the same place each time, so that
    parts are alike.
    """
    found: list[Region | Task] = []
    for item in items:
        if isinstance(item, Region) and len(item.tasks) > most:
            starts = _starts(item.tasks, most)
            ends = [*starts[1:], len(item.tasks)]
            found += [
                Region(item.kind, item.tasks[start:end])
                for start, end in zip(starts, ends, strict=True)
            ]
        else:
            found.append(item)
    return found


def _starts(tasks: Sequence[Task], most: int) -> list[int]:
    """Where parts begin: of the places where one may, at that with the smallest number of those
    that follow from the tasks around it. A place that comes again has the same number again.
    """
    numbers = _numbers(tasks)
    found = [0]
    while len(tasks) - found[-1] > most:
        first = found[-1] + most // 2
        found.append(min(range(first, found[-1] + most + 1), key=numbers.__getitem__))
    return found


def _numbers(tasks: Sequence[Task]) -> list[int]:
    """For each place between tasks a number made of those before it: what they compute, and how far
    before them their operands are computed.
    """
    makers = {value: i for i, task in enumerate(tasks) for value in task.values}
    marks = []
    for i, task in enumerate(tasks):
        away = [i - makers[x] if x in makers else 0 for x in task.inputs]
        near = [n if n <= AROUND else -1 for n in away]
        marks.append(f"{task.values[0].primitive.name}{near}")
    return [crc32("".join(marks[max(0, i - AROUND) : i]).encode()) for i in range(len(tasks) + 1)]


def readers_of(items: Sequence[Region | Task]) -> dict[Value, int]:
    """The number of tasks that read each value of a region outside of it."""
    regions = [item for item in items if isinstance(item, Region)]
    count = {value: 0 for item in regions for task in item.tasks for value in task.values}
    for item in items:
        if not isinstance(item, Region):
            for value in item.inputs:
                if value in count:
                    count[value] += 1
            continue
        made = {value for task in item.tasks for value in task.values}
        for task in item.tasks:
            for value in task.inputs:
                if value in count and value not in made:
                    count[value] += 1
    return count


def results_of(region: Region, readers: dict[Value, int], kept: Collection[Value]) -> list[Value]:
    """The values of a region that are kept or read outside it."""
    return [
        value for task in region.tasks for value in task.values if value in kept or readers[value]
    ]


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
