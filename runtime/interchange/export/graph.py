"""The values that source computes: markers left out, numbers known, what nothing needs left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.primitives.base import BROADCAST, CAST, CONSTANT, LEAF, RESHAPE, WIRE

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Body, Trace, Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.program import Program

_SPREADS = (BROADCAST, RESHAPE)


@dataclass(eq=False)
class ExportGraph:
    """A program without what is only there for Gradwire.

    ``known`` has the numbers of scalar literals, by leaf.
    """

    program: Program
    known: Mapping[Value, Array]
    reads_all: bool = False
    """Whether inputs count that only the derivative of a primitive reads."""
    _behind: dict[Value, Value] = field(default_factory=dict)
    _numbers: dict[Value, Array | None] = field(default_factory=dict)
    _counted: dict[Trace, int] = field(default_factory=dict)
    """How many values of a trace have a place among the numbers."""
    _backward: set[Trace] = field(default_factory=set)
    """The bodies of scans that are of the backward pass."""

    def is_backward(self, value: Value) -> bool:
        """Whether a value belongs to the backward pass."""
        program = self.program
        if value.trace is program.trace:
            return value.index >= program.forward_end
        return value.trace in self._backward

    def enter(self, scan: Value) -> None:
        """Let what is the same in all steps of a scan be what the scan is given."""
        body: Body = scan.attributes["body"]
        for value in body.trace.values:
            self._behind.pop(value, None)
            self._numbers.pop(value, None)
        self._counted[body.trace] = 0
        for leaf, x in zip(body.fixed, scan.inputs[-len(body.fixed) :], strict=False):
            self._behind[leaf], self._numbers[leaf] = self.real(x), self.number(x)
        if self.is_backward(scan):
            self._backward.add(body.trace)

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
        counted = self._counted.get(value.trace, 0)
        for earlier in value.trace.values[counted : value.index + 1]:
            if earlier not in self._numbers:  # in order, so that nothing recurses far
                self._numbers[earlier] = self._number(earlier)
        self._counted[value.trace] = max(counted, value.index + 1)
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

    def needed(self, targets: Iterable[Value], within: Trace | None = None) -> list[Value]:
        """Everything that must be computed for ``targets``, in order; numbers are not.

        It is of the trace of the program, or of that of the body of a scan.
        """
        trace = within or self.program.trace
        pending = [self.real(value) for value in targets]
        found: set[Value] = set()
        while pending:
            value = pending.pop()
            if value in found or value.trace is not trace or self.number(value) is not None:
                continue
            found.add(value)
            pending += self.inputs(value)
        return sorted(found, key=lambda value: value.index)

    def ports(self) -> dict[Value, list[PortPath]]:
        """The ports where each value is found, outputs of pages and shared variables among them."""
        program = self.program
        found: dict[Value, list[PortPath]] = {}
        for port, value in (*program.ports.items(), *program.inside.items()):
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
