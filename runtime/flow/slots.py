"""Closed slots by name: which block and input a closed edge belongs to, and the way past it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blocks.library.gradient import StopGradient
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.gradient import WIRE
from runtime.engine.trees import without_leaf
from runtime.flow import sentences
from runtime.flow.graph import Edge, Kind
from runtime.flow.states import Cutter

if TYPE_CHECKING:
    from runtime.calculus import Value
    from runtime.engine.program import Program


@dataclass(frozen=True, slots=True)
class Bypass:
    """How a StraightThrough gets past a slot: value of ``hard``, gradient to ``soft``, into
    ``target``. All ports by path.
    """

    cutter: Cutter
    hard: str
    soft: str
    target: str


class Slots:
    """Names for the closed edges of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._cutters: dict[Edge, Cutter] = {}
        self._keys = {marker: key for key, marker in program.wires.items()}

    def cutter(self, edge: Edge) -> Cutter:
        """The block and the input port that a closed edge belongs to."""
        if edge not in self._cutters:
            self._cutters[edge] = self._named(edge)
        return self._cutters[edge]

    def openable(self, cutter: Cutter) -> bool:
        """Whether it is a StopGradient block, which can be replaced by a pass-through."""
        return isinstance(self.program.block(cutter.block), StopGradient)

    def bypass(self, edge: Edge, path: Sequence[Value]) -> Bypass | None:
        """The straight-through way past a slot on a route (from the loss); None where none fits.

        It leads from the last wire with floats on it before the slot to the first one after it.
        """
        at = next(i for i, value in enumerate(path) if value is edge.source)
        before = next(filter(_is_float_wire, path[at:]), None)
        target = next(filter(_is_float_wire, reversed(path[:at])), None)
        if before is None or target is None:
            return None
        sources = self.program.wire_sources
        soft, key = sources[self._keys[before]], self._keys[target]
        if self.program.ports[soft].shape != target.shape or without_leaf(soft + key) != soft + key:
            return None  # or it would have to stand on one leaf of a tree
        return Bypass(self.cutter(edge), sources[key], soft, key)

    def _named(self, edge: Edge) -> Cutter:
        block = str(edge.value.owner)
        within, pending = {edge.source}, [edge.source]
        while pending:
            value = pending.pop()
            if value.primitive is not WIRE and value.owner == edge.value.owner:
                pending += [source for source in value.inputs if source not in within]
                within.update(value.inputs)
        markers = self.program.markers(block)
        port = next((name for name, marker in markers if marker in within), "")
        if edge.kind is Kind.STOP:
            return Cutter(block, port, "stop")
        reason = sentences.why(edge.value.primitive.name, is_float(edge.source.dtype))
        return Cutter(block, port, "no rule", reason)


def _is_float_wire(value: Value) -> bool:
    return value.primitive is WIRE and is_float(value.dtype)
