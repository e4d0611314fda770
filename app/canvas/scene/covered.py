"""Finds the ports that other blocks hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.scene.obstacles import Obstacles

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Indices
    from app.canvas.scene.geometry import Scene


def covered_ports(scene: Scene, blocks: Indices) -> dict[int, int]:
    """The ports of ``blocks`` that one of these blocks hides, with the block on top of them.

    Of two blocks the one with the higher number is drawn on the other.
    """
    if len(blocks) < 2:
        return {}
    is_meant = np.zeros(len(scene.names), bool)
    is_meant[blocks] = True
    ports = np.flatnonzero(is_meant[scene.port_block])
    points, own = scene.port_points(ports), scene.port_block[ports]
    above = Obstacles(scene.rects, blocks).topmost(points, own)
    hidden = np.flatnonzero(above >= 0)
    return dict(zip(ports[hidden].tolist(), above[hidden].tolist(), strict=True))


def cover_of(scene: Scene, port: int) -> str:
    """Name of the block that hides a port; empty if none does."""
    x, y = scene.port_points(np.array([port]))[0].tolist()
    own = int(scene.port_block[port])
    near = np.union1d(scene.blocks_in(np.array([x, y, x, y])), own)
    above = covered_ports(scene, near).get(port)
    return "" if above is None else scene.names[above]
