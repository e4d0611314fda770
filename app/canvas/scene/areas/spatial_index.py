"""Where the blocks and wires of a scene are, kept while a few of them move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.areas.nearby import near_blocks, near_wires
from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.places import around_sides, sides_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members.members import MembersEdit
    from gradwire.runtime.diagram import Page


_PIECE = 1024
"""Rectangles of a piece, whose bounds are known together."""


class Extent:
    """The bounds around numbered rectangles, found piece by piece: after some have moved only
    theirs are found anew.

    ``sides_of`` gives the left, top, right and bottom (k, 4) of those that count in a slice.
    """

    def __init__(self, sides_of: Callable[[slice], Floats]) -> None:
        self._sides_of = sides_of
        self._pieces: Floats = np.zeros((0, 4))
        self._stale: set[int] = set()

    def forget(self) -> None:
        """All may be others."""
        self._pieces, self._stale = self._pieces[:0], set()

    def move(self, numbers: Indices) -> None:
        """Those with these numbers (k,) are elsewhere, or don't count as before."""
        self._stale.update(distinct(numbers // _PIECE).tolist())

    def of(self, count: int) -> Floats:
        """Left, top, right and bottom (1, 4) of so many; none (0, 4) if none counts."""
        pieces = -(-count // _PIECE)
        if len(self._pieces) != pieces:
            self._pieces, self._stale = np.empty((pieces, 4)), set(range(pieces))
        for piece in self._stale:
            sides = self._sides_of(slice(piece * _PIECE, min((piece + 1) * _PIECE, count)))
            bounds = around_sides(sides)
            self._pieces[piece] = np.nan if bounds is None else bounds
        self._stale = set()
        found = around_sides(self._pieces[~np.isnan(self._pieces[:, 0])])
        return self._pieces[:0] if found is None else found[None]


class SpatialIndex:
    """What lies in an area of a scene, and the bounds around all of it."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._near_blocks, self._near_wires = near_blocks(), near_wires()
        self._blocks = Extent(lambda some: sides_of(scene.rects[some]))
        self._squares = Extent(scene.squares_in)
        self._bounds: tuple[Page, Floats | None] | None = None

    def forget(self) -> None:
        """All may be elsewhere."""
        for known in (self._near_blocks, self._near_wires, self._blocks, self._squares):
            known.forget()
        self._bounds = None

    def renumber(self, edit: MembersEdit) -> None:
        """Follow blocks and wires to their numbers now; new ones are nowhere until they move."""
        self._near_blocks.renumber(edit.blocks)
        self._near_wires.renumber(edit.wires)
        self._blocks.forget()
        self._squares.forget()
        self._bounds = None

    def move_blocks(self, blocks: Indices) -> None:
        """These (k,) have moved, or have another size."""
        self._near_blocks.move(blocks, self._scene.rects[blocks])
        self._blocks.move(blocks)
        self._bounds = None

    def move_wires(self, wires: Indices) -> None:
        """These (k,) have moved."""
        self._near_wires.move(wires, self._scene.wire_bounds[wires])
        self._squares.move(wires)
        self._bounds = None

    def blocks_in(self, area: Floats) -> Indices:
        """The blocks that touch an area (its four sides), in order."""
        return self._near_blocks.of(self._scene.rects, area)

    def wires_in(self, area: Floats) -> Indices:
        """The wires whose bounds touch an area (its four sides), in order."""
        return self._near_wires.of(self._scene.wire_bounds, area)

    def bounds(self) -> Floats | None:
        """Left, top, right, bottom of the whole page; None if it is empty."""
        scene = self._scene
        if self._bounds is None or self._bounds[0] is not scene.page:
            parts = [
                self._blocks.of(len(scene.rects)),
                self._squares.of(len(scene.wire_keys)),
                sides_of(scene.note_rects()),
                np.tile(scene.bends, 2),
            ]
            self._bounds = scene.page, around_sides(np.concatenate(parts))
        return self._bounds[1]
