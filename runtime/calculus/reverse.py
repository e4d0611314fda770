"""The reverse sweep: derivatives as more primitives on the same trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from blocks.errors import GradwireError, Location, RunError, ShapeError
from blocks.plugins import PluginError
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import WIRE

if TYPE_CHECKING:
    from runtime.calculus.namespace import Namespace
    from runtime.calculus.value import Value


def passes_gradient(value: Value, slot: int) -> bool:
    """Whether gradient passes from ``value`` to its input ``slot``: as the sweep decides it.

    Closed where the primitive has no rule for the slot, or either side is not a float.
    """
    return (
        value.primitive.rule(slot) is not None
        and is_float(value.dtype)
        and is_float(value.inputs[slot].dtype)
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
    targets = set(wanted)
    incoming: dict[Value, list[Value]] = {}
    for head, seed in heads:
        incoming.setdefault(head, []).append(seed)
    if not (targets and incoming):
        return {}
    first = min(value.index for value in targets)
    last = max(head.index for head in incoming)
    trace = next(iter(incoming)).trace
    values = trace.values

    open_slots: dict[Value, list[int]] = {}
    for value in values[first : last + 1]:
        slots = [
            slot
            for slot, source in enumerate(value.inputs)
            if (source in targets or source in open_slots) and rules.passes(value, slot)
        ]
        if slots:
            open_slots[value] = slots

    adjoints: dict[Value, Value] = {}
    owner = trace.owner
    for value in values[last : first - 1 if first else None : -1]:
        parts = incoming.pop(value, None)
        if parts is None:
            continue
        slots = open_slots.get(value, [])
        if not slots and value not in targets:
            continue
        if trace.owner is None:
            trace.owner = value.owner
        adjoint = rules.total(value, parts)
        if value in targets:
            adjoints[value] = adjoint
        for slot in slots:
            part = rules.contribution(adjoint, value, slot)
            incoming.setdefault(value.inputs[slot], []).append(part)
        trace.owner = owner
    return adjoints


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
    try:
        return xp.astype(xp.sum_to(part, source.shape), source.dtype)
    except (ShapeError, AttributeError) as error:
        got = f"shape {list(part.shape)}" if hasattr(part, "shape") else repr(part)
        wanted = f"shape {list(source.shape)}"
        raise _failed_rule(value, f"it gives {got} for an input of {wanted}") from error


def _failed_rule(value: Value, why: str) -> RunError:
    place = Location(block=value.owner) if isinstance(value.owner, str) else None
    return RunError(f"The derivative of {value.primitive.name} failed: {why}.", location=place)
