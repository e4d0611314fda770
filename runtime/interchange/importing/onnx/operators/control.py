"""Branches, loops and sequences, as far as they are known when the diagram is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    Item,
    OperatorNode,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.operators.shapes import cut_up
from gradwire.runtime.interchange.importing.paging import name_like
from gradwire.runtime.interchange.importing.staged import Staged

UNROLLED = 4
"""Loops of at most as many steps become blocks for each of them."""
MAX_STEPS = 1_000_000
"""Steps of a loop."""
MAX_UNROLLED = 1_000
"""Steps of a loop that no Scan can express."""


@rule("If")
def _if(node: OperatorNode) -> tuple[Item, ...]:
    """The branch that a constant chooses, or a Where of both of them.

    Branches that differ in more than numbers must be chosen by the numbers of an example.
    """
    condition = node.x()
    if condition.array is None and condition.size == 1:
        branches = [node.graphs.graph(node.body(f"{name}_branch"), []) for name in ("then", "else")]
        pairs = list(zip(*branches, strict=True))
        if all(_are_alike(*pair) for pair in pairs):
            choice = node.stage.reshape(condition, ())
            return tuple(_where(node, choice, *pair) for pair in pairs)
    chosen = bool(node.known(0).reshape(-1)[0])
    return tuple(node.graphs.graph(node.body("then_branch" if chosen else "else_branch"), []))


def _are_alike(one: Item, other: Item) -> bool:
    """Whether both are values of the same shape and dtype."""
    if not (isinstance(one, Staged) and isinstance(other, Staged)):
        return False
    return (one.shape, one.dtype) == (other.shape, other.dtype)


def _where(node: OperatorNode, choice: Staged, one: Item, other: Item) -> Staged:
    return node.stage.block("Where", choice, _value(node, one), _value(node, other))


@rule("Loop")
def _loop(node: OperatorNode) -> tuple[Item, ...]:
    """A Scan where the number of steps is known and large, else blocks for every step."""
    condition, limit = node.get(1), node.known_integer(0) if node.has(0) else None
    if limit is not None and limit > UNROLLED and (condition is None or _is_true(condition)):
        found = _loop_as_scan(node, limit)
        if found is not None:
            return found
    return _unrolled_loop(node, limit)


def _is_true(condition: Staged) -> bool:
    return condition.array is not None and bool(condition.array.all())


def _loop_as_scan(node: OperatorNode, steps: int) -> tuple[Item, ...] | None:
    """None where the steps differ in more than numbers, or the loop may end before."""
    state = {f"state_{i}": item for i, item in enumerate(node.inputs[2:])}
    if not all(isinstance(item, Staged) for item in state.values()):
        return None
    body, stage = node.body("body"), node.stage
    outputs = [f"stacked_{i}" for i in range(len(body.output) - 1 - len(state))]
    true = stage.constant(np.asarray(True))

    def step(now: Mapping[str, Staged]) -> tuple[dict[str, Staged], dict[str, Staged]]:
        given = [now["step"], true, *(now[key] for key in state)]
        result = [_value(node, item) for item in node.graphs.graph(body, given, in_loop=True)]
        carried = dict(zip(state, result[1:], strict=False))
        fits = all((now[k].shape, now[k].dtype) == (x.shape, x.dtype) for k, x in carried.items())
        if not (_is_true(result[0]) and fits):
            raise node.unsupported("its steps are not alike")
        if steps > MAX_STEPS:
            raise _TooLongError(node.operator, f"a loop of {steps} steps")
        return carried, dict(zip(outputs, result[1 + len(state) :], strict=True))

    index = stage.constant(np.arange(min(steps, MAX_STEPS), dtype=np.int64))
    values = {key: _value(node, item) for key, item in state.items()}
    try:
        found = stage.scan(node.name or "loop", index.size, step, values, {"step": index})
    except _TooLongError:
        raise
    except UnsupportedError:
        return None
    return tuple(found[key] for key in (*state, *outputs))


class _TooLongError(UnsupportedError):
    """A loop runs for so long that no other form of it helps."""


def _unrolled_loop(node: OperatorNode, limit: int | None) -> tuple[Item, ...]:
    body, state, condition = node.body("body"), list(node.inputs[2:]), node.get(1)
    stacked: list[list[Staged]] = [[] for _ in body.output[1 + len(state) :]]
    step = 0
    while limit is None or step < limit:
        if condition is not None and not node.stage.numbers(condition, "Loop").reshape(-1)[0]:
            break
        if step >= MAX_UNROLLED:
            raise node.unsupported(f"a loop of more than {MAX_UNROLLED} steps")
        index = node.stage.constant(np.asarray(step, np.int64))
        given = condition or node.stage.constant(np.asarray(True))
        result = node.graphs.graph(body, [index, given, *state])
        condition, state = _value(node, result[0]), result[1 : 1 + len(state)]
        for values, value in zip(stacked, result[1 + len(state) :], strict=True):
            values.append(_value(node, value))
        step += 1
    if step > 1:
        node.stage.remark("unrolled", f"Loop: its {step} steps are blocks of their own.")
    if any(not values for values in stacked):
        raise node.unsupported("a loop without a step stacks nothing")
    return *state, *(node.stage.block("Stack", *values, axis=0) for values in stacked)


def _value(node: OperatorNode, item: Item) -> Staged:
    if not isinstance(item, Staged):
        raise node.unsupported("its body gives no value")
    return item


@rule("Scan")
def _scan(node: OperatorNode) -> tuple[Item, ...]:
    """Over slices of inputs along an axis each, in either direction."""
    if node.opset < 9:
        raise node.unsupported("the form of opset 8")
    count = node.integer("num_scan_inputs")
    state, inputs = node.values()[: len(node.inputs) - count], node.values(len(node.inputs) - count)
    axes = node.integers("scan_input_axes") or (0,) * count
    directions = node.integers("scan_input_directions") or (0,) * count
    steps = {x.shape[axis] for x, axis in zip(inputs, axes, strict=True)}
    if len(steps) != 1 or max(steps) > MAX_STEPS or not max(steps):
        raise node.unsupported(f"over inputs of {sorted(steps)} steps")
    over = [_first(x, axis, back) for x, axis, back in zip(inputs, axes, directions, strict=True)]
    last, stacked = _scanned(node, state, over, max(steps))
    out_axes = node.integers("scan_output_axes") or (0,) * len(stacked)
    backwards = node.integers("scan_output_directions") or (0,) * len(stacked)
    turned = [
        _to_axis(_first(y, 0, back), axis)
        for y, axis, back in zip(stacked, out_axes, backwards, strict=True)
    ]
    return *last, *turned


def _first(x: Staged, axis: int, backwards: int) -> Staged:
    """``x`` with an axis first, and backwards along it."""
    axis %= x.ndim
    x = x.stage.transpose(x, [axis, *(i for i in range(x.ndim) if i != axis)])
    return x.stage.block("Flip", x, axis=0) if backwards else x


def _to_axis(x: Staged, axis: int) -> Staged:
    """``x`` with its first axis moved to ``axis``."""
    order = list(range(1, x.ndim))
    order.insert(axis % x.ndim, 0)
    return x.stage.transpose(x, order)


def _scanned(
    node: OperatorNode, state: Sequence[Staged], over: Sequence[Staged], steps: int
) -> tuple[list[Staged], list[Staged]]:
    body, stage = node.body("body"), node.stage
    if steps > UNROLLED:
        given = [name_like(value.name) if value.name else "" for value in body.input[: len(state)]]
        alike = len(set(given)) < len(given)
        names = [f"state_{i}" if alike or not name else name for i, name in enumerate(given)]
        return _as_scan(node, dict(zip(names, state, strict=True)), over, steps)
    stage.remark("unrolled", f"Scan: its {steps} steps are blocks of their own.")
    now = list(state)
    stacked: list[list[Staged]] = [[] for _ in body.output[len(state) :]]
    for step in range(steps):
        result = node.graphs.graph(body, [*now, *(stage.select(x, 0, step) for x in over)])
        values = [_value(node, item) for item in result]
        now = values[: len(state)]
        for several, value in zip(stacked, values[len(state) :], strict=True):
            several.append(value)
    return now, [stage.block("Stack", *several, axis=0) for several in stacked]


def _as_scan(
    node: OperatorNode, state: Mapping[str, Staged], over: Sequence[Staged], steps: int
) -> tuple[list[Staged], list[Staged]]:
    body = node.body("body")
    given = {f"over_{i}": x for i, x in enumerate(over)}
    outputs = [f"stacked_{i}" for i in range(len(body.output) - len(state))]

    def step(now: Mapping[str, Staged]) -> tuple[dict[str, Staged], dict[str, Staged]]:
        result = node.graphs.graph(body, [now[key] for key in (*state, *given)], in_loop=True)
        values = [_value(node, item) for item in result]
        carried = dict(zip(state, values[: len(state)], strict=True))
        return carried, dict(zip(outputs, values[len(state) :], strict=True))

    found = node.stage.scan(node.name or "scan", steps, step, state, given)
    return [found[key] for key in state], [found[key] for key in outputs]


RULES |= {
    "SequenceEmpty": lambda node: [],
    "SequenceConstruct": lambda node: node.values(),
    "SequenceAt": lambda node: node.sequence()[_place(node, 1)],
    "SequenceLength": lambda node: node.stage.constant(np.asarray(len(node.sequence()), np.int64)),
    "OptionalHasElement": lambda node: node.stage.constant(np.asarray(node.has(0))),
    "Optional": lambda node: node.inputs[0] if node.inputs else None,
}


def _place(node: OperatorNode, index: int, extra: int = 0) -> int:
    """A place in a sequence, counted from the front."""
    place, length = node.known_integer(index), len(node.sequence())
    if not -length <= place < length + extra:
        raise node.unsupported(f"place {place} of {length}")
    return place + length if place < 0 else place


@rule("OptionalGetElement")
def _optional(node: OperatorNode) -> Item:
    if not node.has(0):
        raise node.unsupported("there is no element")
    return node.inputs[0]


@rule("SequenceInsert")
def _insert(node: OperatorNode) -> list[Staged]:
    items = list(node.sequence())
    items.insert(_place(node, 2, extra=1) if node.has(2) else len(items), node.x(1))
    return items


@rule("SequenceErase")
def _erase(node: OperatorNode) -> list[Staged]:
    items = list(node.sequence())
    del items[_place(node, 1) if node.has(1) else -1]
    return items


@rule("SplitToSequence")
def _split_to_sequence(node: OperatorNode) -> list[Staged]:
    x, axis, stage = node.x(), node.axis(0), node.stage
    length = x.shape[axis]
    if not node.has(1):
        parts = cut_up(x, [1] * length, axis)
        if node.integer("keepdims", 1):
            return parts
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        return [stage.reshape(part, shape) for part in parts]
    sizes = node.known_integers(1) or []
    if node.x(1).ndim == 0:
        if sizes[0] < 1:
            raise node.unsupported(f"parts of {sizes[0]}")
        sizes = [min(sizes[0], length - start) for start in range(0, length, sizes[0])]
    return cut_up(x, sizes, axis)


@rule("ConcatFromSequence")
def _concat_from_sequence(node: OperatorNode) -> Staged:
    items = node.sequence()
    kind = "Stack" if node.integer("new_axis") else "Concat"
    axis = node.axis(0, items[0].ndim + (kind == "Stack")) if items else 0
    if not items:
        raise node.unsupported("the sequence is empty")
    return node.stage.block(kind, *items, axis=axis)


@rule("SequenceMap")
def _sequence_map(node: OperatorNode) -> tuple[Item, ...]:
    """The body for each item, with the items of other sequences or values beside."""
    body, items = node.body("body"), node.sequence()
    results = []
    for place in range(len(items)):
        given = [x[place] if isinstance(x, list) else x for x in node.inputs]
        results.append([_value(node, item) for item in node.graphs.graph(body, given)])
    return tuple([list(column) for column in zip(*results, strict=True)])
