"""Writes the nodes of a graph, and the functions that pages become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location
from gradwire.blocks.plugins import is_own
from gradwire.runtime.calculus import Trace, result_of
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF, broadcast_shapes
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.interchange.export.code import Names, identifier
from gradwire.runtime.interchange.export.regions import (
    ExportLoop,
    ExportRegion,
    divided,
)
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.systems.onnx.nodes import (
    BLOCK,
    Function,
    LoopBody,
    NodeList,
    OnnxNode,
    Write,
    spelled,
)
from gradwire.runtime.interchange.export.systems.onnx.rows import ROWS

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.interchange.export.graph import ExportGraph
    from gradwire.runtime.interchange.export.naming import Naming

FULL = 32
"""Elements up to which an array of one number is written out instead of spread."""


def row_of(value: Value) -> Write:
    """How a value is written. Raises ExportError where ONNX has no way."""
    primitive = value.primitive
    if primitive.name in ROWS and is_own(primitive.kernel):
        return ROWS[primitive.name]
    text = primitive.spelling.onnx
    if isinstance(text, str):
        return spelled(text)
    reason = text.reason if text else "ONNX has no counterpart that Gradwire knows of"
    raise ExportError(
        f"{value.primitive.name} can't be written for ONNX: {reason}.",
        location=Location(block=value.owner) if isinstance(value.owner, str) else None,
        next_step="Export for another system, or replace the block.",
    )


OnnxCall: TypeAlias = "tuple[Function, list[Value], list[Value]]"
"""A function, the values that it is given and those that it gives."""


@dataclass(eq=False)
class GraphWriter:
    """Writes the graph of a program; the functions that it calls are collected here."""

    graph: ExportGraph
    naming: Naming
    functions: dict[tuple[object, ...], Function] = field(default_factory=dict)
    """The functions by what they do, in the order in which they are needed."""

    def __post_init__(self) -> None:
        flat = self.graph.program.flat
        self._pages = {use: page for page, uses in flat.uses.items() for use in uses}
        self._names = Names()

    def main(self, outputs: Mapping[str, Value], leaves: Mapping[Value, str]) -> NodeList:
        """The nodes of the graph, which give ``outputs`` by name; ``leaves`` have names."""
        graph = self.graph
        wanted = {name: graph.real(value) for name, value in outputs.items()}
        values = graph.needed(wanted.values())
        root = divided(graph, values)
        body = NodeList([*leaves.values(), *outputs])
        scope = _Scope(self, root, body, dict(leaves))
        scope.write(frozenset(wanted.values()))
        ends: dict[str, str] = {}
        for name, value in wanted.items():
            found = scope.name(value)
            if found in ends or value in leaves or value not in scope.names:
                body.copy(found, name)
            else:
                ends[found] = name
        body.rename(ends)
        return body

    def function(self, region: ExportRegion, wanted: frozenset[Value]) -> OnnxCall:
        """The function of a region, made unless there is one that does the same."""
        arguments, outputs = region.ends(self.graph, wanted)
        body = NodeList()
        names = {x: body.fresh(self.naming.name(x, region.use)) for x in arguments}
        inputs = tuple(names.values())
        scope = _Scope(self, region, body, names)
        scope.write(frozenset(outputs))
        page = self._pages.get(region.use)
        found = Function(
            "gradwire.page" if page else "gradwire.block",
            identifier(page or f"{type(self.graph.program.block(region.use)).__name__}Block"),
            inputs,
            tuple(names[x] for x in outputs),
            tuple(body.nodes),
        )
        if found.key not in self.functions:
            self.functions[found.key] = replace(found, name=self._names.fresh(found.name, "_v"))
        return self.functions[found.key], arguments, outputs


@dataclass(eq=False)
class _Scope:
    """Writes the values of one region; ``names`` has those that are there already."""

    writer: GraphWriter
    region: ExportRegion
    body: NodeList
    names: dict[Value, str]

    def write(self, outputs: frozenset[Value]) -> None:
        """Write all nodes, those of ``outputs`` among them."""
        for item in self.region.items:
            if isinstance(item, ExportRegion):
                self._call(item, outputs)
            elif isinstance(item, ExportLoop):
                self._loop(item)
            elif item not in self.names:
                self.names[item] = self._written(item)

    def name(self, value: Value) -> str:
        """The name of a value that is computed or known."""
        return self.names[value] if value in self.names else self._full(value)

    def _call(self, region: ExportRegion, outputs: frozenset[Value]) -> None:
        wanted = self.region.wanted(region, outputs, self.writer.graph)
        function, arguments, results = self.writer.function(region, wanted)
        for value in results:
            text = self.writer.naming.name(value, self.region.use)
            self.names[value] = self.body.fresh(text)
        given, made = (tuple(self.names[x] for x in xs) for xs in (arguments, results))
        about = {BLOCK: self._shown(region.use)}
        self.body.nodes.append(OnnxNode(function.name, given, made, {}, function.domain, about))

    def _loop(self, loop: ExportLoop) -> None:
        """A Scan, whose step reads what is the same in all steps from outside."""
        writer, body, first = self.writer, loop.body, loop.results[0]
        graph = writer.graph
        graph.enter(first)
        given = [self.name(graph.real(x)) for x in first.inputs]
        inside, use = self.body.inside(), self.region.use
        leaves = [*(each.before for each in body.carried), *body.rows]
        names = {x: inside.fresh(writer.naming.name(x, use)) for x in leaves}
        step = _Scope(writer, loop.step, inside, self.names | names)
        step.write(frozenset(map(graph.real, loop.ends)))
        afters = [each.after for each in body.carried]
        stacked = {
            result_of(value): value for value in loop.results if value.attributes["kind"] == "stack"
        }
        ends: dict[str, Value] = {}
        for value in (*afters, *stacked):
            end = inside.fresh(f"{step.name(graph.real(value))}_out")
            inside.copy(step.name(graph.real(value)), end)
            ends[end] = value
        inputs, rows = {name: x for x, name in names.items()}, given[len(afters) : len(leaves)]
        if not rows:  # the rows say how many steps there are
            rows = [self.body.constant(np.zeros(body.steps, bool))]
            inputs[inside.fresh("step")] = Trace().apply(LEAF, shape=(), dtype="bool")
        found = self.body.several(
            "Scan",
            len(ends),
            *given[: len(afters)],
            *rows,
            body=LoopBody(inputs, ends, tuple(inside.nodes)),
            num_scan_inputs=len(rows),
            scan_input_directions=[int(body.reverse)] * len(rows),
            # an attribute without numbers has no type
            **({"scan_output_directions": [int(body.reverse)] * len(stacked)} if stacked else {}),
        )
        last = dict(zip(afters, found, strict=False))
        stacks = dict(zip(stacked, found[len(afters) :], strict=True))
        for value in loop.results:
            kind = value.attributes["kind"]
            self.names[value] = (last if kind == "last" else stacks)[result_of(value)]

    def _shown(self, path: InstancePath) -> str:
        """A path as it is called within the page that is written."""
        use = self.region.use
        return str(path.relative_to(use) if path != use and path.is_inside(use) else path.name)

    def _written(self, value: Value) -> str:
        if value.primitive is CONSTANT:
            return self.body.constant(value.attributes["array"])
        before = len(self.body.nodes)
        try:
            found = row_of(value)(self.body, value, self._operands(value))
        except ExportError as error:
            error.location = Location(block=value.owner) if isinstance(value.owner, str) else None
            raise
        if len(self.body.nodes) == before:
            return found
        about = {}
        if isinstance(value.owner, str):
            about[BLOCK] = self._shown(InstancePath(value.owner))
        return self.body.named(found, self.writer.naming.name(value, self.region.use), about)

    def _operands(self, value: Value) -> list[str]:
        """The names of the inputs; a number that is spread anyway is not spread before."""
        graph = self.writer.graph
        plain = [x.shape for x in value.inputs if graph.number(x) is None]
        elementwise = value.primitive.elementwise and bool(plain)
        spread = elementwise and broadcast_shapes(*plain) == value.shape
        found = []
        for x in value.inputs:
            number = graph.number(x)
            if number is not None and spread:
                found.append(self.body.constant(np.asarray(number)))
            else:
                found.append(self.name(graph.real(x)))
        return found

    def _full(self, value: Value) -> str:
        """An array that has one number everywhere."""
        number = self.writer.graph.number(value)
        assert number is not None  # or it would be computed
        if value.size <= FULL:
            return self.body.constant(np.full(value.shape, number))
        one = self.body.constant(np.asarray(number))
        return self.body.node("Expand", one, self.body.integers(*value.shape))
