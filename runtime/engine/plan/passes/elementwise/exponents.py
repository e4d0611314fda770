"""Machine code for the exponents that a region is given: a square costs one product, and a power
whose exponent may be any number twenty times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gradwire.runtime.engine.plan.native import is_simple

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays, PlainTask, Step

Exponents: TypeAlias = "Mapping[Value, float]"
"""The exponents, half of small integers, of some powers."""


def attributes_of(value: Value, exponents: Exponents) -> tuple[tuple[str, Hashable], ...]:
    """The attributes of an operation on elements, and its exponent if it is one of these."""
    known = (("exponent", exponents[value]),) if value in exponents else ()
    return (*value.attributes.items(), *known)


def for_exponents(
    tasks: Sequence[PlainTask],
    inputs: Sequence[Value],
    arrays: Arrays,
    step: Callable[[Exponents], Step],
) -> Step:
    """The step of a region; if powers in it have one exponent each for all elements, one that takes
    the step for those that the arrays then have.
    """
    known = set(inputs)
    given = {
        task.value: arrays[task.inputs[1]]
        for task in tasks
        if task.value.primitive.name == "power"
        and task.inputs[1].size == 1
        and task.inputs[1] in known
    }
    if not given:
        return step({})
    made: dict[tuple[float | None, ...], Step] = {}

    def step_for_exponents() -> None:
        found = tuple(x if is_simple(x := array.item()) else None for array in given.values())
        if found not in made:
            pairs = zip(given, found, strict=True)
            made[found] = step({power: x for power, x in pairs if x is not None})
        made[found]()

    return step_for_exponents
