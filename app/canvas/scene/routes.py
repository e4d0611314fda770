"""The stored routes of a page's wires as arrays, and the waypoints of square wires."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices, Ints
    from gradwire.app.canvas.scene.members.changes import Changes
    from gradwire.runtime.diagram import Page, Route

ALIKE = 1e-6
"""Difference of the shifts of two blocks, scene units, that have moved alike."""


class RouteArrays:
    """The routes of a page's wires; a wire with bends has none.

    ``corners`` (n, 2) are those of the blocks to which the routes belong. ``sizes`` (m,) are the
    numbers of stretches of the wires' routes, 0 without one.
    """

    def __init__(self, page: Page, wire_index: Mapping[str, int], corners: Floats) -> None:
        given = [
            (wire_index.get(str(target)), route)
            for target, route in page.routes.items()
            if len(route) % 2 and target not in page.bends
        ]
        known = sorted((wire, route) for wire, route in given if wire is not None)
        self._corners = corners
        self.sizes: Ints = np.zeros(len(wire_index), np.int32)
        self.sizes[[wire for wire, _ in known]] = [len(route) for _, route in known]
        self._first: Ints = np.cumsum(self.sizes, dtype=np.int32) - self.sizes
        self._stretches: Floats = np.array([at for _, route in known for at in route], np.float64)

    def followed(self, wires: Indices, ends: Ints, corners: Floats) -> Flags:
        """Which of ``wires`` (k,) between blocks ``ends`` (k, 2) follow a route.

        Both ends have moved alike, or not at all; ``corners`` (n, 2) are those of blocks now.
        """
        shifts = corners[ends] - self._corners[ends]
        alike = (np.abs(shifts[:, 0] - shifts[:, 1]) < ALIKE).all(axis=1)
        return np.asarray(alike & (self.sizes[wires] > 0))

    def waypoints(
        self, wires: Indices, size: int, tails: Ints, corners: Floats, ends: Floats
    ) -> Floats:
        """The waypoints (k, 2 (size + 3)) of wires with routes of one size.

        ``tails`` (k,) are the blocks that they leave, ``corners`` (n, 2) those of blocks now, and
        ``ends`` (k, 4) the ports.
        """
        route = self._stretches[self._first[wires, None] + np.arange(size)]
        return square(route, corners[tails] - self._corners[tails], ends)

    def follow(
        self, wires: Indices, routes: Sequence[Route], blocks: Indices, corners: Floats
    ) -> None:
        """Take other ``routes`` for ``wires`` (k,), an empty one for none; ``blocks`` (b,) that the
        routes belong to are now at ``corners`` (b, 2).
        """
        self._corners[blocks] = corners
        self.sizes[wires] = [len(route) if len(route) % 2 else 0 for route in routes]
        self._first[wires] = len(self._stretches) + np.cumsum(self.sizes[wires]) - self.sizes[wires]
        added = [at for route in routes if len(route) % 2 for at in route]
        self._stretches = np.append(self._stretches, added)

    def renumber(self, blocks: Changes, wires: Changes) -> None:
        """Follow blocks and wires to their numbers now; new wires have no routes yet."""
        self._corners = blocks.rows(self._corners, np.nan)
        self.sizes, self._first = wires.rows(self.sizes), wires.rows(self._first)


def square(route: Floats, shift: Floats, ends: Floats) -> Floats:
    """The waypoints (k, 2 (s + 3)) of square wires.

    Their routes (k, s) have moved by ``shift`` (k, 2); their ports are at ``ends`` (k, 4).
    """
    xs = np.repeat(route[:, ::2] + shift[:, :1], 2, axis=1)
    ys = np.repeat(route[:, 1::2] + shift[:, 1:], 2, axis=1)
    ys = np.concatenate([ends[:, 1:2], ys, ends[:, 3:]], axis=1)
    turns = np.stack([xs, ys], axis=2).reshape(len(route), -1)
    return np.concatenate([ends[:, :2], turns, ends[:, 2:]], axis=1)


def shrunk(sides: Floats, margin: float) -> Floats:
    """Rectangles (k, 4: left, top, width, height) within sides (k, 4: left, top, right, bottom)."""
    corners, sizes = sides[:, :2] + margin, sides[:, 2:] - sides[:, :2] - 2.0 * margin
    return np.concatenate([corners, sizes], axis=1)
