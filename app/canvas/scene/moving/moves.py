"""What an edit that moves blocks has changed on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.app.document.diff import changed_keys

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram, Page, Point, Route

FEW = 64
"""Blocks that may have moved; where more have, or all, the whole page is read anew."""


class MovedItems(NamedTuple):
    """The blocks that are elsewhere now, and the routes that are others, by the wire's key."""

    blocks: dict[str, Point]
    routes: dict[str, Route]
    """An empty route for a wire that has none now."""


def moves_of(before: Page, after: Page) -> MovedItems | None:
    """What differs between two versions of a page but for its blocks, wires and styles.

    None if more differs than the places of a few blocks, with those that have come or gone, and the
    routes of wires.
    """
    if before.bends is not after.bends:
        return None
    places = changed_keys(before.layout, after.layout)
    routes = changed_keys(before.routes, after.routes)
    if len(places) > FEW or len(places) == len(after.blocks):
        return None
    if any(_is_homeless(name, page) for name in places for page in (before, after)):
        return None
    if any(target in after.bends for target in routes):
        return None
    return MovedItems(
        {name: after.layout[name] for name in places if name in after.blocks},
        {str(target): after.routes.get(target, ()) for target in routes},
    )


def _is_homeless(name: str, page: Page) -> bool:
    """Whether a page has a block but no place for it."""
    return name in page.blocks and name not in page.layout


def have_others_changed(before: Diagram, after: Diagram, page: str) -> bool:
    """Whether other pages than one differ."""
    if before.pages is after.pages:
        return False
    pages = {*before.pages, *after.pages} - {page}
    return any(before.pages.get(name) is not after.pages.get(name) for name in pages)
