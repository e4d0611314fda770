"""Which blocks and notes lie in which frame of a page, as a tree."""

from __future__ import annotations

import math
from dataclasses import field
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram.layout.placing import encloses, note_box

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gradwire.runtime.diagram.layout.placing import Box
    from gradwire.runtime.diagram.model import Note


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
