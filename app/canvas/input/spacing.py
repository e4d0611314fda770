"""Changes that bring blocks onto a page, completed with moves that make room for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.input.frames import within
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.hits import moving_with, shifted
from gradwire.app.document.diff import changed_keys
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
    Batch,
    Change,
    MoveBlocks,
    Note,
    Point,
    SetNote,
    apply,
    nearest_vacancy,
    push_aside,
)

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.runtime.diagram import Diagram, Page, PortName

LINES = 2
"""Lines of numbers that a new block is expected to show once it has values."""


@dataclass(frozen=True, eq=False)
class Upcoming:
    """The page of a scene as it will be in ``diagram``; its blocks that stay keep their heights."""

    before: Scene
    diagram: Diagram

    @property
    def page_name(self) -> str:
        """The name of the page."""
        return self.before.page_name

    @property
    def page(self) -> Page:
        """The page after the edit."""
        return self.diagram.pages[self.page_name]

    @cached_property
    def names(self) -> list[str]:
        """The blocks (n,) in the order of the page."""
        return list(self.page.blocks)

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each block."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def rects(self) -> Floats:
        """Left, top, width, height of each block (n, 4)."""
        corners = list(map(self.page.layout.get, self.names))
        if None in corners or self._may_have_other_ports():
            return self.scene.rects
        numbers = map(self.before.index.get, self.names, repeat(-1))
        known = np.fromiter(numbers, np.intp, len(self.names))
        found: Floats = np.empty((len(known), 4))
        flat = chain.from_iterable(filter(None, corners))
        found[:, :2] = np.fromiter(flat, float, 2 * len(known)).reshape(-1, 2)
        found[:, 2:] = self.before.rects[known, 2:] if len(self.before.names) else 0.0
        if changed := self._changed():
            few = self._scene_of(self._alone(changed))
            found[[self.index[name] for name in few.names]] = few.rects
        return found

    @cached_property
    def scene(self) -> Scene:
        """The whole page, laid out anew."""
        return self._scene_of(self.page)

    def _scene_of(self, page: Page) -> Scene:
        same = page is self.page
        shown = self.diagram if same else self.diagram.with_page(self.page_name, page)
        scene, rows = Scene(shown, self.page_name), self.before.rows
        known = map(self.before.index.get, scene.names, repeat(-1))
        lines = [LINES if number < 0 else int(rows[number]) for number in known]
        scene.set_rows(np.maximum(np.array(lines, np.int32), scene.least_rows))
        return scene

    def _may_have_other_ports(self) -> bool:
        """Whether uses of other pages may, since one of these has changed."""
        known = self.before.diagram.pages
        return self.before.has_pages and any(
            page is not known.get(name)
            for name, page in self.diagram.pages.items()
            if name != self.page_name
        )

    def _changed(self) -> set[str]:
        """The blocks whose sizes may be others than on the scene."""
        was, now, scene = self.before.page, self.page, self.before
        changed = {*changed_keys(was.blocks, now.blocks), *changed_keys(was.styles, now.styles)}
        for target in changed_keys(was.wires, now.wires):
            sources = was.wires.get(target), now.wires.get(target)
            changed |= {target.block, *(source.block for source in sources if source is not None)}
        low = np.flatnonzero(scene.rows < scene.least_rows)
        changed.update(scene.names[number] for number in low.tolist())
        return changed & now.blocks.keys()

    def _alone(self, names: set[str]) -> Page:
        """The page with these blocks alone, and all that their ports depend on."""
        page = self.page
        ends = [side.get(name, ()) for name in names for side in page.ends]
        return replace(
            page,
            blocks={name: page.blocks[name] for name in names},
            wires={target: page.wires[target] for target in chain.from_iterable(ends)},
            bends={},
            routes={},
        )


def make_space(scene: Scene, change: Change, new: Collection[str]) -> Change:
    """``change``, and moves after which its ``new`` blocks cover no others.

    What comes after them moves over to the right, frames with their contents. A change that is not
    possible stays as it is: the document says why when it is requested.
    """
    try:
        edit = apply(scene.diagram, change)
    except ChangeError:
        return change
    after = Upcoming(scene, edit.after)
    numbers = [after.index[name] for name in new]
    shifts = push_aside(after.rects, numbers, _following(after, numbers))
    if not shifts.any():
        return change
    return Batch(edit.label, (change, *_moves(after, shifts)))


def in_vacancy(
    scene: Scene, change: Change, new: Collection[str], notes: Collection[str]
) -> Change:
    """``change``, and a move of its ``new`` blocks and notes to where they cover no others.

    Raises ChangeError where the change does.
    """
    edit = apply(scene.diagram, change)
    after = Upcoming(scene, edit.after)
    own = np.array(sorted(after.index[name] for name in new), np.intp)
    others = np.setdiff1d(np.arange(len(after.names)), own)
    move = nearest_vacancy(after.rects[others], after.rects[own])
    if not move.any():
        return change
    places = {name: Point(*(after.rects[after.index[name], :2] + move).tolist()) for name in new}
    corners = {name: after.page.notes[name].at for name in notes}
    moved = {name: Point(*(np.array(at) + move).tolist()) for name, at in corners.items()}
    bends = _bends_after(after, own, move)
    away = MoveBlocks(places, page=scene.page_name, notes=moved, bends=bends)
    return Batch(edit.label, (change, away))


def _following(page: Upcoming, blocks: Collection[int]) -> Iterator[int]:
    """The blocks that the outputs of ``blocks`` lead to."""
    outward, index = page.page.ends.outward, page.index
    found: set[int] = set()
    waiting = list(blocks)
    while waiting:
        readers = outward.get(page.names[waiting.pop()], ())
        ahead = {index[target.block] for target in readers if target.block in index} - found
        found |= ahead
        waiting += ahead
        yield from ahead


def _moves(page: Upcoming, shifts: Floats) -> list[Change]:
    """Move each block by its shift (n,) to the right, with its bends and the frame around it."""
    moved = np.flatnonzero(shifts)
    places = {
        page.names[i]: Point(float(page.rects[i, 0] + shifts[i]), float(page.rects[i, 1]))
        for i in moved.tolist()
    }
    bends: dict[PortName, tuple[Point, ...]] = {}
    for shift in np.unique(shifts[moved]).tolist():
        bends |= _bends_after(page, np.flatnonzero(shifts == shift), np.array([shift, 0.0]))
    frames = _frames_after(page, shifts)
    notes = {name: note.at for name, note in frames.items()}
    changes: list[Change] = [MoveBlocks(places, page=page.page_name, notes=notes, bends=bends)]
    for name, note in frames.items():
        if note.width != page.page.notes[name].width:
            changes.append(SetNote(name, note, page=page.page_name))
    return changes


def _bends_after(
    page: Upcoming, blocks: Indices, shift: Floats
) -> dict[PortName, tuple[Point, ...]]:
    """The bends of wires with some between ``blocks`` (k,) that move by ``shift`` (2,)."""
    if not page.page.bends:
        return {}
    return shifted(page.scene, moving_with(page.scene, blocks, ()), shift)


def _frames_after(page: Upcoming, shifts: Floats) -> Mapping[str, Note]:
    """The frames that contain blocks that move: moved if all do so alike, wider otherwise."""
    frames = {}
    for name, note in page.page.notes.items():
        inside = shifts[within(page.rects, note)] if note.frame else shifts[:0]
        if not inside.any():
            continue
        if (inside == inside[0]).all():
            frames[name] = replace(note, at=Point(note.at.x + float(inside[0]), note.at.y))
        else:
            frames[name] = replace(note, width=note.width + float(inside.max()))
    return frames
