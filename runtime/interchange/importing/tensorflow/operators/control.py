"""Branches and loops, which call functions, and the lists that loops read and write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.shapes import unstack
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.tensorflow.items import ListElement, TensorList
from gradwire.runtime.interchange.importing.tensorflow.tensors import RESOURCE, VARIANT

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall
    from gradwire.runtime.interchange.importing.tensorflow.items import Item

MAX_UNROLLED = 2_000
"""Steps of a loop that becomes a page used once a step."""
FEW_STEPS = 3
"""Steps up to which a loop is written out."""
MAX_STEPS = 10_000
"""Steps of a Scan, at most."""
MAX_LENGTH = 100_000
"""Elements of a list, at most."""


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
    return call.stage.block("Where", condition, then, otherwise, name=call.name)


def _case(call: TensorFlowCall) -> tuple[Item, ...]:
    names, index = call.attributes.functions("branches"), call.whole(0)
    return call.run(names[index if 0 <= index < len(names) else -1], call.items[1:], "")


def _loop(call: TensorFlowCall) -> tuple[Item, ...]:
    """A Scan where the number of steps is known; else, or for few, the steps one by one."""
    fixed = call.run.unchanged(call.attributes.function("body"))
    counters = {
        number: item
        for number, item in enumerate(call.items)
        if number not in fixed and isinstance(item, Staged) and _count(item) is not None
    }
    counts = _counted(call, list(counters))
    if counts is not None and len(counts) - 1 > FEW_STEPS:
        remarks = len(call.stage.remarks)
        try:
            found = _scan(call, fixed, counters, counts)
        except UnsupportedError:  # what a step does depends on its number
            del call.stage.remarks[remarks:]
        else:
            if found is not None:
                return found
    return _unrolled(call)


def _unrolled(call: TensorFlowCall) -> tuple[Item, ...]:
    """The steps one after the other, each a use of one page where they are alike."""
    condition, body = (call.attributes.function(key) for key in ("cond", "body"))
    items, steps = call.items, 0
    while _goes_on(call, call.run(condition, items)):
        steps += 1
        if steps > MAX_UNROLLED:
            raise call.unsupported(f"it has more than {MAX_UNROLLED:,} steps")
        # The first step reads other values than the rest, which are alike.
        items = call.run(body, items, f"{call.name}_first" if steps == 1 else call.name)
    call.stage.remark("unrolled", f"The loop {call.node.name!r} became its {steps} steps.")
    return items


def _goes_on(call: TensorFlowCall, found: tuple[Item, ...]) -> bool:
    (condition,) = found
    if not isinstance(condition, Staged):
        raise call.unsupported("its condition is no number")
    return bool(np.any(call.stage.numbers(condition, f"The loop {call.node.name}")))


def _count(item: Item) -> int | None:
    """A single whole number that is known; None for what is none."""
    if not isinstance(item, Staged) or item.array is None or item.ndim:
        return None
    return int(item.array) if item.dtype.startswith("int") else None


def _counted(call: TensorFlowCall, counting: list[int]) -> list[list[int]] | None:
    """What the counters are before each step and after the last; None where that is not known."""
    condition, body = (call.attributes.function(key) for key in ("cond", "body"))
    items, found = list(call.items), list[list[int]]()
    while True:
        counts = [count for n in counting if (count := _count(items[n])) is not None]
        if len(counts) < len(counting):
            return None
        found.append(counts)
        (goes_on,) = call.run(condition, items)
        if not isinstance(goes_on, Staged) or goes_on.array is None:
            return None
        if not np.any(goes_on.array):
            return found
        if len(found) > MAX_STEPS:
            raise call.unsupported(f"it has more than {MAX_STEPS:,} steps")
        for number, item in zip(counting, call.run(body, items, only=counting), strict=True):
            items[number] = item


def _scan(
    call: TensorFlowCall,
    fixed: frozenset[int],
    counters: Mapping[int, Staged],
    counts: list[list[int]],
) -> tuple[Item, ...] | None:
    """The loop as a Scan; None where no counter has the numbers of the steps."""
    steps, stage = len(counts) - 1, call.stage
    along = dict(zip(counters, zip(*counts[:-1], strict=True), strict=True))
    by_step = [number for number, numbers in along.items() if numbers == tuple(range(steps))]
    if not by_step:
        return None
    over = {f"index{n}": stage.constant(np.asarray(along[n], x.dtype)) for n, x in counters.items()}
    carry: dict[str, Staged] = {}
    for number, item in enumerate(call.items):
        if isinstance(item, TensorList) and _is_read(item, steps):
            over[f"list{number}"] = _joined(call, item, steps)
        elif isinstance(item, Staged) and number not in fixed and number not in counters:
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

    found = dict(stage.scan(call.name, steps, body, carry, over))
    for (number, x), last in zip(counters.items(), counts[-1], strict=True):
        found[f"state{number}"] = stage.constant(np.asarray(last, x.dtype))
    return tuple(_after(number, item, found) for number, item in enumerate(call.items))


def _is_read(item: TensorList, steps: int) -> bool:
    """Whether a list has what every step reads."""
    return len(item.elements) >= steps and all(x is not None for x in item.elements)


def _joined(call: TensorFlowCall, tensors: TensorList, count: int, name: str = "") -> Staged:
    """The first elements of a list as one tensor."""
    if tensors.whole is not None:
        return call.stage.cut(tensors.whole, 0, 0, count)
    parts = [_element(call, tensors, element) for element in tensors.elements[:count]]
    return call.stage.block("Stack", *parts, axis=0, name=name)


def _inside(number: int, item: Item, inside: Mapping[str, Staged], index: str) -> Item:
    """What an argument of the body is in a step."""
    if isinstance(item, TensorList):
        return ListElement(inside[index], inside.get(f"list{number}"))
    return inside.get(f"index{number}", inside.get(f"state{number}", item))


def _value(item: Item, call: TensorFlowCall) -> Staged:
    if not isinstance(item, Staged):
        raise call.unsupported("it carries what is no tensor of numbers")
    return item


def _after(number: int, item: Item, found: Mapping[str, Staged]) -> Item:
    """What an argument has become after all steps."""
    every = found.get(f"list{number}_all")
    return found.get(f"state{number}", item) if every is None else _list_of(every)


def _list_of(x: Staged) -> TensorList:
    """The elements along the first axis."""
    return TensorList(tuple(unstack(x, 0)), x.shape[1:], x.dtype, x)


def _reserve(call: TensorFlowCall) -> Item:
    """A list of tensors that are not written yet; without a length, an empty one."""
    count = call.whole(1) if call.node.operator == "TensorListReserve" else 0
    if not 0 <= count <= MAX_LENGTH:
        raise call.unsupported(f"it makes a list of {count} tensors")
    lengths, dtype = call.wholes(0), call.attributes.dtype_number("element_dtype")
    shape = None if not lengths or any(n < 0 for n in lengths) else lengths
    nested = dtype in (RESOURCE, VARIANT)
    name = "" if nested else call.attributes.dtype("element_dtype")
    return TensorList((None,) * count, shape, name)


def _from_tensor(call: TensorFlowCall) -> Item:
    if call.x().shape[0] > MAX_LENGTH:
        raise call.unsupported(f"it makes a list of {call.x().shape[0]} tensors")
    return _list_of(call.x())


def _index(call: TensorFlowCall, tensors: TensorList) -> int:
    index = call.whole(1)
    if not 0 <= index < len(tensors.elements):
        raise call.unsupported(f"its index {index} is outside a list of {len(tensors.elements)}")
    return index


def _in_step(call: TensorFlowCall) -> ListElement | None:
    """The list in the body of a Scan, whose index must be the number of the step."""
    item = call.item(0)
    if not isinstance(item, ListElement):
        return None
    if call.item(1) is not item.index:
        raise call.unsupported("its index in the loop is not the number of the step")
    return item


def _get(call: TensorFlowCall) -> Item:
    inside = _in_step(call)
    if inside is None:
        tensors = call.list()
        return _element(call, tensors, tensors.elements[_index(call, tensors)])
    if inside.read is None:
        raise call.unsupported("it reads what the loop writes")
    return inside.read


def _element(call: TensorFlowCall, tensors: TensorList, element: Staged | None) -> Staged:
    if element is not None:
        return element
    shape = tensors.shape
    if shape is None:
        shape = next((e.shape for e in tensors.elements if e is not None), None)
    if shape is None:
        raise call.unsupported("it reads what was not written")
    return call.stage.constant(np.zeros(shape, tensors.dtype))


def _set(call: TensorFlowCall) -> Item:
    inside, x = _in_step(call), call.x(2)
    if inside is not None:
        return ListElement(inside.index, None, x)
    tensors = call.list()
    index = _index(call, tensors)
    elements = (*tensors.elements[:index], x, *tensors.elements[index + 1 :])
    return TensorList(elements, x.shape, x.dtype)


def _push(call: TensorFlowCall) -> Item:
    """With one more, unless only TensorFlow's own backward pass would read that."""
    if isinstance(call.item(0), ListElement):
        return call.item(0)
    tensors, x = call.list(), call.item(1)
    if not isinstance(x, Staged) or len(tensors.elements) >= MAX_LENGTH:
        return tensors
    return TensorList((*tensors.elements, x), tensors.shape, tensors.dtype)


def _stack(call: TensorFlowCall) -> Staged:
    tensors = call.list()
    if not tensors.elements:
        raise call.unsupported("its list is empty")
    return _joined(call, tensors, len(tensors.elements), call.name)


def _about(call: TensorFlowCall) -> Staged:
    """How many elements a list has, or the shape of one; in a Scan, as if it were empty."""
    tensors = TensorList(()) if isinstance(call.item(0), ListElement) else call.list()
    length = call.node.operator == "TensorListLength"
    found = len(tensors.elements) if length else tensors.shape or ()
    return call.stage.constant(np.asarray(found, np.int32))


OPERATORS: dict[str, Operator] = {
    "If": _branch, "StatelessIf": _branch, "Case": _case, "StatelessCase": _case,
    "While": _loop, "StatelessWhile": _loop,
    "TensorListReserve": _reserve, "EmptyTensorList": _reserve,
    "TensorListFromTensor": _from_tensor, "TensorListGetItem": _get, "TensorListSetItem": _set,
    "TensorListPushBack": _push, "TensorListStack": _stack, "TensorListLength": _about,
    "TensorListElementShape": _about,
}  # fmt: skip
