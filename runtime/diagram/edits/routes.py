"""Keeps the routes of wires right during an edit: they move with their blocks, or are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.diagram.layout.graph import BlockFace
from gradwire.runtime.diagram.layout.measures import WIDTH
from gradwire.runtime.diagram.model import PLAIN, Point

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.runtime.diagram.edits.draft import Draft
    from gradwire.runtime.diagram.edits.page_draft import PageDraft
    from gradwire.runtime.diagram.model import Route
    from gradwire.runtime.diagram.paths import PortName

_Floats: TypeAlias = NDArray[np.float64]

_INSET = 2.0
"""How far a wire may run inside the edge of a block, px."""
_STILL = Point(0.0, 0.0)


def settle_routes(draft: Draft, name: str) -> None:
    """Bring the routes of a page in line with the positions of its blocks.

    A route moves along if both ends of its wire moved alike. It is dropped if they did not, or if
    its wire now runs behind a block that moved otherwise, that has another height, or that is new.
    A route that the edit itself gave a wire, or with an end at a block of another height, is
    dropped if it runs behind any block.
    """
    page = draft.page(name)
    was = page.routed_layout
    resized = _resized(page)
    page.routed_styles = page.styles
    if not page.routes or (page.layout is was and not page.given_routes and not resized):
        return
    page.routed_layout = dict(page.layout)
    shifts = {
        block: _way(was[block], at) if block in was else None
        for block, at in page.layout.items()
        if was.get(block) != at
    }
    if not (shifts or page.given_routes or resized):
        return
    obstacles = _Obstacles(draft, name, {**shifts, **dict.fromkeys(resized)})
    for target, route in list(page.routes.items()):
        source = page.wires.get(target)
        if source is None or not {source.block, target.block} <= page.layout.keys():
            page.route(target, ())
            continue
        given = page.given_routes.get(target)
        begin, end = (
            (shifts.get(source.block, _STILL), shifts.get(target.block, _STILL))
            if given is None
            else (
                _way(given[0], page.layout[source.block]),
                _way(given[1], page.layout[target.block]),
            )
        )
        if begin is None or begin != end:
            page.route(target, ())
            continue
        along = moved_route(route, begin)
        anywhere = given is not None or not resized.isdisjoint((source.block, target.block))
        met = obstacles.meet(target, along, begin, new=anywhere)
        page.route(target, () if met else along)
    page.given_routes.clear()


def _resized(page: PageDraft) -> set[str]:
    """The blocks that got another size since the routes were settled."""
    was, now = page.routed_styles, page.styles
    if was is now:
        return set()
    names = {**was, **now}.keys() & page.layout.keys()
    pairs = {name: (was.get(name, PLAIN), now.get(name, PLAIN)) for name in names}
    return {name for name, (old, new) in pairs.items() if old[1:] != new[1:]}


def moved_route(route: Route, by: Point) -> Route:
    """A route that moves along with its blocks."""
    return tuple(at + (by.y if i % 2 else by.x) for i, at in enumerate(route))


def _way(begin: Point, end: Point) -> Point:
    return Point(end.x - begin.x, end.y - begin.y)


class _Obstacles:
    """The blocks of a page, and how each has moved: None if it is new or has another height."""

    def __init__(self, draft: Draft, name: str, shifts: Mapping[str, Point | None]) -> None:
        self._draft, self._name, self._page = draft, name, draft.page(name)
        self._faces: dict[str, BlockFace] = {}
        self._moved = self._rects([block for block in shifts if block in self._page.blocks])
        self._all: tuple[list[str], _Floats] | None = None
        self._shifts = shifts

    def meet(self, target: PortName, route: Route, shift: Point, *, new: bool) -> bool:
        """Whether a wire with this route, which has moved by ``shift``, runs behind a block that
        has not moved alike; with a ``new`` route, behind any.
        """
        anywhere = new or shift != _STILL
        if anywhere and self._all is None:
            self._all = self._rects(
                [block for block in self._page.layout if block in self._page.blocks]
            )
        names, rects = self._all if anywhere and self._all is not None else self._moved
        source = self._page.wires[target]
        begin, end = self._page.layout[source.block], self._page.layout[target.block]
        xs = [begin.x + WIDTH, *route[::2], end.x]
        near = np.flatnonzero((rects[:, 0] < max(xs)) & (rects[:, 2] > min(xs))).tolist()
        apart = [
            i
            for i in near
            if names[i] not in (source.block, target.block)
            and (new or self._shifts.get(names[i], _STILL) != shift)
        ]
        if not apart:
            return False
        first = begin.y + self._face(source.block).leaves(source.port)
        last = end.y + self._face(target.block).enters(target.port)
        ys = [first, *route[1::2], last]
        return _behind(xs, ys, rects[apart])

    def _rects(self, names: list[str]) -> tuple[list[str], _Floats]:
        """The blocks with these names as left, top, right and bottom (n, 4), inset."""
        corners = np.array([self._page.layout[name] for name in names], np.float64).reshape(-1, 2)
        faces = [self._face(name) for name in names]
        sizes = np.array([(face.width, face.height) for face in faces]).reshape(-1, 2)
        return names, np.concatenate([corners + _INSET, corners + sizes - _INSET], axis=1)

    def _face(self, name: str) -> BlockFace:
        if name not in self._faces:
            self._faces[name] = BlockFace.of(self._draft, self._name, name)
        return self._faces[name]


def _behind(xs: list[float], ys: list[float], rects: _Floats) -> bool:
    """Whether a square wire runs through one of ``rects`` (n, 4).

    It runs from the first of ``xs`` to the next at the first of ``ys``, then up or down to the next
    of ``ys``, and so on.
    """
    left, top, right, bottom = rects.T
    for at, y in enumerate(ys):
        low, high = sorted(xs[at : at + 2])
        if ((left < high) & (right > low) & (top < y) & (bottom > y)).any():
            return True
    for at, x in enumerate(xs[1:-1]):
        low, high = sorted(ys[at : at + 2])
        if ((left < x) & (right > x) & (top < high) & (bottom > low)).any():
            return True
    return False
