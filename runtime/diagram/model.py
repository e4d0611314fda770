"""The diagram: pages of named blocks connected by wires. Immutable; an edit makes a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from gradwire.blocks.block import Block, Opaque
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.names import MAIN as MAIN
from gradwire.blocks.terms import term_name
from gradwire.runtime.briefly import counted, few
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.diagram.plain import blocks_of
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram.comparison import Comparison
    from gradwire.runtime.diagram.lesson import Lesson
    from gradwire.runtime.diagram.measurements import Measurements
    from gradwire.runtime.diagram.training import Training


class Point(NamedTuple):
    """A position on the canvas in scene units (px at 100 %); y points down."""

    x: float
    y: float


Route: TypeAlias = tuple[float, ...]
"""How a square wire runs: the x of its first vertical stretch, the y of the horizontal stretch that
follows, and so on to the x of its last vertical stretch. Its ends are at its ports."""


class Wire(NamedTuple):
    """A wire of one page. Its target identifies it, since an input has at most one wire."""

    source: PortName
    target: PortName


COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "grey")
"""The colours that users give to blocks, frames and notes; themes decide what they look like."""


class Size(NamedTuple):
    """Width and height of a block in scene units (px at 100 %)."""

    width: float
    height: float


LEAST_SIZE, MOST_SIZE = Size(120.0, 100.0), Size(2000.0, 2000.0)
"""The limits of the size that users give to a view."""


class Style(NamedTuple):
    """How the user wants a block to look; the default is as its class looks."""

    colour: str = ""
    """One of ``COLOURS``, or empty."""
    collapsed: bool = False
    """Whether the block is shown as its title bar alone."""
    size: Size | None = None
    """The size of a view, which other blocks do not follow; None for the usual one."""


PLAIN = Style()


def is_size(size: Size) -> bool:
    """Whether a view can have this size."""
    limits = zip(LEAST_SIZE, size, MOST_SIZE, strict=True)
    return all(least <= part <= most for least, part, most in limits)


class View(NamedTuple):
    """A bookmark: a page, the point in the middle of the canvas, and the zoom (1 is 100 %)."""

    name: str
    page: str
    at: Point
    zoom: float


@dataclass(frozen=True, slots=True)
class Note:
    """A text box or frame on a page, ``width`` × ``height`` px, with its top left at ``at``."""

    text: str = ""
    at: Point = Point(0.0, 0.0)
    width: float = 200.0
    height: float = 60.0
    frame: bool = False
    colour: str = ""
    """One of ``COLOURS``, or empty."""


class Ends(NamedTuple):
    """The targets of a page's wires, by the block that they enter and the block that they leave."""

    inward: Mapping[str, tuple[PortName, ...]]
    outward: Mapping[str, tuple[PortName, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks by name, wires as target → source, positions by block name, notes by id.

    ``bends`` maps the target of a wire to the points that the wire passes, from its source on;
    ``routes`` does so to the route that Arrange gave it. A wire with bends has no route.
    ``styles`` has the blocks that are coloured or collapsed.
    """

    blocks: Mapping[str, Block] = field(default_factory=dict)
    wires: Mapping[PortName, PortName] = field(default_factory=dict)
    layout: Mapping[str, Point] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    bends: Mapping[PortName, tuple[Point, ...]] = field(default_factory=dict)
    routes: Mapping[PortName, Route] = field(default_factory=dict)
    styles: Mapping[str, Style] = field(default_factory=dict)
    _ends: list[Ends] = field(default_factory=list, init=False, repr=False, compare=False)
    """Empty until it is computed; one list for all pages that are known to have the same wires."""

    def wire_list(self) -> Iterator[Wire]:
        """The wires, in order."""
        return (Wire(source, target) for target, source in self.wires.items())

    @property
    def ends(self) -> Ends:
        """The wires by block; computed on first use and kept up to date by edits."""
        if not self._ends:
            self._ends.append(_ends(self.wires))
        return self._ends[0]

    def with_ends(self, ends: Ends) -> Page:
        """This page, with its ``ends`` set by a caller that has already computed them."""
        object.__setattr__(self, "_ends", [ends])
        return self

    def with_ends_of(self, other: Page) -> Page:
        """This page, with the ``ends`` of another page that has the same wires, known or not."""
        object.__setattr__(self, "_ends", other._ends)
        return self


@uncollected()
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


@runtime_checkable
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

    @property
    def layout(self) -> Mapping[str, Point]:
        """Positions by block name."""

    @property
    def notes(self) -> Mapping[str, Note]:
        """Notes and frames by id."""

    @property
    def bends(self) -> Mapping[PortName, tuple[Point, ...]]:
        """Bends by the target of their wire."""

    @property
    def routes(self) -> Mapping[PortName, Route]:
        """Routes by the target of their wire."""

    @property
    def styles(self) -> Mapping[str, Style]:
        """Styles by block name."""


class DiagramView(Protocol):
    """The readable part of a diagram, finished or during an edit."""

    @property
    def pages(self) -> Mapping[str, PageView]:
        """Pages by name."""


class Shown:
    """What shows itself in a notebook: a diagram, or a session with the values it has."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """A page of the diagram that computes, or a picture, in a frame."""
        # By name: diagrams and sessions do not import the room that shows them.
        html: str = import_module("gradwire.runtime.publish.living.notebook").frame(self)
        return html


@dataclass(frozen=True, slots=True)
class Diagram(Shown):
    """Pages by name, including ``main``. Immutable, so threads may share it.

    ``contracts`` are lines that state what its gradients must do; see runtime.flow.tools.contracts.
    ``views`` are the user's bookmarks, in order. ``lesson`` is what there is to learn from it.
    ``training`` is how it is trained. ``comparison`` is how it compares with the program that it
    comes from.
    """

    pages: Mapping[str, Page] = field(default_factory=lambda: {MAIN: Page()})
    title: str = ""
    description: str = ""
    contracts: tuple[str, ...] = ()
    views: tuple[View, ...] = ()
    lesson: Lesson | None = None
    training: Training | None = None
    comparison: Comparison | None = None
    folder: Path | None = field(default=None, compare=False, repr=False)
    """Where its file is, for data files beside it; not a part of the file."""
    measured: Measurements | None = field(default=None, compare=False, repr=False)
    """What the program that it comes from measured; not a part of the file."""

    def __repr__(self) -> str:
        count, pages = sum(len(page.blocks) for page in self.pages.values()), len(self.pages)
        main = self.pages.get(MAIN, Page())
        losses = [name for name, block in main.blocks.items() if block.head]
        title = f" {self.title[:60]!r}" if self.title else ""
        return (
            f"<Diagram{title}: {counted(count, 'block')} on {counted(pages, 'page')}; "
            f"{few(losses, 'loss', 'losses')}>"
        )

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

    ``inputs`` includes the terms of a repeating port that are in use, ``free`` has its next term.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    free: tuple[str, ...] = ()


def ports(diagram: DiagramView, page: str, name: str) -> Ports:
    """The ports of block ``name`` of ``page``, given by its class or, for a use, by the used page.

    An opaque block has the ports that its wires use.
    """
    block = diagram.pages[page].blocks[name]
    if isinstance(block, PageBlock) and block.page in diagram.pages:
        return page_ports(diagram.pages[block.page])
    return own_ports(diagram.pages[page], name)


def page_ports(page: PageView) -> Ports:
    """The ports of a page used as a block: the names of its PageInput and PageOutput blocks."""
    return Ports(tuple(blocks_of(page, PageInput)), tuple(blocks_of(page, PageOutput)))


def own_ports(page: PageView, name: str) -> Ports:
    """The ports of a block as far as its own page determines them.

    For an opaque block or a use of a page, these are the ports that have wires, sorted by name.
    """
    block = page.blocks[name]
    if isinstance(block, PageBlock | Opaque):
        inputs = {target.port for target in page.ends.inward.get(name, ())}
        outputs = {page.wires[target].port for target in page.ends.outward.get(name, ())}
        return Ports(tuple(sorted(inputs)), tuple(sorted(outputs)))
    taken: list[str] = []
    free: list[str] = []
    for port in block.input_ports():
        if port.variadic:
            count = _terms(page, name, port.name)
            taken += [term_name(port.name, i) for i in range(count)]
            free.append(term_name(port.name, count))
        else:
            taken.append(port.name)
    return Ports(tuple(taken), block.output_names(), tuple(free))


def _terms(page: PageView, name: str, port: str) -> int:
    """The number of terms of a repeating port with a wire or a literal, up to the first gap."""
    literals = page.blocks[name].literals
    count = 0
    while (term := term_name(port, count)) in literals or PortName(name, term) in page.wires:
        count += 1
    return count
