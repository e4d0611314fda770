"""Paints the labels of lanes: glyphs of states, marks of cuts, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.canvas.paint import glyphs
from app.canvas.paint.legible import legible_scale
from app.canvas.scene.camera import NUMBERS
from app.canvas.scene.lane_paths import lane_paths
from app.canvas.state.codes import CODES, STATE_OF
from app.services.palette import shades
from runtime.flow.words.states import Form, State

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from app.canvas.scene.arrays import Flags, Floats, Indices
    from app.canvas.scene.polylines import Polylines
    from app.canvas.state.view_state import ViewState

ORIGIN = "▨"
"""Glyph where the first NaN or infinity of a route appears."""
_MIN_ZOOM = 0.45
"""Zoom from which lanes have labels."""
_FIRST, _NEXT = 18.0, 13.0
"""From the target to the first lane's number, and between numbers of lanes, px at 100 %."""
_APART = 34.0
"""Distance between the labels of neighbouring lanes, px at 100 %."""
_LABELLED = frozenset(
    code for state, code in CODES.items() if state.row.glyph or state.row.cut or state.row.label
)
_DRAWN = frozenset(code for state, code in CODES.items() if state.row.form is not Form.NONE)


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
        rects = scene.rects[scene.blocks_in(visible)]
        corners = np.concatenate([rects[:, :2], rects[:, :2] + rects[:, 2:]], axis=1)
        self._taken = camera.rows_to_widget(corners)
        """Left, top, right and bottom of blocks and labels (n, 4), widget px."""

    def free(self, centres: Floats, size: Floats) -> Flags:
        """At which of ``centres`` (k, 2) text of a size (2,) would lie on nothing else."""
        low, high = centres - size / 2.0, centres + size / 2.0
        taken = self._taken[:, None]
        apart = (taken[..., :2] >= high) | (taken[..., 2:] <= low)
        return np.asarray(apart.any(axis=2).all(axis=0))

    def paint(
        self, glyph: str, colour: str, centre: Floats, *, grounded: bool = False, ground: str = ""
    ) -> None:
        """Paint a glyph or text, some on a ground that interrupts the lane.

        ``ground`` is its colour where that is not the canvas's.
        """
        painter, ratio, unit = self._painter, self._ratio, self._view.camera.unit
        unit = round(unit if glyph in glyphs.SHAPES else self.text_scale, 3)
        if not ground and (grounded or glyph in glyphs.ON_LANE):
            ground = self._view.theme.canvas
        half = np.array([glyphs.width(glyph), glyphs.SIZE]) * unit / 2.0
        self._taken = np.vstack([self._taken, [*(centre - half), *(centre + half)]])
        x, y = centre.tolist()
        if self._vector:
            width = glyphs.width(glyph)
            painter.save()
            painter.translate(x, y)
            painter.scale(unit, unit)
            box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
            glyphs.draw(painter, glyph, box, colour, ground)
            painter.restore()
            return
        picture = glyphs.picture(glyph, colour, ground, unit, ratio)
        size = picture.deviceIndependentSize()
        left = round((x - size.width() / 2.0) * ratio) / ratio
        top = round((y - size.height() / 2.0) * ratio) / ratio
        painter.drawPixmap(QPointF(left, top), picture)


def paint_lane_labels(pen: LabelPen, view: ViewState, wires: Indices, *, until: float) -> bool:
    """Paint glyphs on the lanes, text beside them, and numbers on lanes side by side.

    Once the clock (``perf_counter``) is past ``until``, cuts that are not known yet are left out;
    returns whether the painting is complete.
    """
    if view.camera.zoom < _MIN_ZOOM:
        return True
    complete = True
    for number in range(len(view.annotations.lanes)):
        labels = _LaneLabels(pen, view, number, until)
        labels.paint(wires)
        complete &= labels.complete
    return complete


