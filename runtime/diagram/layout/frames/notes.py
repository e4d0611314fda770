"""Moves notes with what they stand beside, to where they cover nothing."""

from __future__ import annotations

import math
from dataclasses import field, replace
from itertools import combinations, starmap
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.graph import LayoutLine, parts_of
from gradwire.runtime.diagram.layout.placing import (
    distance,
    encloses,
    free_spot,
    hull,
    note_box,
    overlap,
    stretches,
)
from gradwire.runtime.diagram.model import Point

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gradwire.runtime.diagram.layout.placing import XY, Box
    from gradwire.runtime.diagram.model import Note, PageView


# Which blocks and notes lie in which frame of a page, as a tree.


@dataclass
class FrameGroup:
    """What lies in a frame, and in no frame inside it: numbers of blocks, groups, ids of notes.

    The group of the page itself has the frame "", and no notes.
    """

    frame: str = ""
    blocks: list[int] = field(default_factory=list)
    groups: list[FrameGroup] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def all_blocks(self) -> Iterator[int]:
        """Numbers of the blocks, those of the groups inside too."""
        yield from self.blocks
        for group in self.groups:
            yield from group.all_blocks()

    def all_notes(self) -> Iterator[str]:
        """Ids of the frame, of the notes, and of all those in the groups inside."""
        yield from (self.frame, *self.notes)
        for group in self.groups:
            yield from group.all_notes()


def groups_of(
    notes: Mapping[str, Note], blocks: Sequence[Box | None], others: Collection[Box] = ()
) -> FrameGroup:
    """The tree of the frames around ``blocks``, which are None if they have no position.

    A frame that also has one of the ``others`` inside, or no block, is none of them. Of frames
    that overlap, the smallest has what lies in several.
    """
    inside = {
        id: frozenset(i for i, block in enumerate(blocks) if block and encloses(box, block))
        for id, note in notes.items()
        if note.frame and all(map(math.isfinite, box := note_box(note)))
        and not any(encloses(box, other) for other in others)
    }  # fmt: skip
    frames = sorted((id for id in inside if inside[id]), key=lambda id: (_area(notes[id]), id))
    page, groups = FrameGroup(), {id: FrameGroup(id) for id in frames}
    for i in range(len(blocks)):
        home = next((groups[id] for id in frames if i in inside[id]), page)
        home.blocks.append(i)
    for at, id in enumerate(frames):
        box = note_box(notes[id])
        outer = (
            other
            for other in frames[at + 1 :]
            if inside[id] <= inside[other] or encloses(note_box(notes[other]), box)
        )
        if list(groups[id].all_blocks()):
            groups.get(next(outer, ""), page).groups.append(groups[id])
    for id, note in notes.items():
        around = (
            groups[frame] for frame in frames if encloses(note_box(notes[frame]), note_box(note))
        )
        if not note.frame and (home := next(around, page)) is not page:
            home.notes.append(id)
    return page


def _area(note: Note) -> float:
    return note.width * note.height


_TOGETHER = 40.0
"""Notes at this distance from each other, in px, move as one."""


