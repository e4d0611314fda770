"""Arranges a page during an edit: its blocks and wires, and with them bends, frames and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.diagram.edits.routes import settle_routes

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.runtime.diagram.edits.draft import Draft
    from gradwire.runtime.diagram.layout.graph import ShownSizes


def arrange_blocks(draft: Draft, name: str, names: Collection[str], shown: ShownSizes) -> None:
    """Arrange the blocks called ``names`` of a page, or all if it is empty, and route their wires.

    Bends move by the mean of their wire's two ends; frames keep enclosing the same blocks, and
    notes stay beside them.
    """
    from gradwire.runtime.diagram.layout.arranging import arrangement  # is slow to import

    page = draft.page(name)
    places, routes, notes, bends = arrangement(draft, name, names, shown)
    for block, at in places.items():
        if page.layout.get(block) != at:
            page.place(block, at)
    settle_routes(draft, name)
    for target in [*page.routes.keys() - page.wires.keys()]:
        page.route(target, ())
    for target in page.wires:
        if target in routes or (target.block in places and page.wires[target].block in places):
            page.route(target, routes.get(target, ()))
    page.routed_layout = dict(page.layout)
    for target, points in bends.items():
        page.bend(target, points)
    for id, note in notes.items():
        page.put_note(id, note)
