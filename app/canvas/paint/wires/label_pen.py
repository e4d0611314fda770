"""Paints glyphs and text on and beside wires, and finds room for them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.canvas.paint import glyphs
from app.canvas.paint.legible import legible_scale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPainter

    from app.canvas.scene.arrays import Flags, Floats
    from app.canvas.state.view_state import ViewState

_CELL = 128.0
"""Width and height of a cell of the grid in which labels are looked up, widget px."""
_REACH = 100.0
"""How far from its centre a label may be seen, widget px."""


class LabelPen:
    """Paints glyphs and text at widget points, and knows what is there already."""

    def __init__(
        self, painter: QPainter, view: ViewState, visible: Floats, ratio: float, *, vector: bool
    ) -> None:
        camera, scene = view.camera, view.scene
        self.text_scale = legible_scale(camera.unit)
        self._painter = painter
        self._view = view
        self._ratio = ratio
        self._vector = vector
        self._area = camera.rows_to_widget(visible[None])[0]
        """Left, top, right and bottom of what is painted, widget px."""
        self._taken = _Taken()
        self._rects: Floats | None = scene.rects[scene.blocks_in(visible)]
        """Left, top, width and height of the blocks (n, 4), until these are taken."""

    def is_near(self, centres: Floats) -> Flags:
        """Which of ``centres`` (…, 2) are so near what is painted that a label may be seen."""
        low, high = self._area[:2] - _REACH, self._area[2:] + _REACH
        return np.asarray(((centres >= low) & (centres <= high)).all(axis=-1))

    def is_free(self, x: float, y: float, width: float, height: float) -> bool:
        """Whether text of this size and with this centre would lie on nothing else."""
        if self._rects is not None:
            rects, self._rects = self._rects, None
            corners = np.concatenate([rects[:, :2], rects[:, :2] + rects[:, 2:]], axis=1)
            for box in self._view.camera.rows_to_widget(corners).tolist():
                self._taken.add(*box)
        half, tall = width / 2.0, height / 2.0
        return self._taken.is_free(x - half, y - tall, x + half, y + tall)

    def paint(
        self, glyph: str, colour: str, x: float, y: float, *, grounded: bool = False,
        ground: str = "",
    ) -> None:  # fmt: skip
        """Paint a glyph or text, some on a ground that interrupts the lane.

        ``ground`` is its colour where that is not the canvas's.
        """
        painter, ratio, unit = self._painter, self._ratio, self._view.camera.unit
        unit = round(unit if glyph in glyphs.SHAPES else self.text_scale, 3)
        if not ground and (grounded or glyph in glyphs.ON_LANE):
            ground = self._view.theme.canvas
        width = glyphs.width(glyph)
        half, tall = width * unit / 2.0, glyphs.SIZE * unit / 2.0
        self._taken.add(x - half, y - tall, x + half, y + tall)
        if self._vector:
            painter.save()
            painter.translate(x, y)
            painter.scale(unit, unit)
            box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
            glyphs.draw(painter, glyph, box, colour, ground)
            painter.restore()
            return
        picture = glyphs.picture(glyph, colour, ground, unit, ratio)
        left = round(x * ratio - picture.width() / 2.0) / ratio
        top = round(y * ratio - picture.height() / 2.0) / ratio
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
