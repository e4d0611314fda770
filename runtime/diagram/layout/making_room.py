"""Makes room for blocks that come onto a page: what they would cover moves on, to the right.

Wires run from left to right, so what lies to the right of a block is what comes after it.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Indices: TypeAlias = NDArray[np.intp]

GAP = 20.0
"""Distance from a block to one that makes room for it, scene units."""
_MANY = 200
"""From how many blocks on a group is treated as one block with its outline, to stay quick."""
_FEW = 8
"""Up to how many blocks all others are compared with each of them."""
_STEP = 10.0
"""Blocks move by multiples of this, so that they stay on the grid, scene units."""
_CELL = 200.0
"""Width and height of the cells that neighbours are looked up in, scene units."""
_FARTHEST = 1e9
"""From where on a cell contains all that lies farther, scene units."""


def push_aside(rects: Floats, new: Collection[int], following: Iterable[int] = ()) -> Floats:
    """How far each block moves to the right (n,), so that none covers the ``new`` ones.

    The new blocks move on together where they cover blocks to the left of their centre. Where they
    then cover blocks ``following`` them, all of these move on alike from there. Every other block
    moves only if it is covered by one that came or moved.

    Args:
        rects: left, top, width and height of all blocks (n, 4), the new ones in place.
        new: numbers of the blocks that have just come.
        following: numbers of the blocks that the outputs of the new ones lead to; only asked for
            if the new blocks cover any.
    """
    shifts = np.zeros(len(rects))
    own = np.array(sorted(new), np.intp)
    if not len(own):
        return shifts
    stays = np.ones(len(rects), bool)
    stays[own] = False
    shifts[own] = _past_what_comes_before(rects, own, np.flatnonzero(stays))
    came = _shifted(rects[own], shifts[own])
    hit = _near_any(rects, came)
    hit = hit[stays[hit]]
    if not len(hit):
        return shifts
    after = np.unique(np.fromiter(following, np.intp))
    after = after[stays[after]]
    covered = np.intersect1d(hit, after)
    after = after[rects[after, 0] >= rects[covered, 0].min()] if len(covered) else after[:0]
    if len(after):
        shifts[after] = _until_clear(came, _outlined(rects[after]))
        came = np.vstack([came, _shifted(rects[after], shifts[after])])
        stays[after] = False
    rest = np.flatnonzero(stays)
    for place, shift in _pushed(rects[rest], came):
        shifts[rest[place]] = shift
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
    return _stepped(max(ends)) if ends else 0.0


def _stepped(distance: float) -> float:
    """A distance and the gap, up to the next step of the grid."""
    return math.ceil((distance + GAP) / _STEP) * _STEP


def _near(rects: Floats, block: Floats) -> Indices:
    """Which of ``rects`` (n, 4) a block (4,) covers, or comes nearer to than a grid step."""
    low, high = block[:2] - _STEP, block[:2] + block[2:] + _STEP
    apart = (rects[:, :2] >= high).any(axis=1) | (rects[:, :2] + rects[:, 2:] <= low).any(axis=1)
    return np.flatnonzero(~apart)


def _near_any(rects: Floats, blocks: Floats) -> Indices:
    """Which of ``rects`` (n, 4) at least one of ``blocks`` (k, 4) is near."""
    if len(blocks) < _FEW:
        return np.unique(np.concatenate([_near(rects, block) for block in blocks]))
    return _Cells(rects).near_any(blocks)


def _pushed(rects: Floats, came: Floats) -> Iterator[tuple[int, float]]:
    """Which of ``rects`` (n, 4) move and how far, one after the other from left to right, where
    ``came`` (k, 4) cover them, or one that moved before.
    """
    cells = _Cells(rects)
    known = set(cells.near_any(came).tolist())
    if not known:
        return
    settled, waiting = _Settled(came), [(float(rects[i, 0]), i) for i in sorted(known)]
    heapq.heapify(waiting)
    while waiting:
        turn = heapq.heappop(waiting)
        block = rects[turn[1]].tolist()
        shift = settled.until_clear(block)
        if not shift:
            continue
        yield turn[1], shift
        block[0] += shift
        settled.add(block)
        for other in cells.near(block):
            ahead = float(rects[other, 0]), other
            if ahead > turn and other not in known:  # those before it have had their turn
                known.add(other)
                heapq.heappush(waiting, ahead)


class _Cells:
    """Rectangles (n, 4) by the cells of a grid that they touch."""

    def __init__(self, rects: Floats) -> None:
        rect, keys = _touched(rects, 0.0)
        order = np.argsort(keys, kind="stable")
        self._rects, self._keys, self._found = rects, keys[order], rect[order]

    def near(self, block: Sequence[float]) -> list[int]:
        """Which rectangles a block covers, or comes nearer to than a grid step."""
        found: set[int] = set()
        for column, first, last in _columns(block):
            begin, end = np.searchsorted(
                self._keys, ((column << 32) + first, (column << 32) + last + 1)
            )
            found.update(self._found[begin:end].tolist())
        return [number for number in found if _is_near(self._rects[number].tolist(), block)]

    def near_any(self, blocks: Floats) -> Indices:
        """As :meth:`near`, of several blocks (k, 4), in order."""
        block, keys = _touched(blocks, _STEP)
        begin = np.searchsorted(self._keys, keys)
        pair, number = _repeated(np.searchsorted(self._keys, keys, side="right") - begin)
        rect, block = self._found[begin[pair] + number], block[pair]
        low, high = blocks[:, :2] - _STEP, blocks[:, :2] + blocks[:, 2:] + _STEP
        corner, end = self._rects[rect, :2], self._rects[rect, :2] + self._rects[rect, 2:]
        return np.unique(rect[((corner < high[block]) & (end > low[block])).all(axis=1)])


def _touched(rects: Floats, margin: float) -> tuple[Indices, Indices]:
    """The cells that ``rects`` (n, 4) and a margin touch: the rectangle and the key of each."""
    corners = np.stack([rects[:, :2] - margin, rects[:, :2] + rects[:, 2:] + margin])
    clipped = np.clip(corners, -_FARTHEST, _FARTHEST)
    first, last = np.floor(clipped / _CELL).astype(np.int64)
    columns, rows = (last - first + 1).T
    rect, number = _repeated(columns * rows)
    column = first[rect, 0] + number // rows[rect]
    return rect, (column << 32) + first[rect, 1] + number % rows[rect]


class _Settled:
    """Blocks (k, 4) that have come or moved, to which others are added."""

    def __init__(self, came: Floats) -> None:
        self._cells: dict[tuple[int, int], list[list[float]]] = {}
        for block in came.tolist():
            self.add(block)

    def add(self, block: list[float]) -> None:
        """Add one more."""
        for column, first, last in _columns(block):
            for row in range(first, last + 1):
                self._cells.setdefault((column, row), []).append(block)

    def until_clear(self, block: list[float]) -> float:
        """How far a block goes to the right until it covers none of these."""
        far, (left, top, width, height) = 0.0, block
        while ends := list(self._ends_near((left + far, top, width, height))):
            far += _stepped(max(ends) - (left + far))
        return far

    def _ends_near(self, block: Sequence[float]) -> Iterator[float]:
        """The right edges of those that a block comes near to."""
        for column, first, last in _columns(block):
            for row in range(first, last + 1):
                for left, top, width, height in self._cells.get((column, row), ()):
                    if _is_near((left, top, width, height), block):
                        yield left + width


def _columns(block: Sequence[float]) -> Iterator[tuple[int, int, int]]:
    """The columns of cells that a block touches or comes near to, each with its first and last
    row.
    """
    left, top, width, height = block
    first, last = _cell(top - _STEP), _cell(top + height + _STEP)
    for column in range(_cell(left - _STEP), _cell(left + width + _STEP) + 1):
        yield column, first, last


def _cell(at: float) -> int:
    return math.floor(min(max(at, -_FARTHEST), _FARTHEST) / _CELL)


def _is_near(rect: Sequence[float], block: Sequence[float]) -> bool:
    """As :func:`_near`, of one rectangle."""
    (x, y, w, h), (left, top, width, height) = rect, block
    return (
        x < left + width + _STEP and y < top + height + _STEP
        and x + w > left - _STEP and y + h > top - _STEP
    )  # fmt: skip


def _repeated(counts: Indices) -> tuple[Indices, Indices]:
    """Each index as often as ``counts`` says, and the number of the repetition."""
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts, counts)


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
