"""Flattens pages to one list of block instances: expands every use and follows every wire."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from blocks.block import Block, Opaque, Source
from blocks.library.formula import Formula
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput
from runtime.diagram.bypass import Bypassed, passing_input
from runtime.diagram.checks.expansion import Expansion
from runtime.diagram.model import MAIN, Diagram, Page, own_ports, ports
from runtime.diagram.pages import inside
from runtime.diagram.paths import ROOT, InstancePath, PortName, PortPath, WirePath

if TYPE_CHECKING:
    from pathlib import Path

    from blocks.values import PortLiteral

Scope: TypeAlias = "tuple[Scope, str, str] | None"
"""The owner of the variables of a use: an independent use, identified by the scope of its page,
its page and its name; None for the page that runs."""


@dataclass(slots=True)
class Instance:
    """One instance of a block: its path and, for each connected input, the wire and its source.

    ``wires`` maps input port → (wire, source port). A wire into a use of a page belongs to the
    PageInput behind that port but keeps its own path, ``enc.x``. The own variable of ``fc.weight``
    is an instance at ``fc/weight``, with a wire like that of any other variable.
    """

    path: InstancePath
    page: str
    name: str
    block: Block
    inputs: tuple[str, ...]
    wires: dict[str, tuple[WirePath, PortPath]] = field(default_factory=dict)
    owned: str = ""
    """The input of the block ``name`` whose own variable this is; empty for the block itself."""
    part: str = ""
    """The block inside the Formula block ``name`` that this is; empty for others."""

    @property
    def owner(self) -> PortName:
        """The input on its page that it is the own variable of."""
        return PortName(self.name, self.owned)

    def port(self, name: str) -> PortPath:
        """The path of a port of this block."""
        return self.path.port(name)


@dataclass
class Flat:
    """All instances in document order, and the aliases of their paths.

    ``aliases`` maps an output of a use (``enc.y``) to the PageOutput behind it; ``uses`` maps a
    page to the paths of its uses.

    ``aliases`` does the same for the outputs of Formula blocks.

    Uses of a page share its variables. A shared variable is one instance; its canonical path is
    that in the first use: the least nested, then the first in the document. ``shared`` maps its
    other paths to the canonical one, ``aliases`` their outputs to its output. ``owned`` maps an
    input (``fc.weight``) to the variable that its block owns (``fc/weight``).
    """

    instances: dict[InstancePath, Instance] = field(default_factory=dict)
    owned: dict[str, InstancePath] = field(default_factory=dict)
    aliases: dict[PortPath, PortPath] = field(default_factory=dict)
    uses: dict[str, list[InstancePath]] = field(default_factory=dict)
    shared: dict[InstancePath, InstancePath] = field(default_factory=dict)
    folder: Path | None = None
    """Where the file of the diagram is."""

    def canonical(self, name: str) -> str:
        """The path of a block or port, with that of an own or shared variable made canonical, and
        that of an output of a page or Formula block that of the output inside.
        """
        name = self.owned.get(name, self.aliases.get(PortPath(name), name))
        path = PortPath(name)
        variable = self.shared.get(path.block)
        if variable is None:
            return name
        return variable.port(path.port) if path.port else variable

    def names(self, variable: str) -> tuple[InstancePath, ...]:
        """All paths of a variable, the canonical one first."""
        first = InstancePath(self.canonical(variable))
        return self._names.get(first, (first,))

    @cached_property
    def _names(self) -> dict[InstancePath, tuple[InstancePath, ...]]:
        found: dict[InstancePath, list[InstancePath]] = {}
        for path, first in self.shared.items():
            found.setdefault(first, [first]).append(path)
        return {first: tuple(paths) for first, paths in found.items()}

    def source(self, port: PortPath) -> PortPath:
        """The port, or leaf, of the block that computes the value of ``port``."""
        whole = port.whole if port.leaf else port
        found = whole
        while found in self.aliases:
            found = self.aliases[found]
        return port if found is whole else found.with_leaf(port.leaf)

    def predecessors(self, instance: Instance) -> list[InstancePath]:
        """The blocks that an instance reads, in port order."""
        found = []
        for _, source in instance.wires.values():
            block = self.source(source).block
            if block in self.instances:
                found.append(block)
        return found


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a page that is still to be expanded."""

    path: InstancePath
    page: str
    wires: Mapping[str, tuple[WirePath, PortPath]] = field(default_factory=dict)
    literals: Mapping[str, PortLiteral] = field(default_factory=dict)
    scope: Scope = None
    position: tuple[int, ...] = ()
    """The index of each page block on its path, in its page."""


