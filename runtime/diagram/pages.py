"""Resolves instance paths to pages and blocks of the document, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from blocks.formulas.content import content_of
from blocks.library.formula import Formula
from blocks.library.pages import Page as PageBlock
from runtime.diagram.files.records import changed_block
from runtime.diagram.model import MAIN, Diagram, DiagramView, Page
from runtime.diagram.paths import ROOT, InstancePath, PortName

if TYPE_CHECKING:
    from blocks.block import Block

MOST_USES = 10_000
"""Number of uses of pages after which a search stops; nested uses can grow exponentially."""


class Address(NamedTuple):
    """A block of the document, or the own variable of its input ``owned``, or, of a Formula
    block, the block ``part`` inside.

    It runs once for each use of its page, each at its own path.
    """

    page: str
    name: str
    owned: str = ""
    part: str = ""

    def block(self, diagram: DiagramView) -> Block:
        """The block, the own variable or the block inside."""
        block = diagram.pages[self.page].blocks[self.name]
        if self.part:
            assert isinstance(block, Formula)
            return block.content.blocks[self.part]
        return block.owned[self.owned] if self.owned else block

    def replaced(self, diagram: DiagramView, block: Block) -> Block:
        """The block of the page once ``block`` is at this address."""
        if not self.owned:
            return block
        return changed_block(diagram.pages[self.page].blocks[self.name], {self.owned: block})

    def parameters(self, diagram: DiagramView, values: Mapping[str, Any]) -> Mapping[str, Any]:
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
    if owner is None or owner.part:
        return None
    whole = owner.block(diagram)
    if isinstance(whole, Formula):
        return owner._replace(part=path.name) if path.name in whole.content.blocks else None
    return owner._replace(owned=path.name) if path.name in whole.owned else None


@lru_cache(maxsize=256)
def inside(expression: str) -> Page:
    """The blocks that run inside a Formula block, as a page. Raises FormulaError."""
    content = content_of(expression)
    wires = {PortName(*target): PortName(*source) for target, source in content.wires.items()}
    return Page(content.blocks, wires)


def page_at(diagram: Diagram, use: InstancePath, root: str = MAIN) -> str | None:
    """Name of the page used at ``use``, relative to the page ``root``; None if there is no use."""
    page = root
    for name in use.names:
        inner = _page_used(diagram, page, name)
        if inner is None:
            return None
        page = inner
    return page if page in diagram.pages else None


def uses_of(diagram: DiagramView, page: str) -> Iterator[InstancePath]:
    """Uses of a page, the least nested first; ROOT for the main page."""
    waiting = [(ROOT, MAIN)]
    for use, inner in waiting:
        if inner == page:
            yield use
        if len(waiting) < MOST_USES and len(use.names) < len(diagram.pages):
            for name in diagram.pages[inner].blocks:
                below = _page_used(diagram, inner, name)
                if below is not None:
                    waiting.append((use / name, below))


def all_blocks(diagram: Diagram) -> Iterator[tuple[InstancePath, Block]]:
    """Every block by path, the blocks of a page before those inside the pages it uses.

    A page inside itself is omitted.
    """
    waiting = [(ROOT, MAIN, frozenset({MAIN}))]
    for use, page, above in waiting:
        for name, block in diagram.pages[page].blocks.items():
            path = use / name
            yield path, block
            inner = _page_used(diagram, page, name)
            if inner is not None and inner not in above:
                waiting.append((path, inner, above | {inner}))


def _page_used(diagram: DiagramView, page: str, name: str) -> str | None:
    """The page of the diagram that a block stands for, or None."""
    here = diagram.pages.get(page)
    block = None if here is None else here.blocks.get(name)
    return block.page if isinstance(block, PageBlock) and block.page in diagram.pages else None
