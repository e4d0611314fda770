"""The bounding box of blocks, and the notes inside it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gradwire.runtime.diagram.layout.measures import HEADER, WIDTH, block_height, view_size
from gradwire.runtime.diagram.model import PLAIN, Note, Page, Point


class Box(NamedTuple):
    """A rectangle on a page, in scene units."""

    left: float
    top: float
    right: float
    bottom: float

    def contains(self, point: Point) -> bool:
        """Whether a point is inside or on the border."""
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom

    def encloses(self, other: Box) -> bool:
        """Whether another box is entirely inside."""
        return self.contains(Point(*other[:2])) and self.contains(Point(*other[2:]))


def box_around(page: Page, blocks: Collection[str]) -> Box:
    """The smallest box around those of the blocks that have a position."""
    boxes = [_block_box(page, name) for name in blocks if name in page.layout]
    low = [min((box[side] for box in boxes), default=0.0) for side in (0, 1)]
    high = [max((box[side] for box in boxes), default=0.0) for side in (2, 3)]
    return Box(*low, *high)


def notes_within(page: Page, blocks: Collection[str]) -> frozenset[str]:
    """Names of the notes and frames that belong to these blocks.

    These are the frames that contain some of the blocks and no other block, and everything that
    lies entirely in the box around the blocks or in one of those frames.
    """
    frames = {
        name: _note_box(note)
        for name, note in page.notes.items()
        if note.frame and (framed := _blocks_in(page, note)) and framed <= frozenset(blocks)
    }
    areas = [box_around(page, blocks), *frames.values()]
    inside = {
        name
        for name, note in page.notes.items()
        if any(area.encloses(_note_box(note)) for area in areas)
    }
    return frozenset(inside | frames.keys())


def _blocks_in(page: Page, frame: Note) -> frozenset[str]:
    """The blocks that lie entirely inside a frame."""
    area = _note_box(frame)
    return frozenset(name for name in page.layout if area.encloses(_block_box(page, name)))


def _block_box(page: Page, name: str) -> Box:
    left, top = page.layout[name]
    block, style = page.blocks.get(name), page.styles.get(name, PLAIN)
    lines = 1 if block is None else max(1, len(block.input_ports()))
    size = None if block is None else view_size(block, style, lines)
    width, height = size or (WIDTH, HEADER if style.collapsed else block_height(lines))
    return Box(left, top, left + width, top + height)


def _note_box(note: Note) -> Box:
    return Box(*note.at, note.at.x + note.width, note.at.y + note.height)
