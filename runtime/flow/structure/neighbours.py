"""Finds the neighbours of a block: what it reads, what reads it, and what follows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.library.gradient import Gradient
from gradwire.blocks.library.sources import Constant

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine.program import Program

SHAPES = frozenset(
    {"Broadcast", "Concat", "Display", "ExpandDims", "Flatten", "Gather", "PageInput",
     "PageOutput", "Pick", "PickAlong", "Reshape", "Slice", "Squeeze", "Stack", "TakeAlong",
     "Transpose"}
)  # fmt: skip
"""Types of blocks that only rearrange or select elements, and the ends of pages."""


class Neighbours:
    """Adjacency of the blocks of a program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._readers: dict[InstancePath, list[WirePath]] = {}
        for wire, source in program.wire_sources.items():
            self._readers.setdefault(source.block, []).append(wire)
        instances = program.instances.items()
        self._gradients = [path for path, i in instances if isinstance(i.block, Gradient)]

    def kind(self, path: InstancePath) -> str:
        """The type of a block; empty if there is none at this path."""
        known = self._program.instances
        return known[path].block.type_name() if path in known else ""

    def sources(self, path: InstancePath) -> dict[str, PortPath]:
        """The ports that a block reads, by input; inputs with literals are omitted."""
        program = self._program
        wires = program.instances[path].wires if path in program.instances else {}
        return {name: program.flat.source(source) for name, (_, source) in wires.items()}

    def readers(self, path: InstancePath) -> list[WirePath]:
        """The wires that leave a block."""
        return self._readers.get(path, [])

    def beyond(self, path: InstancePath, kinds: Collection[str] = SHAPES) -> Iterator[WirePath]:
        """The wires that leave a block, followed through blocks of these types."""
        pending, seen = [path], {path}
        while pending:
            for wire in self.readers(pending.pop()):
                at = self._program.wire_targets[wire]
                if self.kind(at) not in kinds:
                    yield wire
                elif at not in seen:
                    seen.add(at)
                    pending.append(at)

    def through(self, path: InstancePath, kinds: Collection[str]) -> list[InstancePath]:
        """The block and those downstream of it behind blocks of these types alone."""
        found, pending = {path: None}, [path]
        while pending:
            for wire in self.readers(pending.pop()):
                at = self._program.wire_targets[wire]
                if self.kind(at) in kinds and at not in found:
                    found[at] = None
                    pending.append(at)
        return list(found)

    def before(self, path: InstancePath, most: int | None = None) -> list[InstancePath]:
        """The block and those upstream of it, nearest first; at most ``most`` steps away."""
        found, layer = {path: None}, [path]
        while layer and most != 0:
            further = [s.block for at in layer for s in self.sources(at).values()]
            layer = [block for block in dict.fromkeys(further) if block not in found]
            found |= dict.fromkeys(layer)
            most = None if most is None else most - 1
        return list(found)

    def after(self, path: InstancePath) -> list[InstancePath]:
        """The block and those downstream of it, nearest first."""
        found, layer = {path: None}, [path]
        while layer:
            further = [self._program.wire_targets[w] for at in layer for w in self.readers(at)]
            layer = [block for block in dict.fromkeys(further) if block not in found]
            found |= dict.fromkeys(layer)
        return list(found)

    def differentiating(self, block: InstancePath) -> list[InstancePath]:
        """The Gradient blocks that differentiate through a block."""
        return [
            path
            for path in self._gradients
            if (of := self.sources(path).get("of")) and block in self.before(of.block)
        ]

    def origin(self, port: PortPath) -> InstancePath:
        """The block that made a port's numbers, behind those that only arrange them."""
        path = port.block
        while self.kind(path) in SHAPES and (sources := self.sources(path)):
            path = next(iter(sources.values())).block
        return path

    def is_given(self, path: InstancePath, port: str, value: float) -> bool:
        """Whether all elements of an input are ``value``, by a literal or a Constant."""
        instance = self._program.instances[path]
        if port in instance.block.literals:
            array = instance.block.literals[port].tensor.array
        else:
            source = self.sources(path).get(port)
            block = None if source is None else self._program.instances[source.block].block
            if not isinstance(block, Constant):
                return False
            array = block.value.array
        return bool(array.size) and bool(np.all(array == value))


def neighbours_of(program: Program) -> Neighbours:
    """The neighbours of a program; cached, as new numbers don't change them."""
    return program.derived("neighbours", lambda: Neighbours(program))


def outputs_of(program: Program, wire: WirePath) -> Sequence[PortPath]:
    """The ports of a block to which what a wire brings goes: of those with trees, some leaves."""
    path = program.wire_targets[wire]
    ports, apart = program.derived(("outputs by wire", path), lambda: _outputs(program, path))
    return apart.get(wire, ports)


def _outputs(
    program: Program, path: InstancePath
) -> tuple[list[PortPath], dict[WirePath, list[PortPath]]]:
    """The ports of a block, and for wires into it that don't go to all of them, those."""
    instance = program.instances[path]
    names = instance.block.output_names()
    ports = [leaf for name in names for leaf in program.leaf_ports(instance.port(name))]
    if len(ports) == 1:
        return ports, {}
    wires = [leaf for key, _ in instance.wires.values() for leaf in program.leaf_wires(key)]
    markers = {program.wires[wire]: wire for wire in wires if wire in program.wires}
    found: dict[WirePath, list[PortPath]] = {}
    for port in ports:
        pending = [program.ports[port]] if port in program.ports else []
        seen: set[Value] = set()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in markers:
                found.setdefault(markers[value], []).append(port)
            else:
                pending += value.inputs
    return ports, {wire: some for wire, some in found.items() if len(some) < len(ports)}
