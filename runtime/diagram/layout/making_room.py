"""Makes room for blocks that come onto a page: what they would cover moves on, to the right.

Wires run from left to right, so what lies to the right of a block is what comes after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.intp]

GAP = 20.0
"""Distance from a block to one that makes room for it, scene units."""
_MANY = 200
"""From how many blocks on a group is treated as one block with its outline, to stay quick."""
_STEP = 10.0
"""Blocks move by multiples of this, so that they stay on the grid, scene units."""


def push_aside(rects: Floats, new: Collection[int], following: Collection[int] = ()) -> Floats:
    """How far each block moves to the right (n,), so that none covers the ``new`` ones.

    The new blocks move on together where they cover blocks to the left of their centre. Where they
    then cover blocks ``following`` them, all of these move on alike from there. Every other block
    moves only if it is covered by one that came or moved.

    Args:
        rects: left, top, width and height of all blocks (n, 4), the new ones in place.
        new: numbers of the blocks that have just come.
        following: numbers of the blocks that the outputs of the new ones lead to.
    """
    shifts = np.zeros(len(rects))
    own = np.array(sorted(new), np.intp)
    if not len(own):
        return shifts
    after = np.setdiff1d(np.array(sorted(following), np.intp), own)
    others = np.setdiff1d(np.arange(len(rects)), own)
    shifts[own] = _past_what_comes_before(rects, own, others)
    came = _shifted(rects[own], shifts[own])
    covered = [block for block in after.tolist() if len(_near(came, rects[block]))]
    after = after[rects[after, 0] >= rects[covered, 0].min()] if covered else after[:0]
    if len(after):
        shifts[after] = _until_clear(came, _outlined(rects[after]))
        came = np.vstack([came, _shifted(rects[after], shifts[after])])
    rest = np.setdiff1d(others, after)
    if not any(len(_near(rects[rest], block)) for block in _outlined(came)):
        return shifts
    for block in rest[np.argsort(rects[rest, 0], kind="stable")].tolist():
        shifts[block] = _until_clear(came, rects[[block]])
        if shifts[block]:
            came = np.vstack([came, _shifted(rects[[block]], shifts[block])])
    return shifts


def nearest_vacancy(rects: Floats, group: Floats) -> Floats:
    """The smallest move (2,), straight down, right, up or left, after which no block of ``group``
    (k, 4) covers one of ``rects`` (n, 4).
    """
    moves = []
    for axis, sign in ((1, 1.0), (0, 1.0), (1, -1.0), (0, -1.0)):
        move = np.zeros(2)
        own = _turned(_outlined(group), axis, sign)
        move[axis] = sign * _until_clear(_turned(rects, axis, sign), own)
        moves.append(move)
    return min(moves, key=lambda move: float(np.abs(move).sum()))


def _past_what_comes_before(rects: Floats, own: Indices, others: Indices) -> float:
    """How far the new blocks move on, past what they cover to the left of their common centre."""
    group = rects[own]
    centre = (group[:, 0].min() + (group[:, 0] + group[:, 2]).max()) / 2.0
    before = others[rects[others, 0] + rects[others, 2] / 2.0 < centre]
    return _until_clear(rects[before], _outlined(group))


def _until_clear(settled: Floats, moving: Floats) -> float:
    """How far ``moving`` (k, 4) go to the right together until they cover none of ``settled``."""
    far = 0.0
    while step := _clearance(settled, _shifted(moving, far)):
        far += step
    return far


def _clearance(settled: Floats, moving: Floats) -> float:
    """How far ``moving`` (k, 4) must go to the right together to clear what they cover now."""
    ends = [
        float((settled[hit, 0] + settled[hit, 2]).max() - block[0])
        for block in moving
        if len(hit := _near(settled, block))
    ]
    return float(np.ceil((max(ends) + GAP) / _STEP) * _STEP) if ends else 0.0


def _near(rects: Floats, block: Floats) -> Indices:
    """Which of ``rects`` (n, 4) a block (4,) covers, or comes nearer to than a grid step."""
    low, high = block[:2] - _STEP, block[:2] + block[2:] + _STEP
    apart = (rects[:, :2] >= high).any(axis=1) | (rects[:, :2] + rects[:, 2:] <= low).any(axis=1)
    return np.flatnonzero(~apart)


def _shifted(rects: Floats, shifts: Floats | float) -> Floats:
    """Rectangles (n, 4), moved to the right by their shifts (n,)."""
    moved = rects.copy()
    moved[:, 0] += shifts
    return moved


def _outlined(group: Floats) -> Floats:
    """The group (k, 4), or if it is large the one rectangle around it (1, 4)."""
    if len(group) < _MANY:
        return group
    low, high = group[:, :2].min(axis=0), (group[:, :2] + group[:, 2:]).max(axis=0)
    return np.concatenate([low, high - low])[None]


def _turned(rects: Floats, axis: int, sign: float) -> Floats:
    """Rectangles (n, 4) in a frame where a direction points to the right."""
    turned = rects[:, [1, 0, 3, 2]] if axis else rects.copy()
    if sign < 0.0:
        turned[:, 0] = -turned[:, 0] - turned[:, 2]
    return turned
