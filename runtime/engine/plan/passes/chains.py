"""Chains of additions: what passes look for sums of alike terms in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.engine.plan.tasks import PlainTask, Task

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value


def find_chains(
    tasks: Sequence[Task], kept: Collection[Value]
) -> dict[Value, tuple[list[Value], list[Value]]]:
    """The terms of each chain ``((a + b) + c) + …`` of equal shapes in order, and its sums, by the
    last of these; nothing else reads the others.
    """
    readers = Counter(x for task in tasks for x in task.inputs)
    adds = {t.value: t for t in tasks if isinstance(t, PlainTask) and _is_sum(t)}
    firsts = {t.inputs[0] for t in adds.values()}
    inner = {x for x in firsts & adds.keys() if readers[x] == 1 and x not in kept}
    return {end: _terms(end, adds, inner) for end in adds.keys() - inner}


def _is_sum(task: PlainTask) -> bool:
    value = task.value
    return value.primitive.name == "add" and all(x.shape == value.shape for x in task.inputs)


def _terms(
    end: Value, adds: dict[Value, PlainTask], inner: set[Value]
) -> tuple[list[Value], list[Value]]:
    terms, links = [], [end]
    first, second = adds[end].inputs
    while first in inner:
        terms.append(second)
        links.append(first)
        first, second = adds[first].inputs
    return [first, second, *reversed(terms)], links[::-1]
