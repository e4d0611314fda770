"""Branches and loops, which call functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.operators.scans import scanned

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

MAX_STEPS = 2_000
"""Steps of a loop that becomes a page used once a step."""


def _branch(call: TensorFlowCall) -> tuple[Item, ...]:
    """One branch if it is known which, else both with a choice between what they give."""
    condition, given = call.x(0), call.items[1:]
    names = [call.attributes.function(key) for key in ("else_branch", "then_branch")]
    if condition.array is not None:
        return call.run(names[bool(np.any(condition.array))], given, "")
    otherwise, then = (call.run(name, given, call.name) for name in names)
    if condition.dtype != "bool":
        condition = call.stage.block("NotEqual", condition, condition.like(0))
    return tuple(_chosen(call, condition, a, b) for a, b in zip(then, otherwise, strict=True))


def _chosen(call: TensorFlowCall, condition: Staged, then: Item, otherwise: Item) -> Item:
    if not isinstance(then, Staged) or not isinstance(otherwise, Staged):
        return None
    if then.shape != otherwise.shape:
        raise call.unsupported(f"its branches give {then.shape} and {otherwise.shape}")
    return call.block("Where", condition, then, otherwise)


def _case(call: TensorFlowCall) -> tuple[Item, ...]:
    names = call.attributes.functions("branches")
    index = call.whole(0)
    name = names[index if 0 <= index < len(names) else -1]
    return call.run(name, call.items[1:], "")


def _loop(call: TensorFlowCall) -> tuple[Item, ...]:
    """A Scan where the number of steps is known; else, or for few, the steps one by one."""
    found = scanned(call)
    return _unrolled(call) if found is None else found


def _unrolled(call: TensorFlowCall) -> tuple[Item, ...]:
    """The steps one after the other, each a use of one page where they are alike."""
    condition, body = (call.attributes.function(key) for key in ("cond", "body"))
    items, steps = call.items, 0
    while _goes_on(call, call.run(condition, items)):
        steps += 1
        if steps > MAX_STEPS:
            raise call.unsupported(f"it has more than {MAX_STEPS:,} steps")
        # The first step reads other values than the rest, which are alike.
        items = call.run(body, items, f"{call.name}_first" if steps == 1 else call.name)
    call.stage.remark("unrolled", f"The loop {call.node.name!r} became its {steps} steps.")
    return items


def _goes_on(call: TensorFlowCall, found: tuple[Item, ...]) -> bool:
    (condition,) = found
    if not isinstance(condition, Staged):
        raise call.unsupported("its condition is no number")
    return bool(np.any(call.stage.numbers(condition, f"The loop {call.node.name}")))


OPERATORS: dict[str, Operator] = {
    "If": _branch, "StatelessIf": _branch, "Case": _case, "StatelessCase": _case,
    "While": _loop, "StatelessWhile": _loop,
}  # fmt: skip
