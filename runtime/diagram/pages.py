"""Resolves instance paths to pages and blocks of the document, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from blocks.library.pages import Page as PageBlock
from runtime.diagram.model import MAIN, Diagram
from runtime.diagram.paths import ROOT, InstancePath

if TYPE_CHECKING:
    from blocks.block import Block

MOST_USES = 10_000
"""Number of uses of pages after which a search stops; nested uses can grow exponentially."""


class Address(NamedTuple):
    """A block of the document. It runs once for each use of its page, each at its own path."""

    page: str
    name: str


def resolve(diagram: Diagram, path: InstancePath) -> Address | None:
    """The block of the document that runs at a path, or None."""
    page = page_at(diagram, path.use)
    if page is None or path.name not in diagram.pages[page].blocks:
        return None
    return Address(page, path.name)


def page_at(diagram: Diagram, use: InstancePath, root: str = MAIN) -> str | None:
    """Name of the page used at ``use``, relative to the page ``root``; None if there is no use."""
    page = root
    for name in use.names:
        inner = _page_used(diagram, page, name)
        if inner is None:
            return None
        page = inner
    return page if page in diagram.pages else None


def uses_of(diagram: Diagram, page: str) -> Iterator[InstancePath]:
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


def _page_used(diagram: Diagram, page: str, name: str) -> str | None:
    """The page of the diagram that a block stands for, or None."""
    here = diagram.pages.get(page)
    block = None if here is None else here.blocks.get(name)
    return block.page if isinstance(block, PageBlock) and block.page in diagram.pages else None
