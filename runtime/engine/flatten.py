"""From pages to one flat list of blocks: every use of a page opened, every wire followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from blocks.block import Block, Opaque, Source
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput
from runtime.diagram.model import MAIN, Diagram, ports
from runtime.diagram.paths import ROOT, InstancePath, PortName, PortPath, WirePath

if TYPE_CHECKING:
    from blocks.values import PortLiteral

Scope: TypeAlias = "tuple[Scope, str, str] | None"
"""What owns the variables of a use: an independent use, as the scope of the page that it stands
on, that page and its name there; None for the page that runs."""


@dataclass(slots=True)
class Instance:
    """One block as it runs: its path, and for every connected input its wire and its source.

    ``wires`` maps input port → (wire, source port). A wire into a page block is the input of the
    PageInput it leads to, under its own path ``enc.x``.
    """

    path: InstancePath
    page: str
    name: str
    block: Block
    inputs: tuple[str, ...]
    wires: dict[str, tuple[WirePath, PortPath]] = field(default_factory=dict)

    def port(self, name: str) -> PortPath:
        """The path of one of its ports."""
        return self.path.port(name)


@dataclass
class Flat:
    """All instances in the order of the document, and other names of ports.

    ``aliases`` maps an output of a page block (``enc.y``) to the PageOutput behind it, ``uses`` a
    page to the paths of its uses.

    Uses of a page share its variables. A shared variable is one instance, at its path in the first
    use: the one nested least, then the first in the document. ``shared`` maps its paths in later
    uses to that path, ``aliases`` their outputs to its output.
    """

    instances: dict[InstancePath, Instance] = field(default_factory=dict)
    aliases: dict[PortPath, PortPath] = field(default_factory=dict)
    uses: dict[str, list[InstancePath]] = field(default_factory=dict)
    shared: dict[InstancePath, InstancePath] = field(default_factory=dict)

    def first(self, name: str) -> str:
        """The path, of a block or port, with that of a shared variable in its first use."""
        path = PortPath(name)
        variable = self.shared.get(path.block)
        if variable is None:
            return name
        return variable.port(path.port) if path.port else variable

    def names(self, variable: str) -> tuple[InstancePath, ...]:
        """All paths of a variable, that in the first use first."""
        first = InstancePath(self.first(variable))
        return self._names.get(first, (first,))

    @cached_property
    def _names(self) -> dict[InstancePath, tuple[InstancePath, ...]]:
        found: dict[InstancePath, tuple[InstancePath, ...]] = {}
        for path, first in self.shared.items():
            found[first] = (*found.get(first, (first,)), path)
        return found

    def source(self, port: PortPath) -> PortPath:
        """The port whose block computes the value of ``port``, or of a leaf of it."""
        whole = port.whole if port.leaf else port
        found = whole
        while found in self.aliases:
            found = self.aliases[found]
        return port if found is whole else found.with_leaf(port.leaf)

    def before(self, instance: Instance) -> list[InstancePath]:
        """The blocks whose outputs an instance reads, in port order."""
        found = []
        for _, source in instance.wires.values():
            block = self.source(source).block
            if block in self.instances:
                found.append(block)
        return found


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a page that is still to be opened."""

    path: InstancePath
    page: str
    above: frozenset[str]
    wires: Mapping[str, tuple[WirePath, PortPath]] = field(default_factory=dict)
    literals: Mapping[str, PortLiteral] = field(default_factory=dict)
    scope: Scope = None
    place: tuple[int, ...] = ()
    """Positions in their pages of the blocks that lead to it."""


def flatten(diagram: Diagram, page: str = MAIN) -> Flat:
    """Open all pages from ``page`` on; a page inside itself is left out (checks report it)."""
    flat = Flat()
    variables: dict[Scope, dict[tuple[int, ...], InstancePath]] = {}
    pending = [_Use(ROOT, page, frozenset())]
    while pending:
        use = pending.pop()
        if use.page not in diagram.pages or use.page in use.above:
            continue
        above = use.above | {use.page}
        flat.uses.setdefault(use.page, []).append(use.path)
        for position, instance in enumerate(_instances(diagram, use)):
            block, identity = instance.block, (use.scope, use.page, instance.name)
            if not isinstance(block, PageBlock):
                flat.instances[instance.path] = instance
                if isinstance(block, Source) and block.kind == "variable":
                    variables.setdefault(identity, {})[use.place] = instance.path
                continue
            for output in ports(diagram, use.page, instance.name).outputs:
                flat.aliases[instance.port(output)] = (instance.path / output).port("out")
            scope = identity if block.independent else use.scope
            place = (*use.place, position)
            pending.append(
                _Use(instance.path, block.page, above, instance.wires, block.literals, scope, place)
            )
    _share(flat, variables.values())
    return flat


def _share(flat: Flat, variables: Iterable[Mapping[tuple[int, ...], InstancePath]]) -> None:
    """Keep the first instance of each variable, given by place of the use, and alias the others."""
    for uses in variables:
        first, *later = (uses[place] for place in sorted(uses, key=lambda at: (len(at), at)))
        for path in later:
            del flat.instances[path]
            flat.shared[path] = first
            flat.aliases[path.port("out")] = first.port("out")


def _instances(diagram: Diagram, use: _Use) -> Iterator[Instance]:
    page = diagram.pages[use.page]
    for name, block in page.blocks.items():
        inputs = () if isinstance(block, Opaque) else ports(diagram, use.page, name).inputs
        instance = Instance(use.path / name, use.page, name, block, inputs)
        for port in inputs:
            source = page.wires.get(PortName(name, port))
            if source is not None:
                wire = instance.path.wire(port)
                instance.wires[port] = (wire, use.path.port_inside(source))
        if isinstance(block, PageInput):
            if name in use.wires:
                instance.wires["x"] = use.wires[name]
            elif name in use.literals:
                instance.block = PageInput(literals={"x": use.literals[name]})
        yield instance


def order(flat: Flat) -> tuple[list[Instance], list[InstancePath]]:
    """Instances so that sources come first, and the paths of those in or behind a cycle.

    Depth first from the last-read blocks, inputs in port order: the order in which the graph
    lists its arguments.
    """
    done: dict[InstancePath, bool] = {}
    result: list[Instance] = []
    looped: list[InstancePath] = []
    before = {instance.path: flat.before(instance) for instance in flat.instances.values()}
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
    bad: set[InstancePath] = set()
    for instance in result:
        for source in before[instance.path]:
            if position[source] >= position[instance.path] or source in bad:
                bad.add(instance.path)
                looped.append(instance.path)
                break
    return [i for i in result if i.path not in bad], looped
