"""Batches independent small tasks of one kind into one call on stacked arrays.

A diagram with thousands of small blocks of the same shape spends its time in calls, not in
arithmetic. Values at the same depth of the graph can't depend on each other, so those with equal
primitive, attributes and shapes are stacked and computed at once; each is a view of the stack.
The order of operations within a value stays the same: results are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING

from numpy.lib.stride_tricks import as_strided

from runtime.calculus.kernels.summing import adds_halves
from runtime.engine.plan.passes.elementwise.stacks import in_order, stacked
from runtime.engine.plan.simplify import attribute_key
from runtime.engine.plan.tasks import PlainTask, Step, Task

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.plan.tasks import Arrays

FEWEST = 8
"""Tasks from which a group is worthwhile."""

FEWEST_SCALARS = 256
"""Scalar tasks from which a group is faster than a region that becomes machine code, until then."""

FEWEST_UNCOMPILED = 64
"""Scalar tasks from which a group is faster than a region of Python floats."""

LARGEST = 4096
"""Elements of one value up to which calls cost more than arithmetic."""

_REDUCTIONS = frozenset({"sum", "max", "min", "any", "all"})


def groups(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """Group independent tasks of one kind; the others stay, in order of depth."""
    return _grouped(tasks, FEWEST_SCALARS)


def groups_of_few(tasks: list[Task], kept: Collection[Value]) -> list[Task]:
    """``groups`` of fewer scalars, where no machine code waits for them."""
    return _grouped(tasks, FEWEST_UNCOMPILED)


def _grouped(tasks: list[Task], fewest_scalars: int) -> list[Task]:
    if len(tasks) < FEWEST:
        return tasks
    levels = _levels(tasks)
    kinds: dict[Hashable, list[PlainTask]] = {}
    for level, members in levels.items():
        if len(members) >= FEWEST:
            has_scalars = len(members) >= fewest_scalars
            for task in members:
                if not isinstance(task, PlainTask) or not (task.value.shape or has_scalars):
                    continue
                if _fits(task):
                    kinds.setdefault((level, *_kind(task)), []).append(task)
    chosen = [
        members
        for members in kinds.values()
        if len(members) >= (FEWEST if members[0].value.shape else fewest_scalars)
    ]
    if not chosen:
        return tasks
    grouped = {task: group for group in map(GroupTask, chosen) for task in group.tasks}
    result: list[Task] = []
    for level in sorted(levels):
        result += dict.fromkeys(
            grouped.get(task, task) if isinstance(task, PlainTask) else task
            for task in levels[level]
        )
    return result


def _levels(tasks: list[Task]) -> dict[int, list[Task]]:
    """The tasks by depth: those of one level don't depend on each other."""
    depth: dict[Value, int] = {}
    levels: dict[int, list[Task]] = {}
    for task in tasks:
        level = 0
        for x in task.inputs:
            above = depth.get(x, 0)
            if above > level:
                level = above
        for value in task.values:
            depth[value] = level + 1
        levels.setdefault(level + 1, []).append(task)
    return levels


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        not task.can_fail
        and (value.primitive.elementwise or value.primitive.name in _REDUCTIONS)
        and value.size <= LARGEST
        and all(x.size <= LARGEST for x in task.inputs)
    )


def _kind(task: PlainTask) -> tuple[Hashable, ...]:
    value = task.value
    return (
        value.primitive.name,
        value.dtype,
        value.shape,
        *((x.dtype, x.shape) for x in task.inputs),
        *map(attribute_key, value.attributes.values()),
    )


class GroupTask(Task):
    """Several values of one primitive, computed by one call."""

    one_block = True

    def __init__(self, tasks: Sequence[PlainTask]) -> None:
        self.tasks = tasks
        self.values = [task.value for task in tasks]
        self.inputs = [x for task in tasks for x in task.inputs]

    def bind(self, arrays: Arrays) -> list[Step]:
        """Stack each operand, as a view if possible; the results are allocated as one stack.

        Sums whose order of addition would change in a stack are computed one by one.
        """
        first = self.values[0]
        rank = len(first.shape)
        steps: list[Step] = []
        operands = []
        for slot in range(len(self.tasks[0].inputs)):
            more, whole = stacked([arrays[task.inputs[slot]] for task in self.tasks])
            steps += more
            if first.primitive.name == "sum" and (
                not in_order(whole)
                or not all(arrays[x].flags.c_contiguous for x in self.inputs)
                or adds_halves(whole.shape, tuple(axis + 1 for axis in first.attributes["axes"]))
            ):
                return [step for task in self.tasks for step in task.bind(arrays)]
            lacking = rank + 1 - whole.ndim
            operands.append(whole.reshape(len(self.tasks), *(1,) * lacking, *whole.shape[1:])
                            if lacking else whole)  # fmt: skip
        results = arrays[first]  # the first of one_block
        out = as_strided(
            results, (len(self.values), *results.shape), (results.nbytes, *results.strides)
        )
        attributes = dict(first.attributes)
        if "axes" in attributes:
            attributes["axes"] = tuple(axis + 1 for axis in attributes["axes"])
        kernel = first.kernel

        def run() -> None:
            kernel(*operands, out=out, **attributes)

        return [*steps, run]
