"""Finds positions, bends, routes and styles of what a page does not have."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

from gradwire.blocks.errors import Location
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.layout.later import waits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.runtime.diagram.model import Page


def stray_layout(page: Page, name: str) -> Iterator[Diagnostic]:
    """What is placed that does not exist, or not at a finite position."""
    for block, at in () if _is_sound(page) else page.layout.items():
        if block not in page.blocks:
            what = "There is a position for a block that does not exist."
        elif not (math.isfinite(at.x) and math.isfinite(at.y)):
            what = "The block's position is not finite."
        else:
            continue
        yield _stray(Location(name, block), what)
    for target, bends in page.bends.items():
        if target not in page.wires:
            yield _stray(Location(name, *target), "There are bends for a wire that does not exist.")
        elif not all(map(math.isfinite, chain.from_iterable(bends))):
            yield _stray(Location(name, *target), "A bend of the wire is not finite.")
    what = "There is a route for a wire that does not exist."
    for target in () if waits(page.routes, page.wires) else page.routes:
        if target not in page.wires:
            yield _stray(Location(name, *target), what)
    for block in page.styles:
        if block not in page.blocks:
            yield _stray(Location(name, block), "There is a style for a block that does not exist.")


def _is_sound(page: Page) -> bool:
    """Whether all positions are finite, and those of blocks that exist."""
    if waits(page.layout, page.blocks):
        return True
    numbers = chain.from_iterable(page.layout.values())
    return page.layout.keys() <= page.blocks.keys() and all(map(math.isfinite, numbers))


def _stray(location: Location, what: str) -> Diagnostic:
    return Diagnostic("info", location, what, next_step="Arrange the page.", code="stray-layout")
