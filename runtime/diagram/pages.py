"""Resolves instance paths to pages and blocks of the document, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.model import MAIN, Diagram, DiagramView, Page
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortName

if TYPE_CHECKING:
    from gradwire.blocks.block import Block

MOST_USES = 10_000
"""Number of uses of pages after which a search stops; nested uses can grow exponentially."""


class Address(NamedTuple):
    """A block of the document, or the own variable of its input ``owned``, or, of a Formula
    block, the block ``part`` inside; a ``part`` of a Scan, which joins its steps, is the Scan.

    It runs once for each use of its page, each at its own path.
    """

    page: str
    name: str
    owned: str = ""
    part: str = ""

    def block(self, diagram: DiagramView) -> Block:
        """The block, the own variable or the block inside."""
        block = diagram.pages[self.page].blocks[self.name]
        if self.part and isinstance(block, Formula):
            return block.content.blocks[self.part]
        return block.owned[self.owned] if self.owned else block

    def replaced(self, diagram: DiagramView, block: Block) -> Block:
        """The block of the page once ``block`` is at this address."""
        if not self.owned:
            return block
        return changed_block(diagram.pages[self.page].blocks[self.name], {self.owned: block})

    def parameters(
        self, diagram: DiagramView, values: Mapping[str, object]
    ) -> Mapping[str, object]:
        """The parameters to set of the block of the page, to set ``values`` at this address.

        Raises ParameterError.
        """
        if self.part:
            formula = diagram.pages[self.page].blocks[self.name]
            assert isinstance(formula, Formula)
            return {"expression": formula.with_part(self.part, values)}
        if not self.owned:
            return values
        return {self.owned: changed_block(self.block(diagram), values)}


def resolve(diagram: Diagram, path: InstancePath) -> Address | None:
    """What runs at a path, in the document, or None."""
    page = page_at(diagram, path.use)
    if page is not None:
        return Address(page, path.name) if path.name in diagram.pages[page].blocks else None
    owner = resolve(diagram, path.use) if path.use else None
    if owner is None:
        return None
    whole = owner.block(diagram)
    if isinstance(whole, Scan):
        part = InstancePath(owner.part) / path.name
        return owner._replace(part=part) if _joins(diagram, whole, part) else None
    if owner.part:
        return None
    if isinstance(whole, Formula):
        return owner._replace(part=path.name) if path.name in whole.content.blocks else None
    return owner._replace(owned=path.name) if path.name in whole.owned else None


def _joins(diagram: DiagramView, scan: Scan, part: InstancePath) -> bool:
    """Whether this is what joins the steps of a Scan: ``x``, ``y``, with a condition ``y/3``."""
    name, *below = part.names
    port = diagram.pages[scan.page].blocks.get(name) if scan.page in diagram.pages else None
    if not below:
        return isinstance(port, PageInput | PageOutput)
    is_output = isinstance(port, PageOutput) and bool(scan.condition)
    return is_output and len(below) == 1 and scan.has_step(below[0])


@lru_cache(maxsize=256)
def inside(expression: str) -> Page:
    """The blocks that run inside a Formula block, as a page. Raises FormulaError."""
    from gradwire.blocks.formulas.content import content_of  # few diagrams have Formula blocks

    content = content_of(expression)
    wires = {PortName(*target): PortName(*source) for target, source in content.wires.items()}
    return Page(content.blocks, wires)


def page_at(diagram: Diagram, use: InstancePath, root: str = MAIN) -> str | None:
    """Name of the page used at ``use``, relative to the page ``root``; None if there is no use.

    Each step of a Scan is a use of its page, and the Scan itself is none.
    """
    page, scan = root, None
    for name in use.names:
        if scan is not None and scan.has_step(name):
            page, scan = scan.page, None
            continue
        inner = None if scan is not None else used_by(diagram, page, name)
        if inner is None:
            return None
        if isinstance(inner, Scan):
            scan = inner
        else:
            page = inner.page
    return page if page in diagram.pages and scan is None else None


def page_named(diagram: Diagram, text: str) -> str | None:
    """The page of this name, or the one used at this path; None if there is none.

    A path may be that of a module which an import made one page with the only one inside it:
    ``encoder/layer/0`` for ``encoder_layer/0``.
    """
    if text in diagram.pages:
        return text
    return _page_below(diagram, MAIN, InstancePath(text).names)


def _page_below(diagram: Diagram, page: str, names: Sequence[str]) -> str | None:
    if not names:
        return page
    for end in range(1, len(names) + 1):
        inner = used_by(diagram, page, "_".join(names[:end]))
        if inner is not None:
            stepped = isinstance(inner, Scan) and names[end:] and inner.has_step(names[end])
            found = _page_below(diagram, inner.page, names[end + bool(stepped) :])
            if found is not None:
                return found
    return None


def uses_of(diagram: DiagramView, page: str) -> Iterator[InstancePath]:
    """Uses of a page, the least nested first; ROOT for the main page."""
    waiting = [(ROOT, MAIN, 0)]
    for use, inner, depth in waiting:
        if inner == page:
            yield use
        for name in diagram.pages[inner].blocks if depth < len(diagram.pages) else ():
            below = used_by(diagram, inner, name)
            if below is not None:
                paths = uses_made(use / name, below, MOST_USES - len(waiting))
                waiting += [(path, below.page, depth + 1) for path in paths]


def all_blocks(diagram: Diagram) -> Iterator[tuple[InstancePath, Block]]:
    """Every block by path, the blocks of a page before those inside the pages it uses.

    A page inside itself is omitted, and of the steps of a Scan all but the first.
    """
    waiting = [(ROOT, MAIN, frozenset({MAIN}))]
    for use, page, above in waiting:
        for name, block in diagram.pages[page].blocks.items():
            path = use / name
            yield path, block
            inner = used_by(diagram, page, name)
            if inner is not None and inner.page not in above:
                for first in uses_made(path, inner, 1):
                    waiting.append((first, inner.page, above | {inner.page}))


def used_by(diagram: DiagramView, page: str, name: str) -> PageBlock | None:
    """The block ``name`` of a page if it stands for a page of the diagram, or None."""
    here = diagram.pages.get(page)
    block = None if here is None else here.blocks.get(name)
    return block if isinstance(block, PageBlock) and block.page in diagram.pages else None


def first_use(path: InstancePath, block: PageBlock) -> InstancePath | None:
    """The use of its page that a block at ``path`` makes first; None for a Scan of no steps."""
    return next(iter(uses_made(path, block, 1)), None)


def uses_made(path: InstancePath, block: PageBlock, most: int) -> Iterator[InstancePath]:
    """The first uses of its page that a block at ``path`` makes, ``most`` of them at most."""
    if isinstance(block, Scan):
        return (path / str(step) for step in islice(block.order(), max(0, most)))
    return iter([path][: max(0, most)])
