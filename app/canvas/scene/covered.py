"""Finds the ports that other blocks hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.app.canvas.scene.obstacles import INSET, Obstacles

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices, Ints
    from gradwire.app.canvas.scene.geometry import Scene

_FEW = 50_000
"""Pairs of a port and a block, up to which all are looked at."""


def covered_ports(scene: Scene, blocks: Indices) -> dict[int, int]:
    """The ports of ``blocks`` that one of these blocks hides, with the block on top of them.

    Of two blocks the one with the higher number is drawn on the other.
    """
    ports = scene.ports_of(blocks)
    points, own = scene.port_points(ports), scene.port_block[ports]
    if len(ports) * len(blocks) <= _FEW:
        above = _topmost(scene.rects[blocks], blocks, points, own)
    else:
        above = Obstacles(scene.rects, blocks).topmost(points, own)
    hidden = np.flatnonzero(above >= 0)
    return dict(zip(ports[hidden].tolist(), above[hidden].tolist(), strict=True))


def _topmost(rects: Floats, blocks: Indices, points: Floats, own: Ints) -> Ints:
    """As :meth:`Obstacles.topmost`, among ``blocks`` (k,) at ``rects`` (k, 4), pair by pair."""
    low, high = rects[:, :2] + INSET, rects[:, :2] + rects[:, 2:] - INSET
    at = points[:, None]
    inside = ((at > low) & (at < high)).all(axis=2) & (blocks > own[:, None])
    found: Ints = np.where(inside, blocks, -1).max(axis=1, initial=-1).astype(np.int32)
    return found


def cover_of(scene: Scene, port: int) -> str:
    """Name of the block that hides a port; empty if none does."""
    x, y = scene.port_points(np.array([port]))[0].tolist()
    own = int(scene.port_block[port])
    near = np.union1d(scene.blocks_in(np.array([x, y, x, y])), own)
    above = covered_ports(scene, near).get(port)
    return "" if above is None else scene.names[above]
