"""Preconditions of changes, and the errors that they raise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradwire.blocks.errors import ChangeError, Location
from gradwire.blocks.names import NAME_RULE, is_name
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.edits.draft import no_block, no_page
from gradwire.runtime.diagram.model import COLOURS, LEAST_SIZE, MAIN, MOST_SIZE, is_size

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.runtime.diagram.edits.draft import Draft
    from gradwire.runtime.diagram.edits.page_draft import PageDraft
    from gradwire.runtime.diagram.model import Point, Route, Size, View
    from gradwire.runtime.diagram.paths import PortName


def require_new(name: str, taken: Collection[str], kind: str, location: Location) -> None:
    """Raise ChangeError for a name that is invalid or in use."""
    if not is_name(name):
        raise ChangeError(
            f"{name!r} is not a valid {kind} name.", location=location, expected=NAME_RULE
        )
    if name in taken:
        raise ChangeError(f"There is already a {kind} {name!r}.", location=location)


def require_blocks(page: PageDraft, page_name: str, names: Collection[str]) -> None:
    """Raise ChangeError if the page lacks one of the blocks."""
    for name in names:
        if name not in page.blocks:
            raise no_block(name, page.blocks, Location(page_name, name))


def require_wire(page: PageDraft, page_name: str, target: PortName) -> None:
    """Raise ChangeError if no wire ends at the target."""
    if target not in page.wires:
        raise ChangeError("No wire ends here.", location=Location(page_name, *target))


def require_colour(colour: str, location: Location) -> None:
    """Raise ChangeError for a colour that is not one of ``COLOURS``; empty is none."""
    if colour and colour not in COLOURS:
        raise ChangeError(
            f"There is no colour {colour!r}.",
            location=location,
            expected="one of " + ", ".join(COLOURS),
            next_step=did_you_mean(colour, COLOURS),
        )


def require_note(page: PageDraft, page_name: str, name: str) -> None:
    """Raise ChangeError if the page has no such note."""
    if name not in page.notes:
        raise ChangeError(f"There is no note {name!r}.", location=Location(page_name))


def require_page(draft: Draft, name: str) -> None:
    """Raise ChangeError if there is no such page."""
    if name not in draft.pages:
        raise no_page(name, draft.pages)


def refuse_main(name: str, verdict: str) -> None:
    """Raise ChangeError for the page that runs; ``verdict`` completes the message."""
    if name == MAIN:
        raise ChangeError(f"Page {MAIN!r} is the one that runs; it {verdict}.")


def finite(at: Point, location: Location) -> Point:
    """The position unchanged; raises ChangeError if it is not finite."""
    if not (math.isfinite(at.x) and math.isfinite(at.y)):
        raise ChangeError("A position must be finite.", location=location, got=str(tuple(at)))
    return at


def require_route(route: Route, location: Location) -> Route:
    """The route unchanged; raises ChangeError unless it is an odd number of finite coordinates."""
    if len(route) % 2 == 0 or not all(map(math.isfinite, route)):
        raise ChangeError(
            "This is not a route.",
            location=location,
            expected="an odd number of finite coordinates (x, y, x, …)",
            got=str(route),
        )
    return route


def require_size(size: Size | None, location: Location) -> None:
    """Raise ChangeError for a size that no view can have."""
    if size is not None and not is_size(size):
        raise ChangeError(
            "A view can't have this size.",
            location=location,
            expected=f"{LEAST_SIZE.width:g} × {LEAST_SIZE.height:g} to "
            f"{MOST_SIZE.width:g} × {MOST_SIZE.height:g}",
            got=" × ".join(f"{part:g}" for part in size),
        )


def require_view(draft: Draft, view: View, others: Collection[View]) -> None:
    """Raise ChangeError for a bookmark with an invalid name, page, place or zoom."""
    location = Location(view.page)
    require_new(view.name, {other.name for other in others}, "bookmark", location)
    require_page(draft, view.page)
    finite(view.at, location)
    if not 0.0 < view.zoom < math.inf:
        raise ChangeError("The zoom of a bookmark must be positive.", location=location)
