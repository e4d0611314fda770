"""The reverse sweep: derivatives as more primitives on the same trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.blocks.errors import GradwireError, Location, RunError, ShapeError
from gradwire.blocks.plugins import PluginError
from gradwire.runtime.calculus.dtypes import FLOATS
from gradwire.runtime.calculus.primitives.base import WIRE
from gradwire.runtime.calculus.value import Value

if TYPE_CHECKING:
    from gradwire.runtime.calculus.namespace import Namespace


def passes_gradient(value: Value, slot: int) -> bool:
    """Whether gradient passes from ``value`` to its input ``slot``: as the sweep decides it.

    Closed where the primitive has no rule for the slot, or either side is not a float.
    """
    return (
        value.dtype in FLOATS
        and value.inputs[slot].dtype in FLOATS
        and value.primitive.rule(slot) is not None
    )


def unwrap(value: Value) -> Value:
    """The value behind wire markers: what the block at the wire's source computed."""
    while value.primitive is WIRE:
        value = value.inputs[0]
    return value


class BackwardRules:
    """How the sweep goes back through one value; subclasses may record it, or pass more.

    The sweep asks ``passes`` of all slots first. From the heads on it then calls ``total`` once
    for each value that it goes back through, and ``contribution`` for each slot that passes.
    """

    def passes(self, value: Value, slot: int) -> bool:
        """Whether gradient goes back from ``value`` to its input ``slot``."""
        return passes_gradient(value, slot)

    def total(self, value: Value, parts: Sequence[Value]) -> Value:
        """The adjoint of ``value``: the sum of what came back from its readers, in their order."""
        adjoint = parts[0]
        for part in parts[1:]:
            adjoint = adjoint + part
        return adjoint

    def contribution(self, adjoint: Value, value: Value, slot: int) -> Value:
        """What comes back from ``value`` to its input ``slot``; RunError where a rule fails."""
        return _contribution(value.trace.xp, adjoint, value, slot)


_RULES = BackwardRules()


def sweep(
    heads: Iterable[tuple[Value, Value]],
    wanted: Iterable[Value],
    rules: BackwardRules = _RULES,
) -> dict[Value, Value]:
    """Adjoints d(Σ seedᵢ·headᵢ)/d(v) of the wanted values, appended to the trace.

    A value without a path to a head is missing from the result: its gradient is None, not zero.
    ``heads`` are (value, seed) with seeds of the heads' shapes and dtypes. Time is linear in the
    part of the trace between the wanted values and the heads.
    """
    targets, starts = list(wanted), list(heads)
    if not (targets and starts):
        return {}
    first = min(value.index for value in targets)
    last = max(head.index for head, _ in starts)
    if last < first:
        return {}
    trace = starts[0][0].trace
    values = trace.values[first : last + 1]
    # By place among these: tables of values would not stay in the caches.
    is_target = bytearray(len(values))
    for value in targets:
        if value.index <= last:
            is_target[value.index - first] = 1
    open_slots = _open_slots(values, is_target, rules)
    firsts = _firsts(values, open_slots)
    together: dict[int, list[tuple[Value, Value]]] = {}
    """By the place of the first of some values that are computed at once: their adjoints."""
    incoming: list[list[Value] | None] = [None] * len(values)
    for head, seed in starts:
        if head.index >= first:
            _add(incoming, head.index - first, seed)

    adjoints: dict[Value, Value] = {}
    owner = trace.owner
    for place in range(len(values) - 1, -1, -1):
        parts, slots = incoming[place], open_slots[place]
        if (parts is None or not (slots or is_target[place])) and place not in together:
            continue
        incoming[place] = None
        value = values[place]
        if trace.owner is None:
            trace.owner = value.owner
        if parts is not None:
            adjoint = rules.total(value, parts)
            if is_target[place]:
                adjoints[value] = adjoint
            if slots and place in firsts:
                together.setdefault(firsts[place][0], []).append((value, adjoint))
                slots = ()
            for slot in slots:
                part = rules.contribution(adjoint, value, slot)
                _add(incoming, value.inputs[slot].index - first, part)
        if place in together:
            for slot, part in _back(together.pop(place), firsts[place][1]).items():
                _add(incoming, value.inputs[slot].index - first, part)
        trace.owner = owner
    return adjoints


def _add(incoming: list[list[Value] | None], place: int, part: Value) -> None:
    parts = incoming[place]
    if parts is None:
        incoming[place] = [part]
    else:
        parts.append(part)


def _open_slots(
    values: Sequence[Value], is_target: Sequence[int], rules: BackwardRules
) -> list[Sequence[int]]:
    """The slots of each value from which gradient goes back and on to a target."""
    first = values[0].index
    leads = bytearray(is_target)
    passes = rules.passes
    found: list[Sequence[int]] = [()] * len(values)
    for place, value in enumerate(values):
        slots = []
        for slot, source in enumerate(value.inputs):
            there = source.index - first
            if there >= 0 and leads[there] and passes(value, slot):
                slots.append(slot)
        if slots:
            found[place] = slots
            leads[place] = 1
    return found


def _firsts(
    values: Sequence[Value], open_slots: Sequence[Sequence[int]]
) -> dict[int, tuple[int, set[int]]]:
    """By the place of a value that is computed at once with others: the place of the first of
    them, and the open slots of all.
    """
    found: dict[int, tuple[int, set[int]]] = {}
    alike: dict[tuple[int, ...], tuple[int, set[int]]] = {}
    for place, value in enumerate(values):
        if value.primitive.together is not None and open_slots[place]:
            key = id(value.attributes["body"]), *(x.index for x in value.inputs)
            found[place] = alike.setdefault(key, (place, set()))
            found[place][1].update(open_slots[place])
    return found


def _back(adjoints: Sequence[tuple[Value, Value]], slots: Iterable[int]) -> Mapping[int, Value]:
    """What comes back to the slots from values that are computed at once, where any is open."""
    primitive = adjoints[0][0].primitive
    assert primitive.together is not None  # or they were not found together
    opened = [slot for slot in slots if any(v.primitive.rule(slot) for v, _ in adjoints)]
    return primitive.together(adjoints, opened)


def _contribution(xp: Namespace, adjoint: Value, value: Value, slot: int) -> Value:
    """What comes back from a value to its input; raises RunError where the rule fails."""
    rule, source = value.primitive.rule(slot), value.inputs[slot]
    assert rule is not None  # the slot is open
    # Unpacking thousands of inputs once for each of them would take quadratic time.
    arguments = (slot, value.inputs) if value.primitive.variadic else value.inputs
    try:
        part = rule(xp, adjoint, value, *arguments, **value.attributes)
    except PluginError as error:
        raise _failed_rule(value, error.what.rstrip(".")) from error
    except GradwireError:
        raise
    except Exception as error:  # the rule of a plug-in may fail in any way
        raise _failed_rule(value, repr(error)) from error
    if part.__class__ is Value and part.shape == source.shape and part.dtype == source.dtype:
        if not part.weak:
            found: Value = part
            return found
    try:
        return xp.astype(xp.sum_to(part, source.shape), source.dtype)
    except (ShapeError, AttributeError) as error:
        got = f"shape {list(part.shape)}" if hasattr(part, "shape") else repr(part)
        wanted = f"shape {list(source.shape)}"
        raise _failed_rule(value, f"it gives {got} for an input of {wanted}") from error


def _failed_rule(value: Value, why: str) -> RunError:
    place = Location(block=value.owner) if isinstance(value.owner, str) else None
    return RunError(f"The derivative of {value.primitive.name} failed: {why}.", location=place)