class _LaneLabels:
    """Paints the labels on the lanes of one loss, numbered from 0."""

    def __init__(self, pen: LabelPen, view: ViewState, number: int, until: float) -> None:
        self.pen = pen
        self.view = view
        self.number = number
        self.until = until
        self.lanes = view.annotations.lanes[number]
        self.several = len(view.annotations.lanes) > 1
        self.complete = True
        self.near = view.camera.zoom >= NUMBERS
        """Whether there is room for text beside lanes."""

    def paint(self, wires: Indices) -> None:
        scene, camera = self.view.scene, self.view.camera
        labelled = [wire for wire in wires.tolist() if self._has_label(wire)]
        if not labelled:
            return
        for alike, courses in scene.courses(np.array(labelled)):
            shown = courses.to_widget(camera)
            positions = self.lanes.positions[alike]
            for position in np.unique(positions).tolist():
                at = positions == position
                paths = lane_paths(shown.only(at), camera.unit, position)
                self._paint_on(alike[at], paths)

    def _paint_on(self, wires: Indices, paths: Polylines) -> None:
        """Paint the labels of ``wires`` (m,), whose lanes are ``paths``."""
        unit, order = self.pen.text_scale, np.arange(len(wires))
        centre = paths.lengths / 2.0 - self._shift() * unit
        middle, along = paths.at(order, centre), paths.direction(order, centre)
        end = paths.at(order, paths.lengths)
        numbered = paths.at(order, paths.lengths - (_FIRST + _NEXT * self.number) * unit)
        for i, wire in enumerate(wires.tolist()):
            state = STATE_OF.get(int(self.lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
            self._paint_glyphs(wire, state, middle[i], end[i])
            text = self.lanes.label(wire)
            if text and self.near:
                self._paint_text(text, state, middle[i], along[i])
            if self._is_numbered(wire):
                self._paint_number(state, numbered[i])

    def _has_label(self, wire: int) -> bool:
        has_leaves = self.lanes.leaves(wire) is not None
        return self.lanes.drawn[wire] in _LABELLED or has_leaves or self._is_numbered(wire)

    def _is_numbered(self, wire: int) -> bool:
        drawn, shared = self.lanes.drawn[wire], self.lanes.shared[wire]
        return self.several and not shared and drawn in _DRAWN

    def _shift(self) -> float:
        """How far before the middle the labels of this lane stand, clear of those beside it."""
        count = len(self.view.annotations.lanes)
        return _APART * (self.number - (count - 1) / 2.0)

    def _paint_glyphs(self, wire: int, state: State, middle: Floats, end: Floats) -> None:
        row = state.row
        if row.cut:
            cut = self.lanes.is_cut(wire, self.until)
            self.complete &= cut is not None
            if cut:
                self._paint(row.cut, state, end)
        if row.glyph:
            self._paint(row.glyph, state, middle)
        if self.lanes.is_origin(wire):
            self._paint(ORIGIN, state, end)

    def _paint_text(self, text: str, state: State, middle: Floats, along: Floats) -> None:
        """Paint text beside its lane; where there are several lanes, on it."""
        if self.several:
            self._paint(text, state, middle, grounded=True)
            return
        unit = self.pen.text_scale
        box = np.array([glyphs.width(text), glyphs.SIZE]) * unit
        side = np.array([-along[1], along[0]])
        distance = 0.5 * np.abs(side) @ box + 3.0 * unit
        self._paint(text, state, middle + distance * side)

    def _paint_number(self, state: State, at: Floats) -> None:
        """Paint the number of the loss, on the colour that the user gave it."""
        theme, text = self.view.theme, str(self.number + 1)
        chosen = shades(theme, self.lanes.colour)
        if chosen is None:
            self._paint(text, state, at, grounded=True)
        else:
            self.pen.paint(text, theme.ink, at, ground=chosen.ground.name())

    def _paint(self, glyph: str, state: State, at: Floats, *, grounded: bool = False) -> None:
        self.pen.paint(glyph, self.view.theme.lane(state).name(), at, grounded=grounded)
