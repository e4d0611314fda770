"""From pages to one flat list of blocks: every use of a page opened, every wire followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blocks.block import Block, Opaque
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput
from runtime.diagram.model import MAIN, Diagram, ports
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from blocks.values import PortLiteral


@dataclass(slots=True)
class Instance:
    """One block as it runs: its path, and for every connected input its wire and its source.

    ``wires`` maps input port → (wire key, source port), both by path: in the use ``enc`` of a
    page, wire ``mul1.a`` has the key ``enc/mul1.a``. A wire into a page block is the input of the
    PageInput it leads to, under its own key ``enc.x``.
    """

    path: str
    page: str
    name: str
    block: Block
    inputs: tuple[str, ...]
    wires: dict[str, tuple[str, str]] = field(default_factory=dict)

    def port(self, name: str) -> str:
        """The full name of one of its ports."""
        return f"{self.path}.{name}"


@dataclass(slots=True)
class Flat:
    """All instances in the order of the document, and other names of ports.

    ``aliases`` maps an output of a page block (``enc.y``) to the PageOutput behind it, ``uses`` a
    page to what its blocks' paths begin with in each of its uses: ``""`` or ``enc/``.
    """

    instances: dict[str, Instance] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    uses: dict[str, list[str]] = field(default_factory=dict)

    def source(self, port: str) -> str:
        """The port whose block computes the value of ``port``, or of a leaf of it."""
        port, sign, leaf = port.partition(":")
        while port in self.aliases:
            port = self.aliases[port]
        return port + sign + leaf


@dataclass(frozen=True, slots=True)
class _Use:
    """One use of a page that is still to be opened."""

    prefix: str
    page: str
    above: frozenset[str]
    wires: Mapping[str, tuple[str, str]]
    literals: Mapping[str, PortLiteral]


def flatten(diagram: Diagram, page: str = MAIN) -> Flat:
    """Open all pages from ``page`` on; a page inside itself is left out (checks report it)."""
    flat = Flat()
    pending = [_Use("", page, frozenset(), {}, {})]
    while pending:
        use = pending.pop()
        if use.page not in diagram.pages or use.page in use.above:
            continue
        above = use.above | {use.page}
        flat.uses.setdefault(use.page, []).append(use.prefix)
        for instance in _instances(diagram, use):
            block = instance.block
            if not isinstance(block, PageBlock):
                flat.instances[instance.path] = instance
                continue
            for output in ports(diagram, use.page, instance.name).outputs:
                flat.aliases[instance.port(output)] = f"{instance.path}/{output}.out"
            pending.append(
                _Use(f"{instance.path}/", block.page, above, instance.wires, block.literals)
            )
    return flat


def _instances(diagram: Diagram, use: _Use) -> Iterator[Instance]:
    page = diagram.pages[use.page]
    for name, block in page.blocks.items():
        inputs = () if isinstance(block, Opaque) else ports(diagram, use.page, name).inputs
        instance = Instance(use.prefix + name, use.page, name, block, inputs)
        for port in inputs:
            source = page.wires.get(PortName(name, port))
            if source is not None:
                instance.wires[port] = (instance.port(port), f"{use.prefix}{source}")
        if isinstance(block, PageInput):
            if name in use.wires:
                instance.wires["x"] = use.wires[name]
            elif name in use.literals:
                instance.block = PageInput(literals={"x": use.literals[name]})
        yield instance


def order(flat: Flat) -> tuple[list[Instance], list[str]]:
    """Instances so that sources come first, and the paths of those in or behind a cycle.

    Depth first from the last-read blocks, inputs in port order: the order in which the graph
    lists its arguments.
    """
    done: dict[str, bool] = {}
    result: list[Instance] = []
    looped: list[str] = []
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
            for _, source in reversed(list(flat.instances[path].wires.values())):
                before = block_of(flat.source(source))
                if before in flat.instances and before not in done:
                    stack.append((before, False))
    position = {instance.path: i for i, instance in enumerate(result)}
    bad: set[str] = set()
    for instance in result:
        for _, source in instance.wires.values():
            before = block_of(flat.source(source))
            late = position.get(before, -1) >= position[instance.path]
            if late or before in bad:
                bad.add(instance.path)
                looped.append(instance.path)
                break
    return [i for i in result if i.path not in bad], looped


def block_of(port: str) -> str:
    """The path of the block of a full port name; block names have no dots."""
    return port.partition(".")[0]


def port_of(port: str) -> str:
    """The port part of a full port name."""
    return port.partition(".")[2]