class Surroundings:
    """A page that is arranged: boxes of its blocks as they were and are now, and of those that
    stay; boxes of the frames and notes that were laid out with them; and the paths of wires,
    with the room that these need for lanes.
    """

    def __init__(
        self,
        page: PageView,
        was: Mapping[str, Box],
        now: Mapping[str, Box],
        others: Mapping[str, Box],
        boxes: Mapping[str, Box],
        wires: Sequence[tuple[Sequence[XY], float]],
    ) -> None:
        self._page, self._was, self._now = page, was, now
        self._others, self._boxes, self._paths = others, boxes, wires

    def moved_notes(self) -> dict[str, Note]:
        """The frames and notes that are elsewhere now, by id."""
        found = {
            id: replace(self._page.notes[id], at=Point(box[0], box[1]), width=box[2] - box[0],
                        height=box[3] - box[1])
            for id, box in self._boxes.items()
        }  # fmt: skip
        rest = {id: note for id, note in self._page.notes.items() if id not in found}
        partly = {id: note for id, note in rest.items() if note.frame and self._own_blocks(note)}
        found |= {id: self._around(note) for id, note in partly.items()}
        found |= self._beside({id: note for id, note in rest.items() if id not in partly}, found)
        return {id: note for id, note in found.items() if note != self._page.notes[id]}

    def _own_blocks(self, frame: Note) -> list[str]:
        """The arranged blocks that were inside a frame."""
        area = note_box(frame)
        return [name for name, box in self._was.items() if encloses(area, box)]

    def _around(self, frame: Note) -> Note:
        """A frame with the same margins around its blocks as before."""
        inside = self._own_blocks(frame)
        stay = [box for box in self._others.values() if encloses(note_box(frame), box)]
        before = hull([*stay, *map(self._was.__getitem__, inside)])
        after = hull([*stay, *map(self._now.__getitem__, inside)])
        left, top, right, bottom = (b - a for a, b in zip(before, after, strict=True))
        at = Point(frame.at.x + left, frame.at.y + top)
        return replace(
            frame, at=at, width=frame.width + right - left, height=frame.height + bottom - top
        )

    def _beside(self, notes: Mapping[str, Note], placed: Mapping[str, Note]) -> dict[str, Note]:
        """Put notes where they are beside the same block or frame as before."""
        if not notes:
            return {}
        stay = list(self._others.values())
        obstacles = [*self._now.values(), *stay, *self._wires()]
        obstacles += [note_box(note) for id, note in placed.items() if id in self._boxes]
        found: dict[str, Note] = {}
        boxes = {id: note_box(note) for id, note in notes.items()}
        boxes = {id: box for id, box in boxes.items() if all(map(math.isfinite, box))}
        own: list[tuple[list[str], XY]] = []
        for ids in _clusters(boxes):
            away, wanted = self._anchor([boxes[id] for id in ids])
            if any(distance(boxes[id], other) < away for id in ids for other in stay):
                obstacles += [boxes[id] for id in ids]
            else:
                own.append((ids, wanted))
        for ids, wanted in own:
            x, y = free_spot([boxes[id] for id in ids], obstacles, wanted)
            obstacles += [
                (left + x, top + y, right + x, bottom + y)
                for left, top, right, bottom in map(boxes.__getitem__, ids)
            ]
            for id in ids:
                at = notes[id].at
                found[id] = replace(notes[id], at=Point(at.x + x, at.y + y))
        return found

    def _anchor(self, cluster: Sequence[Box]) -> tuple[float, XY]:
        """How far the nearest frame or block was from notes, and how they move along with it."""
        frames = [id for id in self._boxes if self._page.notes[id].frame]
        anchors = [(note_box(self._page.notes[id]), self._boxes[id]) for id in frames]
        anchors += [(box, self._now[name]) for name, box in self._was.items()]
        if not anchors:
            return math.inf, (0.0, 0.0)
        away, note, anchor = min(
            (distance(box, before), i, j)
            for i, box in enumerate(cluster)
            for j, (before, _) in enumerate(anchors)
        )
        return away, _along(cluster[note], *anchors[anchor])

    def _wires(self) -> Iterator[Box]:
        """The stretches of all wires, as boxes; those between bends as large as these are apart."""
        for path, room in self._paths:
            for left, top, right, bottom in stretches(path):
                yield left - room, top - room, right + room, bottom + room


def _clusters(boxes: Mapping[str, Box]) -> list[list[str]]:
    """The notes that stand together, such as the lines of a column, but do not overlap."""
    lines = [
        LayoutLine(i, j)
        for (i, one), (j, other) in combinations(enumerate(boxes.values()), 2)
        if distance(one, other) <= _TOGETHER
    ]
    found: list[list[str]] = []
    for part in parts_of(len(boxes), lines):
        ids = [list(boxes)[i] for i in part.nodes]
        pairs = combinations([boxes[id] for id in ids], 2)
        found += [[id] for id in ids] if any(starmap(overlap, pairs)) else [ids]
    return found


def _along(note: Box, before: Box, after: Box) -> XY:
    """How a note moves that stays as far from the same sides of a box."""
    shifts = []
    for low, high in ((0, 2), (1, 3)):
        side = high if note[low] >= before[high] else low
        shifts.append(after[side] - before[side])
    return shifts[0], shifts[1]
