"""Keeps the looks of blocks from result to result where they show the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gradwire.app.canvas.state.badge_labels import badge_labels
from gradwire.app.canvas.state.looks import (
    look_of,
    picture_of,
    row_counts,
    sections_of,
    slider_look,
    summary_of,
)
from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram import PortPath

if TYPE_CHECKING:
    from collections.abc import Hashable

    from gradwire.app.canvas.scene.arrays import Flags, Ints
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.scene.members.slots import PortSlots
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.canvas.state.page_result import PageResult
    from gradwire.blocks.values import Array

Frame: TypeAlias = "tuple[object, ...]"
Numbers: TypeAlias = "tuple[object, ...]"
_FEW = 64
"""Elements of an array that are compared; one of more is taken to have changed."""


@dataclass
class _Known:
    """The last look of a block, what it depends on, and its look from afar if that is known."""

    frame: Frame
    """All but the numbers: the block itself, its badges, its own gradients."""
    numbers: Numbers
    look: Look
    plain: Look | None = None


class LookCache:
    """The looks of the blocks of one page, by number.

    A look that shows the same as before is the same object; one in which only numbers differ takes
    the rest from the one before.
    """

    def __init__(self) -> None:
        self._page: PageResult | None = None
        self._key: Hashable = None
        self._members: _Members | None = None
        self._known: dict[int, _Known] = {}
        self._counted: Hashable = None
        """What the number of lines on faces depends on but for shapes, when it was last counted."""
        self._shapes: _Shapes | None = None
        """The shapes at that time."""
        self._last_shapes: tuple[object, object, _Shapes | None] = None, None, None
        """Values and gradients, and their shapes."""

    def row_counts(self, page: PageResult) -> Ints:
        """Number of text lines (n,) that each face needs, counted anew where a block has changed,
        or all if the result is of other shapes.
        """
        scene, result = page.scene, page.result
        trees = [] if result is None or not result.trees else [result.trees, result.ports]
        counted = _Same(scene), tuple(map(_Same, trees)), page.use
        before, shapes = self._shapes, self._shapes_of(page)
        is_known, self._counted, self._shapes = counted == self._counted, counted, shapes
        if not is_known or before is None or shapes is None:
            return row_counts(page)
        paths = () if before is shapes else _other_shapes(before, shapes)
        names = {PortPath(path).block_below(page.use) or "" for path in paths}
        anew = ~scene.are_counted
        anew[[scene.index[name] for name in names & scene.index.keys()]] = True
        fresh = np.flatnonzero(anew)
        return row_counts(page, fresh) if len(fresh) else scene.rows

    def _shapes_of(self, page: PageResult) -> _Shapes | None:
        result = page.result
        values, gradients = (None, None) if result is None else (result.values, result.gradients)
        if self._last_shapes[0] is not values or self._last_shapes[1] is not gradients:
            self._last_shapes = values, gradients, _shapes(page)
        return self._last_shapes[2]

    def look(self, page: PageResult, i: int, *, dimmed: bool) -> Look:
        """The look of block number ``i``; its numbers are faint if ``dimmed``."""
        return self._of(page, i, dimmed=dimmed).look

    def plain_look(self, page: PageResult, i: int, *, dimmed: bool) -> Look:
        """Its look from afar."""
        known = self._of(page, i, dimmed=dimmed)
        if known.plain is None:
            known.plain = known.look.plain(summary_of(page, i))
        return known.plain

    def _of(self, page: PageResult, i: int, *, dimmed: bool) -> _Known:
        self._follow(page)
        frame, numbers = _frame(page, i, dimmed=dimmed), _numbers(page, i)
        known = self._known.get(i)
        if known is None or known.frame != frame:
            known = _Known(frame, numbers, look_of(page, i, dimmed=dimmed))
        elif known.numbers != numbers:
            known = _Known(frame, numbers, _with_numbers(known.look, page, i))
        else:
            return known
        self._known[i] = known
        return known

    def _follow(self, page: PageResult) -> None:
        """Forget all looks if more differs from the last page than numbers and blocks, or those of
        the blocks that a small edit has touched.
        """
        if page is self._page:
            return
        self._page, before, key = page, self._key, _page_key(page)
        members, self._key, self._members = self._members, key, _Members.of(page.scene)
        if key != before or members is None:
            self._known = {}
        elif not members.is_like(self._members):
            self._renumber(page.scene, members)

    def _renumber(self, scene: Scene, before: _Members) -> None:
        """Follow blocks to their numbers now, where they are known."""
        last, known = scene.renumbered, self._known
        self._known = {}
        if last is None or last.slots is not before.slots:
            return
        blocks, kept = last.edit.blocks, last.edit.blocks.before >= 0
        kept &= blocks.rows(before.rows) == scene.rows
        kept &= blocks.rows(before.is_collapsed) == scene.is_collapsed
        kept[last.edit.touched] = False
        for old, look in known.items():
            now = int(blocks.now[old])
            if now >= 0 and kept[now]:
                self._known[now] = look


@by_identity
class _Members(NamedTuple):
    """What a scene's blocks are numbered by, and their heights."""

    slots: list[PortSlots]
    wires: object
    rows: Ints
    is_collapsed: Flags

    @classmethod
    def of(cls, scene: Scene) -> _Members:
        return cls(scene.slots, scene.page.wires, scene.rows, scene.is_collapsed)

    def is_like(self, other: _Members) -> bool:
        return (
            self.slots is other.slots
            and self.wires is other.wires
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.is_collapsed, other.is_collapsed)
        )


