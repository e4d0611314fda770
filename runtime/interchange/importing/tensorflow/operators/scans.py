"""Loops whose number of steps is known, as Scans: what counts them, what is carried, and lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.items import ListElement, TensorList

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

FEW_STEPS = 3
"""Steps up to which a loop is written out."""
MAX_STEPS = 10_000
"""Steps of a Scan, at most."""


def scanned(call: TensorFlowCall) -> tuple[Item, ...] | None:
    """What a loop gives, as a Scan; None where it has few steps, or something unknown ends it."""
    fixed = call.run.unchanged(call.attributes.function("body"))
    counting = [
        number
        for number, item in enumerate(call.items)
        if number not in fixed and isinstance(item, Staged) and _is_count(item)
    ]
    counts = _counted(call, counting)
    if counts is None or len(counts) - 1 <= FEW_STEPS:
        return None
    remarks = len(call.stage.remarks)
    try:
        return _scan(call, fixed, counting, counts)
    except UnsupportedError:  # what a step does depends on its number
        del call.stage.remarks[remarks:]
        return None


def _is_count(x: Staged) -> bool:
    return x.array is not None and x.ndim == 0 and x.dtype.startswith("int")


def _counted(call: TensorFlowCall, counting: list[int]) -> list[list[int]] | None:
    """What the counters are before each step and after the last; None where that is not known."""
    condition, body = (call.attributes.function(key) for key in ("cond", "body"))
    items, found = list(call.items), list[list[int]]()
    while True:
        found.append([_number(items[number]) for number in counting])
        (goes_on,) = call.run(condition, items)
        if not isinstance(goes_on, Staged) or goes_on.array is None:
            return None
        if not np.any(goes_on.array):
            return found
        if len(found) > MAX_STEPS:
            raise call.unsupported(f"it has more than {MAX_STEPS:,} steps")
        following = call.run(body, items, only=counting)
        for number, item in zip(counting, following, strict=True):
            if not isinstance(item, Staged) or not _is_count(item):
                return None
            items[number] = item


def _number(item: Item) -> int:
    assert isinstance(item, Staged) and item.array is not None
    return int(item.array)


def _scan(
    call: TensorFlowCall, fixed: frozenset[int], counting: list[int], counts: list[list[int]]
) -> tuple[Item, ...] | None:
    steps, stage = len(counts) - 1, call.stage
    over: dict[str, Staged] = {}
    carry: dict[str, Staged] = {}
    numbers: dict[int, str] = {}
    for place, number in enumerate(counting):
        item = call.items[number]
        assert isinstance(item, Staged)
        along = np.asarray([before[place] for before in counts[:-1]], item.dtype)
        over[f"index{number}"] = stage.constant(along)
        numbers[number] = f"index{number}"
    by_step = [
        number
        for place, number in enumerate(counting)
        if [before[place] for before in counts[:-1]] == list(range(steps))
    ]
    if not by_step:
        return None
    for number, item in enumerate(call.items):
        if isinstance(item, TensorList) and _is_read(item, steps):
            over[f"list{number}"] = _whole(call, item, steps)
        elif isinstance(item, Staged) and number not in fixed and number not in numbers:
            carry[f"state{number}"] = item
    index = f"index{by_step[-1]}"

    def body(inside: Mapping[str, Staged]) -> tuple[dict[str, Staged], dict[str, Staged]]:
        items = [_inside(number, item, inside, index) for number, item in enumerate(call.items)]
        after = call.run(call.attributes.function("body"), items, in_loop=True)
        carried = {key: _value(after[int(key.removeprefix("state"))], call) for key in carry}
        written = {
            f"list{number}_all": item.written
            for number, item in enumerate(after)
            if isinstance(item, ListElement) and item.written is not None
        }
        return carried, written

    found = stage.scan(call.name, steps, body, carry, over)
    return tuple(
        _after(call, number, item, found, counting, counts[-1])
        for number, item in enumerate(call.items)
    )


def _is_read(item: TensorList, steps: int) -> bool:
    """Whether a list has what every step reads."""
    return len(item.elements) >= steps and all(x is not None for x in item.elements)


def _whole(call: TensorFlowCall, item: TensorList, steps: int) -> Staged:
    if item.whole is not None:
        return call.stage.cut(item.whole, 0, 0, steps)
    elements = [x for x in item.elements[:steps] if x is not None]
    return call.stage.block("Stack", *elements, axis=0)


def _inside(number: int, item: Item, inside: Mapping[str, Staged], index: str) -> Item:
    """What an argument of the body is in a step."""
    if isinstance(item, TensorList):
        return ListElement(inside[index], inside.get(f"list{number}"))
    for key in (f"index{number}", f"state{number}"):
        if key in inside:
            return inside[key]
    return item


def _value(item: Item, call: TensorFlowCall) -> Staged:
    if not isinstance(item, Staged):
        raise call.unsupported("it carries what is no tensor of numbers")
    return item


def _after(
    call: TensorFlowCall,
    number: int,
    item: Item,
    found: Mapping[str, Staged],
    counting: list[int],
    last: list[int],
) -> Item:
    """What an argument has become after all steps."""
    if number in counting and isinstance(item, Staged):
        return call.stage.constant(np.asarray(last[counting.index(number)], item.dtype))
    if f"state{number}" in found:
        return found[f"state{number}"]
    if f"list{number}_all" in found:
        every = found[f"list{number}_all"]
        parts = tuple(call.stage.select(every, 0, i) for i in range(every.shape[0]))
        return TensorList(parts, every.shape[1:], every.dtype, every)
    return item
