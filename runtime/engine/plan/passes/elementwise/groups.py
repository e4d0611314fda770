"""Batches independent small tasks of one kind into one call on stacked arrays.

A diagram with thousands of small blocks of the same shape spends its time in calls, not in
arithmetic. Values at the same depth of the graph can't depend on each other, so those with equal
primitive, attributes and shapes are stacked and computed at once; each is a view of the stack.
The order of operations within a value stays the same: results are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.kernels.summing import has_order_of_its_own
from gradwire.runtime.engine.plan.memory import BlockArrays, as_view
from gradwire.runtime.engine.plan.simplify import attribute_key
from gradwire.runtime.engine.plan.tasks import PlainTask, Step, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays


def stacked_values(
    values: Sequence[Value], arrays: Mapping[Value, Array]
) -> tuple[list[Step], Array]:
    """As ``stacked`` of their arrays, none of which is needed if all are rows of one block."""
    if isinstance(arrays, BlockArrays):
        known = arrays.rows
        rows = [known[x] for x in values if x in known]
        if len(rows) == len(values) > 1:
            block, start = arrays.block_of(min(rows))
            if max(rows) < start + len(block):
                return _rows_of(block, [row - start for row in rows])
    return stacked([arrays[x] for x in values])


def _rows_of(block: Array, rows: Sequence[int]) -> tuple[list[Step], Array]:
    first, distance, count = rows[0], rows[1] - rows[0], len(rows)
    if not distance and rows.count(first) == count:
        return [], np.broadcast_to(block[first, ...], (count, *block.shape[1:]))
    stop = first + count * distance
    if distance and list(rows) == list(range(first, stop, distance)):
        return [], block[first : stop if stop >= 0 else None : distance]
    whole = np.empty((count, *block.shape[1:]), block.dtype)
    # With another mode numpy would write to a copy of ``whole`` first.
    return [partial(block.take, np.array(rows), 0, whole, "clip")], whole


def stacked(arrays: Sequence[Array]) -> tuple[list[Step], Array]:
    """``np.stack(arrays)``, and the steps that refresh it in every run: none for a view.

    It is a view if the arrays are parts of one block of memory at equal distances, or all the
    same array; otherwise it is a copy.
    """
    view = as_view(arrays)
    if view is not None:
        return [], view
    whole = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    rows = [array[None] for array in arrays]
    return [partial(np.concatenate, rows, 0, whole)], whole


def are_contiguous(values: Iterable[Value], arrays: Mapping[Value, Array]) -> bool:
    """Whether each of the arrays is contiguous, as rows of blocks are."""
    rows = arrays.rows if isinstance(arrays, BlockArrays) else {}
    return all(x in rows or arrays[x].flags.c_contiguous for x in values)


def in_order(stack: Array) -> bool:
    """Whether numpy reduces a stack in the same order of addition as one array after another.

    Numpy sorts axes by stride, so that of the first axis must be the largest, or 0.
    """
    inner = (abs(s) for n, s in zip(stack.shape[1:], stack.strides[1:], strict=True) if n > 1)
    return not stack.strides[0] or stack.strides[0] > max(inner, default=0)


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
    result: list[Task] = []
    is_grouped = False
    for members in levels:
        groups = _groups_of(members, fewest_scalars) if len(members) >= FEWEST else {}
        is_grouped = is_grouped or bool(groups)
        result += dict.fromkeys(groups.get(task, task) for task in members) if groups else members
    return result if is_grouped else tasks


def _levels(tasks: list[Task]) -> list[list[Task]]:
    """The tasks by depth: those of one level don't depend on each other."""
    depth: dict[Value, int] = {}
    known = depth.get
    levels: list[list[Task]] = []
    for task in tasks:
        level = 0
        for x in task.inputs:
            above = known(x, 0)
            if above > level:
                level = above
        if level == len(levels):
            levels.append([])
        levels[level].append(task)
        for value in task.values:
            depth[value] = level + 1
    return levels


def _groups_of(level: list[Task], fewest_scalars: int) -> dict[Task, Task]:
    """The group of each task of a level that is in one."""
    has_scalars = len(level) >= fewest_scalars
    kinds: dict[Hashable, list[PlainTask]] = {}
    for task in level:
        if isinstance(task, PlainTask) and (task.value.shape or has_scalars):
            kinds.setdefault(_kind(task), []).append(task)
    found: dict[Task, Task] = {}
    for members in kinds.values():
        first = members[0]
        if len(members) >= (FEWEST if first.value.shape else fewest_scalars) and _fits(first):
            found |= dict.fromkeys(members, GroupTask(members))
    return found


def _fits(task: PlainTask) -> bool:
    value = task.value
    return (
        not task.can_fail
        and (value.primitive.elementwise or value.primitive.name in _REDUCTIONS)
        and value.size <= LARGEST
        and all(x.size <= LARGEST for x in task.inputs)
    )


def _kind(task: PlainTask) -> Hashable:
    """What tasks of one group have in common; whether one fits depends on nothing else."""
    value = task.value
    shape, dtype, attributes = value.shape, value.dtype, value.attributes
    for x in task.inputs:
        if x.dtype != dtype or (x.shape is not shape and x.shape != shape):
            break
    else:
        if not attributes:
            return value.primitive, dtype, shape, len(task.inputs)
    return (
        value.primitive,
        dtype,
        shape,
        *[(x.dtype, x.shape) for x in task.inputs],
        *map(attribute_key, attributes.values()),
    )


class GroupTask(Task):
    """Several values of one primitive, computed by one call."""

    one_block = True

    def __init__(self, tasks: Sequence[PlainTask]) -> None:
        self.tasks = tasks
        self.values = [task.value for task in tasks]
        self.inputs: Sequence[Value] = [x for task in tasks for x in task.inputs]

    def bind(self, arrays: Arrays) -> list[Step]:
        """Stack each operand, as a view if possible; the results are allocated as one stack.

        Sums whose order of addition would change in a stack are computed one by one.
        """
        first = self.values[0]
        rank = len(first.shape)
        steps: list[Step] = []
        operands = []
        for slot in range(len(self.tasks[0].inputs)):
            more, whole = stacked_values([task.inputs[slot] for task in self.tasks], arrays)
            steps += more
            if first.primitive.name == "sum" and (
                not in_order(whole)
                or not are_contiguous(self.inputs, arrays)
                or has_order_of_its_own(
                    whole.shape, tuple(axis + 1 for axis in first.attributes["axes"])
                )
            ):
                return [step for task in self.tasks for step in task.bind(arrays)]
            lacking = rank + 1 - whole.ndim
            operands.append(whole.reshape(len(self.tasks), *(1,) * lacking, *whole.shape[1:])
                            if lacking else whole)  # fmt: skip
        _, out = stacked_values(self.values, arrays)  # they are one block
        attributes = dict(first.attributes)
        if "axes" in attributes:
            attributes["axes"] = tuple(axis + 1 for axis in attributes["axes"])
        return [*steps, partial(first.kernel, *operands, out=out, **attributes)]

    def release(self) -> None:
        """Forget the tasks: they take more memory than the values."""
        self.tasks, self.inputs = (), ()
