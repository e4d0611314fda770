"""What an edit that moves blocks has changed on a page, and which wires have moved lately."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.app.canvas.scene.arrays import NO_INDICES
from gradwire.app.document.diff import changed_keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.scene.curves import Courses
    from gradwire.runtime.diagram import Diagram, Page, Point, Route

FEW = 64
"""Blocks that may have moved; where more have, or all, the whole page is read anew."""


class MovedItems(NamedTuple):
    """The blocks that are elsewhere now, and the routes that are others, by the wire's key."""

    blocks: dict[str, Point]
    routes: dict[str, Route]
    """An empty route for a wire that has none now."""


def moves_of(before: Page, after: Page) -> MovedItems | None:
    """What differs between two versions of a page but for its blocks, wires and styles.

    None if more differs than the places of a few blocks, with those that have come or gone, and the
    routes of wires.
    """
    if before.bends is not after.bends:
        return None
    places = changed_keys(before.layout, after.layout)
    routes = changed_keys(before.routes, after.routes)
    if len(places) > FEW or len(places) == len(after.blocks):
        return None
    if any(_is_homeless(name, page) for name in places for page in (before, after)):
        return None
    if any(target in after.bends for target in routes):
        return None
    return MovedItems(
        {name: after.layout[name] for name in places if name in after.blocks},
        {str(target): after.routes.get(target, ()) for target in routes},
    )


def _is_homeless(name: str, page: Page) -> bool:
    """Whether a page has a block but no place for it."""
    return name in page.blocks and name not in page.layout


def have_others_changed(before: Diagram, after: Diagram, page: str) -> bool:
    """Whether other pages than one differ."""
    if before.pages is after.pages:
        return False
    pages = {*before.pages, *after.pages} - {page}
    return any(before.pages.get(name) is not after.pages.get(name) for name in pages)


_STEPS = 8
"""Steps that are remembered."""
_FEW = 1024
"""Wires of a step, beyond which they all count as moved."""
_FOLLOWED = 256
"""Wires whose courses are known."""


class MovedWires:
    """The wires that may have moved, step by step."""

    def __init__(self) -> None:
        self._steps = 0
        self._last: deque[tuple[Indices, Floats]] = deque(maxlen=_STEPS)

    def add(self, wires: Indices, bounds: Floats) -> int:
        """Note that these may have moved, whose bounds (k, 4) were such; returns the number of this
        step, from 1 on.
        """
        self._steps += 1
        self._last.append((wires, bounds))
        return self._steps

    def forget(self) -> None:
        """All wires may have moved, and may have other numbers."""
        self._steps += 1
        self._last.clear()

    def renumber(self, now: Indices, lost: Floats) -> None:
        """Follow all wires to the numbers that they have ``now`` (o,), -1 for those that are gone,
        whose bounds (k, 4) were ``lost``.
        """
        for number, (wires, bounds) in enumerate(self._last):
            here = now[wires]
            self._last[number] = here[here >= 0], bounds
        self.add(NO_INDICES, lost)

    def since(self, step: int) -> Indices | None:
        """The wires that may have moved after a step; None if they all may have."""
        last = self._after(step)
        if last is None:
            return None
        return np.unique(np.concatenate([np.zeros(0, np.intp), *(wires for wires, _ in last)]))

    def bounds_since(self, step: int) -> Floats:
        """Where wires were (k, 4) that may have moved after a step, if not all of them may have."""
        last = self._after(step) or []
        return np.concatenate([np.zeros((0, 4)), *(bounds for _, bounds in last)])

    def _after(self, step: int) -> list[tuple[Indices, Floats]] | None:
        count = self._steps - step
        last = [*self._last][len(self._last) - count :]
        if count > len(self._last) or any(len(wires) > _FEW for wires, _ in last):
            return None
        return last


class LastCourses:
    """The courses of wires that were followed lately, to know those that have not moved."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float | None, bytes]] = {}

    def moved(self, wires: Indices, groups: Iterable[tuple[Indices, Courses]]) -> Flags:
        """Which of ``wires`` (k,), whose courses in groups are these now, may have moved."""
        if len(wires) > _FOLLOWED:
            self._known = {}
            return np.ones(len(wires), bool)
        now = {
            wire: (courses.radius, waypoints.tobytes())
            for group, courses in groups
            for wire, waypoints in zip(group.tolist(), courses.waypoints, strict=True)
        }
        moved = (self._known.get(wire) != now[wire] for wire in wires.tolist())
        found = np.fromiter(moved, bool, len(wires))
        self._known = {**self._known, **now} if len(self._known) < _FOLLOWED else now
        return found
