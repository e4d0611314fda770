"""Where a card goes on the canvas: beside what it is about, over as little as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState

_PAD = 11.0
"""Room for badges at the corners of blocks, widget px."""
GAP = 12
"""Room between a card and what it is about, widget px."""
_NEVER = 1e6
"""Cost of covering a pixel of what the card is about, or of the pointer."""
_STEPS = 5
"""Places that are tried along each side."""


def place_beside(
    view: ViewState, anchor: QRect, size: QSize, room: QRect, taken: Iterable[QRect], pointer: QRect
) -> QPoint:
    """The top left corner of a card of ``size`` beside ``anchor``, inside ``room``; widget px.

    It covers neither the visible part of the anchor nor the pointer if there is any such place, and
    as little as possible of blocks, notes and the rectangles that are ``taken``.
    """
    seen = anchor.intersected(room)
    obstacles = np.concatenate([_boxes(view), _rows(taken), _rows([seen, pointer])])
    weights = np.ones(len(obstacles))
    weights[-2:] = _NEVER
    corners = _candidates(seen, size, room)
    if pointer.intersects(room):
        corners += _candidates(seen.united(pointer), size, room)
    costs = [_covered(corner, size, obstacles, weights) for corner in corners]
    return corners[costs.index(min(costs))]


def _candidates(anchor: QRect, size: QSize, room: QRect) -> list[QPoint]:
    """Places below, above, right and left of the anchor, those around its middle first."""
    width, height = size.width(), size.height()
    middle = anchor.center()
    shares = sorted(np.linspace(-1.0, 1.0, _STEPS).tolist(), key=abs)
    found = []
    for share in shares:
        x = round(middle.x() - width / 2 + share * (width + anchor.width()) / 2)
        y = round(middle.y() - height / 2 + share * (height + anchor.height()) / 2)
        found += [QPoint(x, anchor.bottom() + GAP), QPoint(x, anchor.top() - GAP - height)]
        found += [QPoint(anchor.right() + GAP, y), QPoint(anchor.left() - GAP - width, y)]
    return [_inside(corner, size, room) for corner in found]


def _inside(corner: QPoint, size: QSize, room: QRect) -> QPoint:
    right, bottom = room.width() - size.width() - 4, room.height() - size.height() - 4
    return QPoint(min(max(corner.x(), 4), max(right, 4)), min(max(corner.y(), 4), max(bottom, 4)))


def _boxes(view: ViewState) -> Floats:
    """Left, top, right and bottom of each block and note, widget px."""
    scene = view.scene
    notes = np.array([(*n.at, n.width, n.height) for n in scene.page.notes.values()])
    rects = np.concatenate([scene.rects, notes.reshape(-1, 4)])
    low = view.camera.to_widget(rects[:, :2])
    return np.hstack([low - _PAD, low + rects[:, 2:] * view.camera.zoom + _PAD])


def _rows(rects: Iterable[QRect]) -> Floats:
    """Left, top, right and bottom of each rectangle."""
    rows = [(r.left(), r.top(), r.right() + 1, r.bottom() + 1) for r in rects]
    return np.array(rows, float).reshape(-1, 4)


def _covered(corner: QPoint, size: QSize, boxes: Floats, weights: Floats) -> float:
    """The weighted area of ``boxes`` that a card at ``corner`` covers."""
    card = np.array([*corner.toTuple(), corner.x() + size.width(), corner.y() + size.height()])
    sides = np.minimum(boxes[:, 2:], card[2:]) - np.maximum(boxes[:, :2], card[:2])
    return float((np.maximum(sides, 0.0).prod(axis=1) * weights).sum())
