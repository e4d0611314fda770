"""The values that source computes: markers left out, numbers known, what nothing needs left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import BROADCAST, CAST, CONSTANT, LEAF, RESHAPE, WIRE

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.interchange.export.code import Array

_SPREADS = (BROADCAST, RESHAPE)


@dataclass(eq=False)
class Graph:
    """A program without what is only there for Gradwire.

    ``known`` has the numbers of scalar literals, by leaf.
    """

    program: Program
    known: Mapping[Value, Array]
    reads_all: bool = False
    """Whether inputs count that only the derivative of a primitive reads."""
    _behind: dict[Value, Value] = field(default_factory=dict)
    _numbers: dict[Value, Array | None] = field(default_factory=dict)

    def real(self, value: Value) -> Value:
        """What computes a value: behind markers, and behind factors that are 1."""
        seen: list[Value] = []
        while value not in self._behind:
            after = self._step(value)
            if after is value:
                self._behind[value] = value
                break
            seen.append(value)
            value = after
        found = self._behind[value]
        self._behind.update(dict.fromkeys(seen, found))
        return found

    def _step(self, value: Value) -> Value:
        """The value itself, or one that is the same."""
        if value.primitive is WIRE:
            return value.inputs[0]
        if self.number(value) is not None:
            return value
        if value.primitive.name == "multiply":
            for this, other in (value.inputs, value.inputs[::-1]):
                factor = self.number(other)
                if factor is not None and factor == 1 and this.shape == value.shape:
                    return this
        return value

    def number(self, value: Value) -> Array | None:
        """The one number that a value has everywhere, if that is known from the diagram alone."""
        for earlier in value.trace.values[len(self._numbers) : value.index + 1]:
            self._numbers[earlier] = self._number(earlier)  # in order, so that nothing recurses far
        return self._numbers[value]

    def _number(self, value: Value) -> Array | None:
        primitive = value.primitive
        if primitive is LEAF:
            return self.known.get(value)
        if primitive is CONSTANT:
            array: Array = value.attributes["array"]
            return array if not array.ndim else None
        if not value.inputs or value.size == 0:
            return None
        if primitive is WIRE or primitive in _SPREADS:
            return self.number(value.inputs[0])
        if not (primitive.elementwise or primitive is CAST):
            return None
        numbers = [self.number(x) for x in value.inputs]
        if any(x is None for x in numbers):
            return None
        out = np.empty((), value.dtype)
        with np.errstate(all="ignore"):
            primitive.kernel(*numbers, out=out, **value.attributes)
        return out

    def inputs(self, value: Value) -> list[Value]:
        """What the computation of a value reads."""
        unread = frozenset[int]() if self.reads_all else value.primitive.unread
        return [self.real(x) for slot, x in enumerate(value.inputs) if slot not in unread]

    def needed(self, targets: Iterable[Value]) -> list[Value]:
        """Everything that must be computed for ``targets``, in order; numbers are not."""
        pending = [self.real(value) for value in targets]
        found: set[Value] = set()
        while pending:
            value = pending.pop()
            if value in found or self.number(value) is not None:
                continue
            found.add(value)
            pending += self.inputs(value)
        return sorted(found, key=lambda value: value.index)

    def ports(self) -> dict[Value, list[PortPath]]:
        """The ports where each value is found, outputs of pages and shared variables among them."""
        program = self.program
        found: dict[Value, list[PortPath]] = {}
        for port, value in program.ports.items():
            found.setdefault(self.real(value), []).append(port)
        for alias in program.flat.aliases:
            source = program.flat.source(alias)
            if source in program.ports:
                found.setdefault(self.real(program.ports[source]), []).append(alias)
        for path, first in program.flat.shared.items():
            port = first.port("out")
            if port in program.ports:
                value = self.real(program.ports[port])
                found.setdefault(value, []).append(path.port("out"))
        return found
