"""Pages shared between files: each has a diagram of its own, whose main page is one use of it."""

from __future__ import annotations

from gradwire.blocks.errors import FileError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.names import fresh_names
from gradwire.runtime.diagram.edits.changes import (
    Batch,
    Change,
    InsertPage,
    RemovePage,
    RenamePage,
    SetParameters,
)
from gradwire.runtime.diagram.edits.clipboard import page_names, pages_used, with_pages
from gradwire.runtime.diagram.edits.grouping import uses
from gradwire.runtime.diagram.model import MAIN, Diagram, Page, Point


def shared_page(diagram: Diagram, page: str) -> Diagram:
    """The diagram that shares a page: a use of it, the page, and the pages that it uses."""
    main = Page({page: PageBlock(page=page)}, layout={page: Point(0.0, 0.0)})
    used = {name: diagram.pages[name] for name in pages_used(diagram.pages, main) if name != MAIN}
    return Diagram({MAIN: main} | used, title=page)


def page_offered(shared: Diagram) -> str:
    """The page that a diagram shares; raises FileError if it is not one of :func:`shared_page`."""
    used = [block.page for block in shared.main.blocks.values() if isinstance(block, PageBlock)]
    is_single = len(used) == len(shared.main.blocks) == 1
    if not is_single or used[0] == MAIN or used[0] not in shared.pages:
        raise FileError(
            "The file shares no page.", expected="a main page with one block, which uses a page"
        )
    return used[0]


def differs(diagram: Diagram, shared: Diagram) -> bool:
    """Whether the diagram's page of that name, or a page that it uses, is another."""
    page = page_offered(shared)
    pages = {page, *pages_used(shared.pages, shared.pages[page])} - {MAIN}
    return any(diagram.pages.get(name) != shared.pages[name] for name in pages)


def updated(diagram: Diagram, shared: Diagram) -> Batch:
    """Replace the diagram's page by the shared one of the same name, in all of its uses.

    Pages that it uses are added under other names where the diagram has other pages of theirs.
    """
    page = page_offered(shared)
    inner = {n: shared.pages[n] for n in pages_used(shared.pages, shared.pages[page])}
    inner = {name: content for name, content in inner.items() if name not in (MAIN, page)}
    names = page_names(inner, diagram)
    taken = {*diagram.pages, *names.values()}
    new = next(fresh_names(page.rstrip("0123456789_ ") or page, taken))
    changes: list[Change] = [
        InsertPage(names[name], with_pages(content, names | {page: new}))
        for name, content in inner.items()
        if names[name] not in diagram.pages
    ]
    changes.append(InsertPage(new, with_pages(shared.pages[page], names | {page: new})))
    changes += [
        SetParameters(name, {"page": new}, page=where)
        for where, name in uses(diagram, page)
        if where != page
    ]
    changes += [RemovePage(page), RenamePage(new, page)]
    return Batch(f"Update page {page}", tuple(changes))
