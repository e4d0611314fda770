"""Finds the ports that other blocks hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.scene.obstacles import Obstacles

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats, Indices
    from app.canvas.scene.geometry import Scene

_FEW = 256
"""Blocks up to which all pairs are compared before anything else."""


def covered_ports(scene: Scene, blocks: Indices) -> dict[int, int]:
    """The ports of ``blocks`` that one of these blocks hides, with the block on top of them.

    Of two blocks the one with the higher number is drawn on the other.
    """
    if len(blocks) < 2 or not _touch(scene.rects[blocks]):
        return {}
    ports = scene.ports_of(blocks)
    points, own = scene.port_points(ports), scene.port_block[ports]
    above = Obstacles(scene.rects, blocks).topmost(points, own)
    hidden = np.flatnonzero(above >= 0)
    return dict(zip(ports[hidden].tolist(), above[hidden].tolist(), strict=True))


def _touch(rects: Floats) -> bool:
    """Whether any two of ``rects`` (k, 4: left, top, width, height) may touch; with many, they may.

    A port lies on the edge of its block, so that what hides it touches that block.
    """
    if len(rects) > _FEW:
        return True
    low, high = rects[:, :2], rects[:, :2] + rects[:, 2:]
    both = ((low[:, None] <= high) & (low <= high[:, None])).all(axis=2)
    return bool(both.sum() > len(rects))


def cover_of(scene: Scene, port: int) -> str:
    """Name of the block that hides a port; empty if none does."""
    x, y = scene.port_points(np.array([port]))[0].tolist()
    own = int(scene.port_block[port])
    near = np.union1d(scene.blocks_in(np.array([x, y, x, y])), own)
    above = covered_ports(scene, near).get(port)
    return "" if above is None else scene.names[above]
