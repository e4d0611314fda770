"""Goes to places in the diagram: a block, the location of a message, the effect of an undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.document.diff import page_diff, renamed_pages
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import HEADER, MAIN, WIDTH, Diagram, Point, PortName

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.document.diff import PageDiff
    from gradwire.app.panels.workspace import Workspace


class Reveal(WindowPart):
    """Goes to the page of an item, selects it, and brings it into view."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._document.restored.connect(self.restored)

    def location(self, location: Location) -> None:
        """Show the block of ``location``, on whatever page it is."""
        name = self._navigation.reveal(location)
        if name is not None:
            self.block(name)

    def path(self, path: str) -> None:
        """Show a block by its instance path, ``enc/W1``."""
        self.location(Location(MAIN, path))

    def close_up(self, path: str) -> None:
        """Show a block by its instance path, in the middle and large enough to be read.

        The view stays as it is if that is so already.
        """
        name = self._navigation.reveal(Location(MAIN, path))
        if name is None:
            return
        canvas = self._canvas
        canvas.select({name})
        actual = canvas.actual_zoom()
        is_readable = canvas.zoom() >= NUMBERS * actual
        if not (is_readable and canvas.rect().contains(canvas.block_rect(name))):
            bounds = canvas.view.scene.bounds_of([name])
            assert bounds is not None
            centre = bounds.reshape(2, 2).mean(axis=0)
            canvas.show_at(Point(*centre.tolist()), max(canvas.zoom(), actual))

    def block(self, name: str) -> None:
        """Show a block of the current page."""
        self._canvas.select({name})
        if not self._canvas.rect().contains(self._canvas.block_rect(name)):
            self._canvas.zoom_to_selection()

    def restored(self, before: Diagram, after: Diagram) -> None:
        """Show what an undo or a redo changed; a single changed wire is selected as a wire."""
        found = page_diff(before, after, self._navigation.page)
        if found is None:
            return
        if found.page != self._navigation.page:
            if renamed_pages(before, after):
                return  # the change elsewhere only follows the new name
            self._navigation.open(found.page)
        blocks = found.blocks
        if found.wires_only:
            blocks = found.cut.union(PortName.parse(wire).block for wire in found.wires)
        alone = found.wires_only and len(found.wires) == 1
        chosen = Selection(frozenset(() if alone else blocks), frozenset(found.notes))
        self._canvas.set_selection(chosen._replace(wire=found.wires[0] if alone else None))
        bounds = self._canvas.view.scene.bounds_of(blocks, found.notes)
        if bounds is None:
            bounds = _removed_bounds(found)
        if bounds is not None:
            self._canvas.reveal(bounds, roughly=True)


def _removed_bounds(found: PageDiff) -> Floats | None:
    """Bounds of the removed blocks and notes; None without any."""
    if not found.removed_at:
        return None
    places = np.array(found.removed_at)
    size = np.array([WIDTH, HEADER])
    return np.concatenate([places.min(axis=0), places.max(axis=0) + size])
