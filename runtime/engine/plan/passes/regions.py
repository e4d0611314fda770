"""Orders tasks so that those which a pass can replace are next to each other."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from gradwire.blocks.classes.dataclass import dataclass

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
