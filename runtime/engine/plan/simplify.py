"""Reduces a trace to what a plan must compute: no dead values, identities or duplicates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.base import BROADCAST, CONSTANT, LEAF, WIRE
from gradwire.runtime.calculus.primitives.gradient import LOSS_HEAD, STOP_GRADIENT, SURROGATE

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

IDENTITIES = frozenset({WIRE, STOP_GRADIENT, SURROGATE, LOSS_HEAD})
"""Primitives whose result is their first input, bit by bit."""
_COMMUTATIVE = frozenset({"add", "multiply"})


class Same(dict["Value", "Value"]):
    """Maps a value to an earlier one that has the same numbers."""

    def of(self, value: Value) -> Value:
        """The value that is computed for ``value``."""
        return self.get(value, value)


def simplify(outputs: Sequence[Value]) -> tuple[list[tuple[Value, list[Value]]], Same]:
    """The values to compute for the outputs, in order and with their inputs, and the merged ones.

    An identity is replaced by its input; of several values with equal primitive, inputs and
    attributes, the first replaces the others. Only values with equal bits are merged.
    """
    same = Same()
    found: dict[Hashable, dict[Hashable, Value]] = {}
    computed = []
    known = same.get
    for value in _needed(outputs):
        primitive = value.primitive
        inputs = [known(x, x) for x in value.inputs]
        if primitive in IDENTITIES:
            same[value] = inputs[0]
            continue
        key: Hashable
        if value.attributes or not inputs:
            kind, key = None, equality_key(value, inputs)
        else:  # most values, for which this takes half as long
            kind, key = (primitive.name, value.dtype), _operands(primitive.name, inputs)
        if key is not None:
            alike = found.get(kind)
            if alike is None:
                alike = found[kind] = {}
            first = alike.setdefault(key, value)
            if first is not value:
                same[value] = first
                continue
        computed.append((value, inputs))
    return computed, same


def _operands(name: str, inputs: Sequence[Value]) -> Hashable:
    """The operands as a key; the order of two that may change places makes no difference."""
    if len(inputs) == 1:
        return inputs[0].index
    operands = [x.index for x in inputs]
    if name in _COMMUTATIVE:
        operands.sort()
    return tuple(operands)


def equality_key(value: Value, inputs: Sequence[Value]) -> Hashable:
    """A key shared by values that must have equal bits; None if comparing would be expensive."""
    if value.primitive is LEAF:
        return None
    if value.primitive is CONSTANT:
        array = value.attributes["array"]
        return None if array.size > 16 else (array.dtype.char, array.shape, array.tobytes())
    operands = _operands(value.primitive.name, inputs)
    attributes = map(attribute_key, value.attributes.values()) if value.attributes else ()
    return (value.primitive.name, value.dtype, operands, *attributes)


def attribute_key(attribute: Any) -> Hashable:
    """An attribute as part of a key: slices can't be hashed before Python 3.12."""
    if isinstance(attribute, tuple):
        return tuple(map(attribute_key, attribute))
    if isinstance(attribute, slice):
        return "slice", attribute.start, attribute.stop, attribute.step
    return repr(attribute) if isinstance(attribute, float) else attribute


def leaves_of(outputs: Sequence[Value]) -> list[Value]:
    """The leaves that values depend on, in the order of the trace."""
    return [value for value in _needed(outputs) if value.primitive is LEAF]


def _needed(outputs: Sequence[Value]) -> list[Value]:
    """All values that the outputs depend on, in the order of evaluation."""
    if not outputs:
        return []
    trace = outputs[0].trace
    needed = bytearray(1 + max(value.index for value in outputs))
    pending = []
    for value in outputs:
        if not needed[value.index]:
            needed[value.index] = 1
            pending.append(value)
    while pending:
        value = pending.pop()
        unread = value.primitive.unread
        for slot, source in enumerate(value.inputs):
            if not needed[source.index] and slot not in unread:
                needed[source.index] = 1
                pending.append(source)
    values = trace.values
    return [values[i] for i in np.flatnonzero(np.frombuffer(needed, np.uint8)).tolist()]


def is_zero(value: Value) -> bool:
    """Whether a value is 0 everywhere, and not −0."""
    if value.primitive is BROADCAST:
        value = value.inputs[0]
    if value.primitive is not CONSTANT:
        return False
    array = value.attributes["array"]
    return array.size == 1 and array.item() == 0 and not np.signbit(array).any()
