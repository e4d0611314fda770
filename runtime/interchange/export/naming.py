"""What values are called: by blocks and ports, and gradients by what they are gradients of."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus import BackwardRules, result_of
from gradwire.runtime.diagram.paths import InstancePath

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.interchange.export.graph import ExportGraph


class GradientPart(NamedTuple):
    """What comes back from a value to one of its inputs."""

    to: Value
    source: Value


@dataclass
class Sources(BackwardRules):
    """Remembers of each gradient what it is the gradient of."""

    totals: dict[Value, Value] = field(default_factory=dict)
    parts: dict[Value, GradientPart] = field(default_factory=dict)

    def total(self, value: Value, parts: Sequence[Value]) -> Value:
        """The sum, which is the gradient of ``value``."""
        adjoint = super().total(value, parts)
        self.totals.setdefault(adjoint, value)
        return adjoint

    def contribution(self, adjoint: Value, value: Value, slot: int) -> Value:
        """What comes back, which is a part of the gradient of an input."""
        part = super().contribution(adjoint, value, slot)
        self.parts.setdefault(part, GradientPart(value.inputs[slot], value))
        return part


class Naming:
    """Gives values of a graph names that are read within a use of a page."""

    def __init__(self, graph: ExportGraph, sources: Sources) -> None:
        self._graph = graph
        self._ports: Mapping[Value, list[PortPath]] = graph.ports()
        self._totals: dict[Value, Value] = {}
        for gradient, value in sources.totals.items():
            self._totals.setdefault(graph.real(gradient), graph.real(value))
        self._parts: dict[Value, GradientPart] = {}
        for value, (to, source) in sources.parts.items():
            self._parts.setdefault(
                graph.real(value), GradientPart(graph.real(to), graph.real(source))
            )

    def has_name(self, value: Value) -> bool:
        """Whether it has a name of its own: it is at a port, or the gradient of something."""
        return value in self._ports or value in self._totals

    def name(self, value: Value, use: InstancePath) -> str:
        """Text to make an identifier from."""
        port = self._port(value, use)
        if port is not None:
            return port
        if value in self._totals and self._totals[value] is not value:
            return f"d_{self.name(self._totals[value], use)}"
        if value in self._parts:
            to, source = self._parts[value]
            return f"d_{self.name(to, use)}_by_{self.name(source, use)}"
        if value is self._graph.program.trace.step:
            return "step"
        if value.primitive.together is not None:
            return f"all_{self.name(self._graph.real(result_of(value)), use)}"
        owner = InstancePath(value.owner).name if isinstance(value.owner, str) else "value"
        prefix = "d_" if self._graph.is_backward(value) else ""
        return f"{prefix}{owner}_{value.primitive.name}"

    def _port(self, value: Value, use: InstancePath) -> str | None:
        """The port that is named in ``use``: in the page itself rather than in one below."""
        ports = self._ports.get(value, ())
        inside = [port.relative_to(use) for port in ports if port.is_inside(use)]
        if not inside:
            return None
        port = min(inside, key=lambda port: port.block.count("/"))
        instances = self._graph.program.flat.instances
        full = port.within(use)
        block = instances.get(full.block)
        alone = port.port == "out" or (block and len(block.block.output_names()) == 1)
        leaf = f"_{port.leaf}" if port.leaf else ""
        shown = self._in_any_step(full.block, use)
        return f"{shown}{leaf}" if alone else f"{shown}_{port.port}{leaf}"

    def _in_any_step(self, path: InstancePath, use: InstancePath) -> InstancePath:
        """A path below ``use``, without the number of the step that stands for others of a loop."""
        for loop, how in self._graph.program.flat.loops.items():
            step = loop / str(how.standing)
            if path.is_inside(step) and loop.is_inside(use):
                path = path.relative_to(step).within(loop)
        return path.relative_to(use)
