"""Finds room for a group of blocks among others."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from runtime.diagram.layout.measures import ROW_GAP, WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

_Rects: TypeAlias = NDArray[np.float64]
"""Left, top, right, bottom of each (n, 4)."""
XY: TypeAlias = tuple[float, float]

_GAP = ROW_GAP / 2.0
"""Least distance from the other blocks."""
_TRIED = 400
"""Shifts that are tried before the group goes below everything else."""


def free_shift(
    boxes: Sequence[tuple[float, float, float]],
    paths: Sequence[Sequence[XY]],
    obstacles: Sequence[tuple[float, float, float]],
    wanted: XY,
) -> XY:
    """The shift nearest to ``wanted``, in whole px, at which boxes and paths lie on no obstacle.

    Boxes and obstacles are left, top and height of blocks; paths are points of square wires.
    """
    own = np.concatenate([_rects(boxes), _stretches(paths)])
    others = _rects(obstacles) + np.array([-_GAP, -_GAP, _GAP, _GAP])
    left, top = own[:, :2].min(axis=0)
    right, bottom = own[:, 2:].max(axis=0)
    x, y = wanted
    sideways = np.concatenate([others[:, 2] - left, others[:, 0] - right, [x]])
    vertical = np.concatenate([others[:, 3] - top, others[:, 1] - bottom, [y]])
    options = np.concatenate(
        [
            np.column_stack([sideways, np.full(len(sideways), y)]),
            np.column_stack([np.full(len(vertical), x), vertical]),
        ]
    )
    away = np.abs(options - wanted).sum(axis=1)
    for shift in options[away.argsort(kind="stable")[:_TRIED]]:
        whole = np.where(shift < wanted, np.floor(shift), np.ceil(shift))
        if not _meet(own + np.tile(whole, 2), others):
            return float(whole[0]), float(whole[1])
    return x, float(np.ceil(vertical[: len(others)].max()))


def _meet(own: _Rects, others: _Rects) -> bool:
    """Whether any of the rectangles overlap; edges may touch."""
    return bool(
        (
            (own[:, None, 0] < others[:, 2]) & (own[:, None, 2] > others[:, 0])
            & (own[:, None, 1] < others[:, 3]) & (own[:, None, 3] > others[:, 1])
        ).any()
    )  # fmt: skip


def _rects(boxes: Sequence[tuple[float, float, float]]) -> _Rects:
    found = np.array(boxes, np.float64).reshape(-1, 3)
    return np.column_stack([found[:, :2], found[:, 0] + WIDTH, found[:, 1] + found[:, 2]])


def _stretches(paths: Sequence[Sequence[XY]]) -> _Rects:
    """The straight stretches of the paths, as rectangles without area."""
    lines = [(*a, *b) for path in paths for a, b in pairwise(path)]
    found = np.array(lines, np.float64).reshape(-1, 4)
    return np.concatenate(
        [np.minimum(found[:, :2], found[:, 2:]), np.maximum(found[:, :2], found[:, 2:])], axis=1
    )