def _page_key(page: PageResult) -> Hashable:
    """Equal for results of one page that differ in numbers, badges and blocks alone."""
    scene, result = page.scene, page.result
    parts: list[object] = [scene, scene.page.styles]
    if result is not None:
        parts += [result.ports, result.trees]
    return (
        tuple(map(_Same, parts)), page.use, frozenset(page.problems),
        result is None or (result.is_partial, result.losses),
    )  # fmt: skip


class _Shapes(NamedTuple):
    """The shapes of all values and gradients, by path; None for a gradient that there is not."""

    values: dict[str, object]
    gradients: dict[str, object]


def _shapes(page: PageResult) -> _Shapes | None:
    result = page.result
    if result is None:
        return None
    values, gradients = result.values.items(), result.gradients.items()
    return _Shapes(
        {path: array.shape for path, array in values},
        {path: None if array is None else array.shape for path, array in gradients},
    )


def _other_shapes(before: _Shapes, after: _Shapes) -> set[str]:
    """The paths of values and gradients that have other shapes, have come or gone."""
    found: set[str] = set()
    for was, now in zip(before, after, strict=True):
        if was != now:
            found.update(path for path, shape in now.items() if was.get(path, was) != shape)
            found.update(was.keys() - now.keys())
    return found


@dataclass(frozen=True, eq=False)
class _Same:
    """Equal for the same object only."""

    part: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.part is other.part

    def __hash__(self) -> int:
        return id(self.part)


def _frame(page: PageResult, i: int, *, dimmed: bool) -> Frame:
    scene = page.scene
    name, block = scene.names[i], scene.blocks[i]
    labels = badge_labels(page.badges, page.use / name, scene.slots[i].outputs)
    owned = tuple(_gradient(page, name, port) for port in block.owned)
    inside = page.sign_inside(name)
    return _Same(block), dimmed, tuple(label for label, _ in labels), inside, owned


def _numbers(page: PageResult, i: int) -> Numbers:
    scene = page.scene
    name, block = scene.names[i], scene.blocks[i]
    values = tuple(_contents(page.value(name, port)) for port in scene.slots[i].outputs)
    if isinstance(block, ViewBlock):
        return (_Same(page.picture(name)),)
    return (*values, _gradient(page, name)) if isinstance(block, Source) else values


def _gradient(page: PageResult, name: str, port: str = "") -> object:
    return page.knows_gradient(name, port) and (_contents(page.gradient(name, port)),)


def _contents(array: Array | None) -> object:
    """Equal for arrays of the same contents, unless they are large."""
    if array is None:
        return None
    if array.size > _FEW or array.dtype.hasobject:
        return object()
    return array.dtype, array.shape, array.tobytes()


def _with_numbers(look: Look, page: PageResult, i: int) -> Look:
    """The look with other numbers, if it shows any."""
    if look.collapsed or look.through is not None:
        return look
    if look.size is not None:
        return replace(look, view=picture_of(page, i))
    sections, slider = sections_of(page, i), slider_look(page, i)
    return replace(look, sections=sections, slider=slider, ground=look.bare())
