"""Places the labels of the wires in view where there is room, and draws them.

They are kept from frame to frame while they stay the same.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.drawing import legible_scale, nearest, placed
from gradwire.app.canvas.paint.wires.lane_labels import (
    LaneMemo,
    NumberMemo,
    place_lane_labels,
    place_wire_numbers,
)
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.scene.arrays import Flags, Floats, Indices
    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import Diagram

_CELL = 128.0
"""Width and height of a cell of the grid in which labels are looked up, widget px."""
_REACH = 100.0
"""How far from its centre a label may be seen, widget px."""


class WireLabel(NamedTuple):
    """A glyph or text with its colour, its centre in widget px, widget px per px of its style, and
    the colour of its ground, empty for none.
    """

    glyph: str
    colour: str
    x: float
    y: float
    unit: float
    ground: str = ""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, widget px."""
        return glyphs.width(self.glyph) * self.unit, glyphs.SIZE * self.unit

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom, widget px."""
        width, height = self.size
        return (
            self.x - width / 2.0, self.y - height / 2.0, self.x + width / 2.0, self.y + height / 2.0
        )  # fmt: skip


class LabelLayout:
    """Places glyphs and text at widget points, and knows what is there already."""

    def __init__(self, view: ViewState, visible: Floats) -> None:
        self.text_scale = legible_scale(view.camera.unit)
        self._units = round(self.text_scale, 3), round(view.camera.unit, 3)
        """Widget px per px of style of texts, and of glyphs."""
        self._labels: list[WireLabel] = []
        """What was placed, in the order in which it is painted."""
        self._view = view
        self._area = view.camera.rows_to_widget(visible[None])[0]
        """Left, top, right and bottom of what is painted, widget px."""
        self._given = 0
        """How many of these were taken to be painted."""
        self._visible = visible
        self._taken: _Taken | None = None
        """What the blocks and labels take up, once anybody asks."""

    def take(self) -> tuple[WireLabel, ...]:
        """What was placed since it was last taken; its room stays taken."""
        placed = tuple(self._labels[self._given :])
        self._given = len(self._labels)
        return placed

    @property
    def count(self) -> int:
        """How many labels were placed."""
        return len(self._labels)

    def placed_after(self, count: int) -> tuple[WireLabel, ...]:
        """What was placed since there were ``count`` labels."""
        return tuple(self._labels[count:])

    def add(self, labels: Iterable[WireLabel]) -> None:
        """Place labels where they stood before."""
        for label in labels:
            self._labels.append(label)
            if self._taken is not None:
                self._taken.add(*label.box)

    def is_near(self, centres: Floats) -> Flags:
        """Which of ``centres`` (…, 2) are so near what is painted that a label may be seen."""
        low, high = self._area[:2] - _REACH, self._area[2:] + _REACH
        return np.asarray(((centres >= low) & (centres <= high)).all(axis=-1))

    def is_free(self, x: float, y: float, width: float, height: float) -> bool:
        """Whether text of this size and with this centre would lie on nothing else."""
        if self._taken is None:
            self._taken = self._all_taken()
        half, tall = width / 2.0, height / 2.0
        return self._taken.is_free(x - half, y - tall, x + half, y + tall)

    def _all_taken(self) -> _Taken:
        view, taken = self._view, _Taken()
        rects = view.scene.rects[view.scene.blocks_in(self._visible)]
        corners = np.concatenate([rects[:, :2], rects[:, :2] + rects[:, 2:]], axis=1)
        for box in view.camera.rows_to_widget(corners).tolist():
            taken.add(*box)
        for label in self._labels:
            taken.add(*label.box)
        return taken

    def put(
        self, glyph: str, colour: str, x: float, y: float, *, grounded: bool = False,
        ground: str = "",
    ) -> None:  # fmt: skip
        """Place a glyph or text, some on a ground that interrupts the lane.

        ``ground`` is its colour where that is not the canvas's.
        """
        unit = self._units[glyph in glyphs.SHAPES]
        if not ground and (grounded or glyph in glyphs.ON_LANE):
            ground = self._view.theme.canvas
        self.add([WireLabel(glyph, colour, x, y, unit, ground)])


def draw_labels(
    painter: QPainter, labels: Iterable[WireLabel], ratio: float, *, vector: bool
) -> None:
    """Draw labels, as vectors or as pictures at whole device px; ``ratio`` is device px per px."""
    for label in labels:
        glyph, colour, x, y, unit, ground = label
        if vector:
            width = glyphs.width(glyph)
            with placed(painter, x, y, unit):
                box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
                glyphs.draw(painter, glyph, box, colour, ground)
        else:
            picture = glyphs.picture(glyph, colour, ground, unit, ratio)
            left = nearest(x * ratio - picture.width() / 2.0) / ratio
            top = nearest(y * ratio - picture.height() / 2.0) / ratio
            painter.drawPixmap(QPointF(left, top), picture)


class _Taken:
    """Rectangles that are taken, by the cells of a grid that they touch."""

    def __init__(self) -> None:
        self._cells: defaultdict[tuple[int, int], list[tuple[float, float, float, float]]] = (
            defaultdict(list)
        )

    def add(self, left: float, top: float, right: float, bottom: float) -> None:
        for cell in _cells(left, top, right, bottom):
            self._cells[cell].append((left, top, right, bottom))

    def is_free(self, left: float, top: float, right: float, bottom: float) -> bool:
        for cell in _cells(left, top, right, bottom):
            for x0, y0, x1, y1 in self._cells.get(cell, ()):
                if x0 < right and left < x1 and y0 < bottom and top < y1:
                    return False
        return True


def _cells(left: float, top: float, right: float, bottom: float) -> Iterator[tuple[int, int]]:
    rows = range(math.floor(top / _CELL), math.floor(bottom / _CELL) + 1)
    for column in range(math.floor(left / _CELL), math.floor(right / _CELL) + 1):
        for row in rows:
            yield column, row


@by_identity
class Labels(NamedTuple):
    """Labels in the order in which they are painted, and whether they are all there."""

    placed: tuple[WireLabel, ...]
    boxes: Floats
    """Left, top, right and bottom (n, 4) of each, widget px."""
    are_complete: bool


_NONE = Labels((), np.zeros((0, 4)), True)


@dataclass(eq=False)
class _Memo:
    """What was placed for a view in which nothing but the result and a few wires have changed."""

    labels: Labels = _NONE
    lanes: dict[int, LaneMemo] = field(default_factory=dict)
    numbers: NumberMemo = field(default_factory=NumberMemo)

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved."""
        for lane in self.lanes.values():
            lane.forget(wires)
        self.numbers.forget(wires)


