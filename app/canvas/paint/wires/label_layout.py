"""Places glyphs and text on and beside wires where there is room, and draws them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.drawing import nearest
from gradwire.app.canvas.paint.legible import legible_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.scene.arrays import Flags, Floats
    from gradwire.app.canvas.state.view_state import ViewState

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
            painter.save()
            painter.translate(x, y)
            painter.scale(unit, unit)
            box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
            glyphs.draw(painter, glyph, box, colour, ground)
            painter.restore()
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
