"""Branches, loops and sequences, as far as they are known when the diagram is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from gradwire.blocks.limits import MAX_INSTANCES
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.shapes import move, squeeze
from gradwire.runtime.interchange.importing.onnx.operators.node import (
    RULES,
    Item,
    OperatorNode,
    rule,
)
from gradwire.runtime.interchange.importing.onnx.operators.shapes import cut_up
from gradwire.runtime.interchange.importing.paging import name_like
from gradwire.runtime.interchange.importing.staged import Staged

Values: TypeAlias = Mapping[str, Staged]
UNROLLED = 4
"""Loops of at most as many steps become blocks for each of them."""
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
            given = [[_value(node, item) for item in pair] for pair in pairs]
            return tuple(node.stage.block("Where", choice, *pair) for pair in given)
    chosen = bool(node.known(0).reshape(-1)[0])
    return tuple(node.graphs.graph(node.body("then_branch" if chosen else "else_branch"), []))


def _are_alike(one: Item, other: Item) -> bool:
    """Whether both are values of the same shape and dtype."""
    if not (isinstance(one, Staged) and isinstance(other, Staged)):
        return False
    return (one.shape, one.dtype) == (other.shape, other.dtype)


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
    true = node.stage.constant(np.asarray(True))

    def step(now: Values) -> list[Staged]:
        given = [now["step"], true, *(now[key] for key in state)]
        goes_on, *values = _body(node, given, in_loop=True)
        carried = zip(state, values, strict=False)
        if not (_is_true(goes_on) and all(_are_alike(now[key], x) for key, x in carried)):
            raise node.unsupported("its steps are not alike")
        return values

    index = node.stage.constant(np.arange(min(steps, MAX_INSTANCES), dtype=np.int64))
    values = {key: _value(node, item) for key, item in state.items()}
    try:
        found = _as_scan(node, index.size, step, values, {"step": index})
    except UnsupportedError:
        return None
    if steps > MAX_INSTANCES:
        raise node.unsupported(f"a loop of {steps} steps")
    return found


def _unrolled_loop(node: OperatorNode, limit: int | None) -> tuple[Item, ...]:
    body, state, condition = node.body("body"), list(node.inputs[2:]), node.get(1)
    rows: list[list[Staged]] = []
    while limit is None or len(rows) < limit:
        if condition is not None and not node.stage.numbers(condition, "Loop").reshape(-1)[0]:
            break
        if len(rows) >= MAX_UNROLLED:
            raise node.unsupported(f"a loop of more than {MAX_UNROLLED} steps")
        index = node.stage.constant(np.asarray(len(rows), np.int64))
        given = condition or node.stage.constant(np.asarray(True))
        result = node.graphs.graph(body, [index, given, *state])
        condition, state = _value(node, result[0]), result[1 : 1 + len(state)]
        rows.append([_value(node, item) for item in result[1 + len(state) :]])
    if len(rows) > 1:
        node.stage.remark("unrolled", f"Loop: its {len(rows)} steps are blocks of their own.")
    if not rows and len(body.output) > 1 + len(state):
        raise node.unsupported("a loop without a step stacks nothing")
    return *state, *_stacked(node, rows)


def _stacked(node: OperatorNode, rows: Sequence[Sequence[Staged]]) -> list[Staged]:
    """What each step gives in a row, one output after the other."""
    return [node.stage.block("Stack", *column, axis=0) for column in zip(*rows, strict=True)]


def _value(node: OperatorNode, item: Item) -> Staged:
    if not isinstance(item, Staged):
        raise node.unsupported("its body gives no value")
    return item


def _body(node: OperatorNode, given: Sequence[Item], in_loop: bool = False) -> list[Staged]:
    """What the body of a node gives, all values."""
    found = node.graphs.graph(node.body("body"), given, in_loop=in_loop)
    return [_value(node, item) for item in found]


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
    if len(steps) != 1 or max(steps) > MAX_INSTANCES or not max(steps):
        raise node.unsupported(f"over inputs of {sorted(steps)} steps")
    given = zip(inputs, axes, directions, strict=True)
    over = [_turned(move(x, axis, 0), back) for x, axis, back in given]
    found = _scanned(node, state, over, max(steps))
    last, stacked = found[: len(state)], found[len(state) :]
    out_axes = node.integers("scan_output_axes") or (0,) * len(stacked)
    backwards = node.integers("scan_output_directions") or (0,) * len(stacked)
    ends = zip(stacked, out_axes, backwards, strict=True)
    return *last, *(move(_turned(y, back), 0, axis) for y, axis, back in ends)


def _turned(x: Staged, backwards: int) -> Staged:
    return x.stage.block("Flip", x, axis=0) if backwards else x


def _scanned(
    node: OperatorNode, state: Sequence[Staged], over: Sequence[Staged], steps: int
) -> tuple[Staged, ...]:
    """The last state, then all that is stacked."""
    if steps > UNROLLED:
        inputs = node.body("body").input[: len(state)]
        given = [name_like(value.name) if value.name else "" for value in inputs]
        alike = len(set(given)) < len(given)
        names = [f"state_{i}" if alike or not name else name for i, name in enumerate(given)]
        carry, along = (
            dict(zip(names, state, strict=True)),
            {f"over_{i}": x for i, x in enumerate(over)},
        )

        def step(now: Values) -> list[Staged]:
            return _body(node, [now[key] for key in (*carry, *along)], in_loop=True)

        return _as_scan(node, steps, step, carry, along)
    node.stage.remark("unrolled", f"Scan: its {steps} steps are blocks of their own.")
    now, rows = list(state), []
    for number in range(steps):
        values = _body(node, [*now, *(node.stage.select(x, 0, number) for x in over)])
        now = values[: len(state)]
        rows.append(values[len(state) :])
    return *now, *_stacked(node, rows)


def _as_scan(
    node: OperatorNode,
    steps: int,
    step: Callable[[Values], list[Staged]],
    carry: Values,
    over: Values,
) -> tuple[Staged, ...]:
    """The last of what is carried, then all that is stacked, as a step gives them."""

    def body(now: Values) -> tuple[Values, Values]:
        values = step(now)
        stacked = {f"stacked_{i}": x for i, x in enumerate(values[len(carry) :])}
        return dict(zip(carry, values[: len(carry)], strict=True)), stacked

    name = node.name or node.operator.lower()
    return tuple(node.stage.scan(name, steps, body, carry, over).values())


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
    x, axis = node.x(), node.axis(0)
    length = x.shape[axis]
    if not node.has(1):
        parts = cut_up(x, [1] * length, axis)
        return parts if node.integer("keepdims", 1) else [squeeze(part, (axis,)) for part in parts]
    sizes = node.known_integers(1) or []
    if node.x(1).ndim == 0:
        if sizes[0] < 1:
            raise node.unsupported(f"parts of {sizes[0]}")
        sizes = [min(sizes[0], length - start) for start in range(0, length, sizes[0])]
    return cut_up(x, sizes, axis)


@rule("ConcatFromSequence")
def _concat_from_sequence(node: OperatorNode) -> Staged:
    items = node.sequence()
    if not items:
        raise node.unsupported("the sequence is empty")
    kind = "Stack" if node.integer("new_axis") else "Concat"
    axis = node.axis(0, items[0].ndim + (kind == "Stack"))
    return node.stage.block(kind, *items, axis=axis)


@rule("SequenceMap")
def _sequence_map(node: OperatorNode) -> tuple[Item, ...]:
    """The body for each item, with the items of other sequences or values beside."""
    results = []
    for place in range(len(node.sequence())):
        given = [x[place] if isinstance(x, list) else x for x in node.inputs]
        results.append(_body(node, given))
    return tuple([list(column) for column in zip(*results, strict=True)])
