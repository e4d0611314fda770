"""The steps inside a block: what each of its primitives computes, receives and passes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus import passes_gradient
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import LEAF, WIRE
from gradwire.runtime.lessons.derivative.notation import LocalPrimitive, NamedFormula

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.lessons.derivative.notation import BlockPrimitives

MOST_BYTES = 8 << 20
"""Bytes of the values of a block of which the numbers are computed."""


@dataclass(frozen=True, eq=False)
class PrimitiveForward:
    """A primitive computes ``result`` by a formula; ``value`` is None where it was not kept."""

    path: InstancePath
    result: str
    formula: NamedFormula
    value: Array | None


@dataclass(frozen=True, eq=False)
class PrimitiveReturn:
    """What goes back to one input of a primitive, by the rule.

    ``rule`` and ``value`` are None where nothing goes back, for the ``reason``. Where the numbers
    were not kept, ``is_known`` is False.
    """

    receiver: str
    rule: NamedFormula | None
    value: Array | None
    reason: str = ""
    is_known: bool = True
    is_discarded: bool = False
    """Whether a cut nearer the variables throws it away."""


@dataclass(frozen=True, eq=False)
class PrimitiveBackward:
    """Gradient arrives at the result of a primitive and goes on to its inputs.

    ``terms`` are what arrives, each with the names of who sent it; an empty one for what arrives
    at the block from outside. ``formula`` is None where the terms add up at an input of the block.
    """

    path: InstancePath
    result: str
    formula: NamedFormula | None
    terms: tuple[tuple[str, Array], ...]
    total: Array | None
    returns: tuple[PrimitiveReturn, ...]


class BlockInside:
    """The primitives of one block in a run: in order, and in numbers once these are asked for.

    ``known`` are the arrays of what the block reads; ``arriving`` what arrives at its outputs, None
    where an array was not kept. ``wanted`` and ``discarded`` are the inputs to which gradient goes
    back, and those of them behind which it is thrown away.
    """

    def __init__(
        self,
        path: InstancePath,
        primitives: BlockPrimitives,
        known: Mapping[Value, Array],
        arriving: Mapping[Value, Array | None],
        wanted: AbstractSet[Value],
        discarded: AbstractSet[Value],
    ) -> None:
        self._path = path
        self._primitives = primitives
        self._known = known
        self._arriving = arriving
        self._discarded = discarded
        self._locals: dict[Value, LocalPrimitive] = {}
        leading = set(wanted)
        for value in primitives.values:
            if any(x in leading for x in value.inputs):
                leading.add(value)
        self._leading = leading

    @property
    def forward(self) -> Sequence[Value]:
        """The primitives in the order in which they are computed."""
        return [*self._primitives.steps]

    @cached_property
    def backward(self) -> Sequence[Value]:
        """The primitives at which gradient arrives, in that order, and the inputs at which
        several terms add up; nothing where a Gradient block sends more than the numbers show.
        """
        if self._primitives.gets_more:
            return []
        readers: dict[Value, int] = dict.fromkeys(self._arriving, 1)
        found = []
        for value in reversed(self._primitives.values):
            if value not in readers or value not in self._leading:
                continue
            is_sum = value in self._primitives.inputs and readers[value] > 1
            if value in self._primitives.steps or is_sum:
                found.append(value)
            for slot, source in enumerate(value.inputs):
                if passes_gradient(value, slot) and value.primitive is not WIRE:
                    readers[source] = readers.get(source, 0) + 1
        return found

    def forward_step(self, value: Value) -> PrimitiveForward:
        """What a primitive computes."""
        made = self._local(value).output
        formula = self._expression(value, made)
        return PrimitiveForward(
            self._path, self._primitives.names[value], formula, self._arrays.get(value)
        )

    def backward_step(self, value: Value) -> PrimitiveBackward:
        """What arrives at a primitive, and what goes back from it."""
        terms = tuple(self._terms.get(value, ()))
        name, total = self._primitives.names[value], _sum(terms)
        if value in self._primitives.inputs:
            return PrimitiveBackward(self._path, name, None, terms, total, ())
        formula = self._expression(value, self._local(value).output)
        returns = tuple(
            self._return(value, slot, total)
            for slot, source in enumerate(value.inputs)
            if source in self._leading and is_float(source.dtype)
        )
        return PrimitiveBackward(self._path, name, formula, terms, total, returns)

    def _return(self, value: Value, slot: int, total: Array | None) -> PrimitiveReturn:
        source, rule = value.inputs[slot], self._local(value).back[slot]
        name = self._primitives.names[source]
        if rule is None:
            return PrimitiveReturn(name, None, None, _reason(value))
        back = None if total is None else self._sent(value, total)[slot]
        return PrimitiveReturn(
            name,
            self._expression(value, rule, total),
            back,
            is_known=back is not None,
            is_discarded=source in self._discarded,
        )

    def _expression(self, value: Value, of: Value, arriving: Array | None = None) -> NamedFormula:
        """A formula in the trace of one primitive, with the names and numbers of the block."""
        local = self._local(value)
        names = {local.seed: "g"}
        arrays = {} if arriving is None else {local.seed: arriving}
        for leaf, source in zip(local.inputs, value.inputs, strict=True):
            if leaf.primitive is LEAF:
                names[leaf] = self._primitives.names[source]
                if source in self._arrays:
                    arrays[leaf] = self._arrays[source]
        if of is not local.output:
            names[local.output] = self._primitives.names[value]
            if value in self._arrays:
                arrays[local.output] = self._arrays[value]
        return NamedFormula(of, names, arrays)

    # ---- numbers -------------------------------------------------------------------------------

    def _local(self, value: Value) -> LocalPrimitive:
        if value not in self._locals:
            self._locals[value] = LocalPrimitive(value)
        return self._locals[value]

    @cached_property
    def _arrays(self) -> Mapping[Value, Array]:
        """The numbers of all values; none where they take too much room, or were not kept."""
        values = self._primitives.values
        size = sum(value.size * np.dtype(value.dtype).itemsize for value in values)
        if size > MOST_BYTES:
            return {}
        arrays = dict(self._known)
        for value in values:
            if value in arrays:
                continue
            if value in self._primitives.inputs:
                return {}
            arrays[value] = self._local(value).forward([arrays[x] for x in value.inputs])
        return arrays

    @cached_property
    def _terms(self) -> Mapping[Value, list[tuple[str, Array]]]:
        """What arrives at each value; nothing where the numbers are not known."""
        known = {value: array for value, array in self._arriving.items() if array is not None}
        if not self._arrays or len(known) < len(self._arriving):
            return {}
        found = {value: [("", array)] for value, array in known.items()}
        for value in reversed(self._primitives.values):
            if value not in found or value.primitive is WIRE or value not in self._leading:
                continue
            total = _sum(found[value])
            assert total is not None  # something arrives
            by = self._sender(value, found[value])
            for source, back in zip(value.inputs, self._sent(value, total), strict=True):
                if back is not None and source in self._leading:
                    found.setdefault(source, []).append((by, back))
        return found

    def _sender(self, value: Value, terms: Sequence[tuple[str, Array]]) -> str:
        """The name of a primitive; of another form of one, the names of those who sent there."""
        if value in self._primitives.steps:
            return self._primitives.names[value]
        return " and ".join(dict.fromkeys(by for by, _ in terms if by))

    def _sent(self, value: Value, total: Array) -> list[Array | None]:
        return self._local(value).backward([self._arrays[x] for x in value.inputs], total)


def _sum(terms: Sequence[tuple[str, Array]]) -> Array | None:
    with np.errstate(all="ignore"):
        return np.asarray(reduce(add, (array for _, array in terms))) if terms else None


def _reason(value: Value) -> str:
    """Why a primitive sends nothing back."""
    if value.primitive.stops:
        return "the gradient is stopped here"
    why = value.primitive.no_derivative
    return f"{value.primitive.name} {'has no derivative' if why is None else why.why}"