class WireLabels:
    """The labels of all wires in view, which don't depend on the part of it that is painted.

    A label stands where there is room beside the others, so that those of a part alone might
    stand elsewhere.
    """

    def __init__(self) -> None:
        self._place: object = None
        """All but the result and the scene's version."""
        self._version = 0
        self._annotations: Annotations | None = None
        self._given: Diagram | None = None
        """The diagram, if values are shown: they are newer than the result."""
        self._memo = _Memo()

    def of(self, view: ViewState, size: tuple[float, float], budget: float) -> Labels:
        """The labels in a widget of this size; those that take longer than ``budget`` seconds to
        find are left out. They are the same object while none has changed.
        """
        place = (
            size, view.scene, view.scene.wire_keys, view.camera, view.theme, view.numbers,
            view.selection.blocks, view.selection.wire, view.hidden_wire,
        )  # fmt: skip
        moved = view.scene.moved.since(self._version) if place == self._place else None
        given = view.scene.diagram if view.numbers.value else None
        known = view.annotations is self._annotations and given is self._given
        if moved is None:
            self._memo = _Memo()
        elif view.scene.version != self._version:
            self._memo.forget(moved)
        elif known and self._memo.labels.are_complete:
            return self._memo.labels
        self._place, self._version = place, view.scene.version
        self._annotations, self._given = view.annotations, given
        self._memo.labels = _labels(view, view.camera.area(0.0, 0.0, *size), budget, self._memo)
        return self._memo.labels


def visible_wires(view: ViewState, area: Floats) -> Indices:
    """The wires in ``area`` of the scene, but for a hidden one."""
    wires = view.scene.wires_in(area)
    hidden = view.scene.wire_index.get(view.hidden_wire or "")
    return wires if hidden is None else wires[wires != hidden]


def place_labels(
    layout: LabelLayout, view: ViewState, wires: Indices, budget: float, memo: _Memo | None = None
) -> Labels:
    """Place the labels of lanes, then the numbers of wires where there is still room.

    ``memo`` has what was placed before, if only the result has changed.
    """
    until, memo = time.perf_counter() + budget, _Memo() if memo is None else memo
    complete = place_lane_labels(layout, view, wires, until=until, memos=memo.lanes)
    place_wire_numbers(layout, view, wires, memo.numbers)
    placed = layout.take()
    if placed == memo.labels.placed and complete == memo.labels.are_complete:
        return memo.labels
    boxes = np.array([label.box for label in placed]).reshape(-1, 4)
    return Labels(placed, boxes, complete)


def _labels(view: ViewState, area: Floats, budget: float, memo: _Memo) -> Labels:
    if view.camera.zoom < PLAIN:
        return _NONE
    return place_labels(LabelLayout(view, area), view, visible_wires(view, area), budget, memo)