def flatten(diagram: Diagram, page: str = MAIN) -> Flat:
    """Expand all uses from ``page`` on, except where checks report recursion or an excess."""
    flat = Flat(folder=diagram.folder)
    variables: dict[Hashable, dict[tuple[int, ...], InstancePath]] = {}
    expansion = Expansion(diagram)
    pending = [_Use(ROOT, page)] if page in diagram.pages else []
    while pending:
        use = pending.pop()
        flat.uses.setdefault(use.page, []).append(use.path)
        for index, instance in enumerate(_instances(diagram, use)):
            block, identity = instance.block, (use.scope, use.page, instance.name)
            if isinstance(block, Formula):
                if expansion.sizes[use.page].fits:
                    _expand(flat, instance, block)
                continue
            if not isinstance(block, PageBlock):
                flat.instances[instance.path] = instance
                if isinstance(block, Source) and block.kind == "variable":
                    uses = variables.setdefault((*identity, instance.owned), {})
                    uses[use.position] = instance.path
                if instance.owned:
                    flat.owned[use.path.port_inside(instance.owner)] = instance.path
                continue
            for output in ports(diagram, use.page, instance.name).outputs:
                flat.aliases[instance.port(output)] = (instance.path / output).port("out")
            if expansion.opens(use.page, instance.name):
                pending.append(
                    _Use(
                        instance.path,
                        block.page,
                        instance.wires,
                        block.literals,
                        identity if block.independent else use.scope,
                        (*use.position, index),
                    )
                )
    _share(flat, variables.values())
    return flat


def _expand(flat: Flat, whole: Instance, formula: Formula) -> None:
    """Add the instances inside a Formula block; its inputs take its wires or literals."""
    for name, block in inside(formula.expression).blocks.items():
        path = whole.path / name
        part = Instance(path, whole.page, whole.name, block, (), part=name)
        if name in formula.content.inputs:
            part.inputs = ("x",)
            if name in whole.wires:
                part.wires["x"] = whole.wires[name]
            elif name in formula.literals:
                part.block = PageInput(literals={"x": formula.literals[name]})
        else:
            _wire_part(part, whole.path, inside(formula.expression))
        flat.instances[path] = part
    for output in formula.output_names():
        flat.aliases[whole.port(output)] = (whole.path / output).port("out")


def _wire_part(part: Instance, whole: InstancePath, page: Page) -> None:
    """Give a block inside a Formula block its inputs, and the wires to them."""
    part.inputs = own_ports(page, part.part).inputs
    for port in part.inputs:
        source = page.wires.get(PortName(part.part, port))
        if source is not None:
            part.wires[port] = part.path.wire(port), whole.port_inside(source)


def _share(flat: Flat, variables: Iterable[Mapping[tuple[int, ...], InstancePath]]) -> None:
    """Keep the first instance of each variable, given by position of the use; alias the others."""
    for uses in variables:
        first, *later = (uses[position] for position in sorted(uses, key=lambda p: (len(p), p)))
        for path in later:
            del flat.instances[path]
            flat.shared[path] = first
            flat.aliases[path.port("out")] = first.port("out")


def _instances(diagram: Diagram, use: _Use) -> Iterator[Instance]:
    page = diagram.pages[use.page]
    for name, block in page.blocks.items():
        inputs = () if isinstance(block, Opaque) else ports(diagram, use.page, name).inputs
        if block.bypassed:
            yield from _bypassed(page, use, name, inputs)
            continue
        instance = Instance(use.path / name, use.page, name, block, inputs)
        for port in inputs:
            source = page.wires.get(PortName(name, port))
            if source is not None:
                instance.wires[port] = (instance.path.wire(port), use.path.port_inside(source))
            elif port in block.owned:
                variable = Instance(
                    instance.path / port, use.page, name, block.owned[port], (), owned=port
                )
                instance.wires[port] = (instance.path.wire(port), variable.port("out"))
                yield variable
        if isinstance(block, PageInput):
            if name in use.wires:
                instance.wires["x"] = use.wires[name]
            elif name in use.literals:
                instance.block = PageInput(literals={"x": use.literals[name]})
        yield instance


def _bypassed(page: Page, use: _Use, name: str, inputs: tuple[str, ...]) -> Iterator[Instance]:
    """What runs in the place of a bypassed block, after its own variables, which it ignores.

    Its first input is the one that goes through. The wires keep their paths.
    """
    block, path = page.blocks[name], use.path / name
    for port, variable in block.owned.items():
        yield Instance(path / port, use.page, name, variable, (), owned=port)
    first = passing_input(page, name)
    wired = [port for port in inputs if port != first and PortName(name, port) in page.wires]
    wires = {
        port: (path.wire(port), use.path.port_inside(page.wires[PortName(name, port)]))
        for port in ([] if first is None else [first, *wired])
    }
    stand_in = Bypassed(names=block.output_names())
    yield Instance(path, use.page, name, stand_in, tuple(wires) or ("x",), wires)


def topological_order(flat: Flat) -> tuple[list[Instance], list[InstancePath]]:
    """Instances in topological order, and the paths of those that depend on a cycle.

    Depth first, inputs in port order, like ``graph_order`` of arguments.
    """
    done: dict[InstancePath, bool] = {}
    result: list[Instance] = []
    looped: list[InstancePath] = []
    before = {instance.path: flat.predecessors(instance) for instance in flat.instances.values()}
    for start in flat.instances:
        stack = [(start, False)]
        while stack:
            path, leaving = stack.pop()
            if leaving:
                done[path] = True
                result.append(flat.instances[path])
                continue
            if path in done:
                continue
            done[path] = False
            stack.append((path, True))
            for source in reversed(before[path]):
                if source not in done:
                    stack.append((source, False))
    position = {instance.path: i for i, instance in enumerate(result)}
    dependent: set[InstancePath] = set()
    for instance in result:
        for source in before[instance.path]:
            if position[source] >= position[instance.path] or source in dependent:
                dependent.add(instance.path)
                looped.append(instance.path)
                break
    return [i for i in result if i.path not in dependent], looped
