"""Finds room for a group of blocks, or for a note, among others."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.diagram.layout.measures import ROW_GAP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradwire.runtime.diagram.layout.graph import LayoutNode
    from gradwire.runtime.diagram.model import Note

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom, in px."""
_Rects: TypeAlias = NDArray[np.float64]
XY: TypeAlias = tuple[float, float]

_GAP = ROW_GAP / 2.0
"""Least distance from the other blocks."""
_GROWN = np.array([-_GAP, -_GAP, _GAP, _GAP])
_SPOTS = 120
"""Shifts along each axis that are looked at for a note."""
_TRIED = 400
"""Shifts that are tried before the group goes below everything else."""


def free_shift(boxes: Sequence[Box], obstacles: Sequence[Box], wanted: XY) -> XY:
    """The shift nearest to ``wanted``, in whole px, at which no box lies on an obstacle.

    Wires count as boxes without area; see :func:`stretches`.
    """
    x, y = wanted
    own = np.array(boxes, np.float64).reshape(-1, 4)
    others = np.array(obstacles, np.float64).reshape(-1, 4) + _GROWN
    if not (len(own) and len(others)):
        return x, y
    left, top = own[:, :2].min(axis=0)
    right, bottom = own[:, 2:].max(axis=0)
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
        if not _meetings(own + np.tile(whole, 2), others).any():
            return float(whole[0]), float(whole[1])
    return x, float(np.ceil(vertical[: len(others)].max()))


def free_spot(boxes: Sequence[Box], obstacles: Sequence[Box], wanted: XY) -> XY:
    """The shift of a few boxes nearest to ``wanted``, in whole px, where they lie on no obstacle.

    Unlike :func:`free_shift` it looks in all directions.
    """
    own = np.array(boxes, np.float64)
    others = np.array(obstacles, np.float64).reshape(-1, 4) + _GROWN
    left, top, right, bottom = (side[:, None] for side in own.T)
    x, y = wanted
    sideways = _nearest(np.concatenate([others[:, 2] - left, others[:, 0] - right], None), x)
    vertical = _nearest(np.concatenate([others[:, 3] - top, others[:, 1] - bottom], None), y)
    beside = _overlaps(own[:, ::2], others[:, ::2], sideways)
    level = _overlaps(own[:, 1::2], others[:, 1::2], vertical)
    away = np.abs(vertical - y)[:, None] + np.abs(sideways - x)
    for option in away.ravel().argsort(kind="stable").tolist():
        row, column = divmod(option, len(sideways))
        if not level[row] & beside[column]:
            return float(sideways[column]), float(vertical[row])
    return x, float(np.ceil((others[:, 3] - top.min()).max(initial=y)))


def _nearest(shifts: NDArray[np.float64], wanted: float) -> NDArray[np.float64]:
    """The wanted shift and those nearest to it (k,), as whole px away from it."""
    whole = np.unique(np.where(shifts < wanted, np.floor(shifts), np.ceil(shifts)))
    return np.append(wanted, whole[np.abs(whole - wanted).argsort(kind="stable")[:_SPOTS]])


def _overlaps(
    own: NDArray[np.float64], others: NDArray[np.float64], shifts: NDArray[np.float64]
) -> list[int]:
    """Which spans (k, 2) overlap which others (m, 2) after each shift (s,): a bit for each pair.

    Where the bits of a shift sideways and of one up or down have none in common, nothing overlaps.
    """
    low, high = (side + shifts[:, None] for side in own.T)
    found = (low[..., None] < others[:, 1]) & (high[..., None] > others[:, 0])
    rows = np.packbits(found.reshape(len(shifts), -1), axis=1)
    return [int.from_bytes(row.tobytes(), "big") for row in rows]


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box around some boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def node_box(x: float, y: float, node: LayoutNode) -> Box:
    """The box of a node with its corner at (x, y)."""
    return x, y, x + node.width, y + node.height


def note_box(note: Note) -> Box:
    """The box of a note or frame."""
    return *note.at, note.at.x + note.width, note.at.y + note.height


def distance(one: Box, other: Box) -> float:
    """The distance of two boxes in px, along both axes together; 0 if they touch."""
    return max(one[0] - other[2], other[0] - one[2], 0.0) + max(
        one[1] - other[3], other[1] - one[3], 0.0
    )


def notes_of_others(notes: Iterable[Note], own: Sequence[Box], others: Sequence[Box]) -> list[Box]:
    """The boxes of the notes that belong to ``others`` and not to ``own`` blocks.

    A frame belongs to all blocks inside it, another note to the nearest block.
    """
    found = []
    for note in notes:
        box = note_box(note)
        if note.frame:
            is_own = any(encloses(box, block) for block in own)
        else:
            nearest = min((distance(box, block) for block in others), default=0.0)
            is_own = any(distance(box, block) <= nearest for block in own)
        if not is_own and all(map(math.isfinite, box)):
            found.append(box)
    return found


def encloses(box: Box, inner: Box) -> bool:
    """Whether ``inner`` is entirely inside a box; edges may touch."""
    return box[0] <= inner[0] and box[1] <= inner[1] and inner[2] <= box[2] and inner[3] <= box[3]


def overlap(one: Box, other: Box) -> bool:
    """Whether two boxes have some area in common."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def stretches(path: Sequence[XY]) -> list[Box]:
    """The straight stretches of a square path, as boxes without area."""
    return [
        (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
        for a, b in pairwise(path)
    ]


def _meetings(own: _Rects, others: _Rects) -> NDArray[np.bool_]:
    """Which of the rectangles (k, 4) and (m, 4) overlap, as (k, m); edges may touch."""
    return np.asarray(
        (own[:, None, 0] < others[:, 2]) & (own[:, None, 2] > others[:, 0])
        & (own[:, None, 1] < others[:, 3]) & (own[:, None, 3] > others[:, 1])
    )  # fmt: skip
