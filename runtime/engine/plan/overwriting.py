"""Results that are left where a leaf was: whether they may be computed there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value


def free_places(
    placed: Mapping[Value, Array], leaves: Mapping[Value, Array], tasks: Sequence[Task]
) -> dict[Value, Array]:
    """The places in which values may be computed: of those that are the array of a leaf, the ones
    that nothing reads once they are written.
    """
    owners = {id(array): leaf for leaf, array in leaves.items()}
    there = {x: owners[id(array)] for x, array in placed.items() if id(array) in owners}
    if not there:
        return dict(placed)
    order = [part for task in tasks for part in task.elementwise_parts()]
    made = {value: at for at, task in enumerate(order) for value in task.values}
    last = _last_reads(order)
    taken = {x for x, leaf in there.items() if not _is_free(x, leaf, order, made, last)}
    return {value: array for value, array in placed.items() if value not in taken}


def _is_elementwise(task: Task) -> bool:
    return isinstance(task, PlainTask) and task.value.primitive.elementwise


def _last_reads(order: Sequence[Task]) -> dict[Value, int]:
    """Where each value, or a view of it, is read last."""
    roots: dict[Value, Value] = {}
    last: dict[Value, int] = {}
    for at, task in enumerate(order):
        for x in task.inputs:
            last[roots.get(x, x)] = at
        if len(task.values) == 1 and task.values[0].primitive.view:
            roots[task.values[0]] = roots.get(task.inputs[0], task.inputs[0])
    return last


def _is_free(
    value: Value,
    leaf: Value,
    order: Sequence[Task],
    made: Mapping[Value, int],
    last: Mapping[Value, int],
) -> bool:
    """Whether a leaf is read before a value is made, or for it, element by element."""
    at, read = made.get(value, -1), last.get(leaf, -1)
    if read != at:
        return read < at
    return _is_elementwise(order[at]) and leaf in set(order[at].inputs)
