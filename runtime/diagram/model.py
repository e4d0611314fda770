"""The diagram: pages of named blocks joined by wires. Frozen; an edit makes a new diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from blocks.block import Block, Opaque
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from blocks.terms import term_name
from runtime.diagram.paths import PortName

MAIN = "main"
"""The page that runs."""


class Point(NamedTuple):
    """A position on the canvas in scene units (px at 100 %), y downwards."""

    x: float
    y: float


class Wire(NamedTuple):
    """A wire of one page, identified by its target: an input is driven by at most one wire."""

    source: PortName
    target: PortName


@dataclass(frozen=True, slots=True)
class Note:
    """A text box on a page, ``width`` × ``height`` px with its corner at ``at``, or a frame."""

    text: str = ""
    at: Point = Point(0.0, 0.0)
    width: float = 200.0
    height: float = 60.0
    frame: bool = False


class Ends(NamedTuple):
    """The targets of a page's wires by the block they enter and by the block they leave."""

    inward: Mapping[str, tuple[PortName, ...]]
    outward: Mapping[str, tuple[PortName, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks by name, wires as target → source, places by block name, notes by id.

    ``bends`` has, by target, the points through which a wire runs, starting at its source.
    """

    blocks: Mapping[str, Block] = field(default_factory=dict)
    wires: Mapping[PortName, PortName] = field(default_factory=dict)
    layout: Mapping[str, Point] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    bends: Mapping[PortName, tuple[Point, ...]] = field(default_factory=dict)
    _ends: Ends | None = field(default=None, init=False, repr=False, compare=False)

    def wire_list(self) -> Iterator[Wire]:
        """The wires, in order."""
        return (Wire(source, target) for target, source in self.wires.items())

    @property
    def ends(self) -> Ends:
        """The wires by block; computed on the first call and carried from edit to edit."""
        if self._ends is None:
            object.__setattr__(self, "_ends", _ends(self.wires))
        assert self._ends is not None
        return self._ends

    def knowing(self, ends: Ends) -> Page:
        """This page, with its ``ends`` set by a caller that has them already."""
        object.__setattr__(self, "_ends", ends)
        return self

    def sharing_ends(self, other: Page) -> Page:
        """This page, with the ``ends`` of another page that has the same wires."""
        return self if other._ends is None else self.knowing(other._ends)


def _ends(wires: Mapping[PortName, PortName]) -> Ends:
    inward: dict[str, list[PortName]] = {}
    outward: dict[str, list[PortName]] = {}
    for target, source in wires.items():
        inward.setdefault(target.block, []).append(target)
        outward.setdefault(source.block, []).append(target)
    return Ends(
        {block: tuple(targets) for block, targets in inward.items()},
        {block: tuple(targets) for block, targets in outward.items()},
    )


class PageView(Protocol):
    """The readable part of a page, finished or during an edit."""

    @property
    def blocks(self) -> Mapping[str, Block]:
        """Blocks by name."""

    @property
    def wires(self) -> Mapping[PortName, PortName]:
        """Wires as target → source."""

    @property
    def ends(self) -> Ends:
        """The wires by block."""


class DiagramView(Protocol):
    """The readable part of a diagram, finished or during an edit."""

    @property
    def pages(self) -> Mapping[str, PageView]:
        """Pages by name."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """Pages by name, ``main`` among them. Immutable and shared freely between threads.

    ``contracts`` are lines that state what its gradients must do; see runtime.flow.tools.contracts.
    """

    pages: Mapping[str, Page] = field(default_factory=lambda: {MAIN: Page()})
    title: str = ""
    description: str = ""
    contracts: tuple[str, ...] = ()

    @property
    def main(self) -> Page:
        """The page that runs."""
        return self.pages[MAIN]

    def with_page(self, name: str, page: Page) -> Diagram:
        """The diagram with one page added or replaced; everything else is shared."""
        return replace(self, pages={**self.pages, name: page})


def same_meaning(one: Diagram, other: Diagram) -> bool:
    """Whether two diagrams share all their blocks and wires, and so compute the same."""
    if one is other:
        return True
    return one.pages.keys() == other.pages.keys() and all(
        page.blocks is other.pages[name].blocks and page.wires is other.pages[name].wires
        for name, page in one.pages.items()
    )


@dataclass(frozen=True, slots=True)
class Ports:
    """Names of a block's ports in one diagram, in order.

    ``inputs`` has the terms of a repeating port that are in use, ``free`` the next term.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    free: tuple[str, ...] = ()


def ports(diagram: DiagramView, page: str, name: str) -> Ports:
    """The ports of block ``name`` of ``page``: from its class, or from the page it stands for.

    An opaque block has the ports that its wires use.
    """
    block = diagram.pages[page].blocks[name]
    if isinstance(block, PageBlock) and block.page in diagram.pages:
        return page_ports(diagram.pages[block.page])
    return own_ports(diagram.pages[page], name)


def page_ports(page: PageView) -> Ports:
    """The ports of a page used as a block: the names of its PageInput and PageOutput blocks."""
    return Ports(
        tuple(name for name, block in page.blocks.items() if isinstance(block, PageInput)),
        tuple(name for name, block in page.blocks.items() if isinstance(block, PageOutput)),
    )


def own_ports(page: PageView, name: str) -> Ports:
    """The ports of a block as far as its own page determines them.

    For an opaque block, or one that stands for a page, these are the ports in use, by name.
    """
    block = page.blocks[name]
    if isinstance(block, PageBlock | Opaque):
        inputs = {target.port for target in page.ends.inward.get(name, ())}
        outputs = {page.wires[target].port for target in page.ends.outward.get(name, ())}
        return Ports(tuple(sorted(inputs)), tuple(sorted(outputs)))
    taken: list[str] = []
    free: list[str] = []
    for port in block.inputs:
        if port.variadic:
            count = _terms(page, name, port.name)
            taken += [term_name(port.name, i) for i in range(count)]
            free.append(term_name(port.name, count))
        else:
            taken.append(port.name)
    return Ports(tuple(taken), block.output_names(), tuple(free))


def _terms(page: PageView, name: str, port: str) -> int:
    """The number of terms of a repeating port that are wired or literal, up to the first gap."""
    literals = page.blocks[name].literals
    count = 0
    while (term := term_name(port, count)) in literals or PortName(name, term) in page.wires:
        count += 1
    return count
