"""Paints what stands on and beside the lanes: glyphs of states, marks of cuts, numbers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.canvas.paint import glyphs, lanes
from app.canvas.state.codes import CODES, STATE_OF
from runtime.flow.words.states import Form, State

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from app.canvas.scene.geometry import Floats, Indices
    from app.canvas.scene.polylines import Tracks
    from app.canvas.state.view_state import View

ORIGIN = "▨"
"""Stands where the first NaN or infinity of a route is made."""
_SIGNS_ABOVE = 0.45
"""Zoom from which lanes carry their signs."""
_FIRST, _NEXT = 18.0, 13.0
"""From the reader to the number of the first lane, and from one number to the next, px at 100 %."""
_APART = 34.0
"""From the words on one lane to those on the next, px at 100 %."""


def paint_signs(painter: QPainter, view: View, wires: Indices, *, vector: bool) -> None:
    """Glyphs on the lanes, words beside them; on lanes side by side also the loss's number."""
    if view.camera.zoom < _SIGNS_ABOVE:
        return
    until = time.perf_counter() + view.patience
    for number in range(len(view.facts.strands)):
        _Signs(painter, view, number, vector).paint(wires, until)


_SIGNED = frozenset(
    code for state, code in CODES.items() if state.row.glyph or state.row.cut or state.row.label
)
_DRAWN = frozenset(code for state, code in CODES.items() if state.row.form is not Form.NONE)


class _Signs:
    """Paints what stands on the lanes of one strand, the one of that ``number`` from 0 on."""

    def __init__(self, painter: QPainter, view: View, number: int, vector: bool) -> None:
        self.painter = painter
        self.view = view
        self.number = number
        self.vector = vector
        self.strand = view.facts.strands[number]
        self.several = len(view.facts.strands) > 1

    def paint(self, wires: Indices, until: float) -> None:
        chosen = self.view.scene.wire_index.get(self.view.wire or "")
        signed = [wire for wire in wires.tolist() if wire == chosen or self._has_signs(wire)]
        if not signed:
            return
        for alike, courses in self.view.scene.courses(np.array(signed)):
            ends = self.view.camera.ends(courses)
            places = self.strand.places[alike]
            for place in np.unique(places).tolist():
                at = places == place
                tracks = lanes.lane_points(ends[at], self.view.camera.unit, place)
                self._paint_on(alike[at], tracks, chosen, until)

    def _paint_on(self, wires: Indices, tracks: Tracks, chosen: int | None, until: float) -> None:
        """Paint the signs of ``wires`` (m,), whose lanes are ``tracks``."""
        unit, order = self.view.camera.unit, np.arange(len(wires))
        centre = tracks.lengths / 2.0 - self._aside() * unit
        middle, along = tracks.at(order, centre), tracks.direction(order, centre)
        end = tracks.at(order, tracks.lengths)
        numbered = tracks.at(order, tracks.lengths - (_FIRST + _NEXT * self.number) * unit)
        for i, wire in enumerate(wires.tolist()):
            state = STATE_OF.get(int(self.strand.shown[wire]), State.NOTHING_TO_TRAIN)
            self._paint_state(wire, state, middle[i], end[i], until)
            in_full = wire == chosen and not self.several  # the panel tells each size
            if words := self.strand.mark(wire, in_full=in_full):
                self._paint_words(words, state, middle[i], along[i])
            if self._is_numbered(wire):
                self._paint(str(self.number + 1), state, numbered[i], grounded=True)

    def _has_signs(self, wire: int) -> bool:
        code = self.strand.shown[wire]
        has_leaves = self.strand.leaves(wire) is not None
        return code in _SIGNED or has_leaves or self._is_numbered(wire)

    def _is_numbered(self, wire: int) -> bool:
        shown, shared = self.strand.shown[wire], self.strand.shared[wire]
        return self.several and not shared and shown in _DRAWN

    def _aside(self) -> float:
        """How far before the middle the signs of this lane stand, clear of those beside it."""
        count = len(self.view.facts.strands)
        return _APART * (self.number - (count - 1) / 2.0)

    def _paint_state(
        self, wire: int, state: State, middle: Floats, end: Floats, until: float
    ) -> None:
        row = state.row
        if row.cut:
            cut = self.strand.cut(wire, until)
            self.view.behind |= cut is None
            if cut:
                self._paint(row.cut, state, end)
        if row.glyph:
            self._paint(row.glyph, state, middle)
        if self.strand.is_origin(wire):
            self._paint(ORIGIN, state, end)

    def _paint_words(self, words: str, state: State, middle: Floats, along: Floats) -> None:
        if self.several:
            self._paint(words, state, middle, grounded=True)
            return
        unit = self.view.camera.unit
        box = np.array([glyphs.width(words), glyphs.SIZE]) * unit
        side = np.array([-along[1], along[0]])
        away = 0.5 * np.abs(side) @ box + 3.0 * unit
        self._paint(words, state, middle + away * side)

    def _paint(self, sign: str, state: State, centre: Floats, *, grounded: bool = False) -> None:
        """Draw a sign at a widget position, on a ground that breaks the lane if need be."""
        view, painter = self.view, self.painter
        theme, ratio, unit = view.theme, view.ratio, round(view.camera.unit, 3)
        colour = theme.lane(state).name()
        halo = theme.canvas if grounded or sign in glyphs.ON_LANE else ""
        x, y = centre.tolist()
        if self.vector:
            width = glyphs.width(sign)
            painter.save()
            painter.translate(x, y)
            painter.scale(unit, unit)
            box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
            glyphs.draw(painter, sign, box, colour, halo)
            painter.restore()
            return
        picture = glyphs.picture(sign, colour, halo, unit, ratio)
        size = picture.deviceIndependentSize()
        left = round((x - size.width() / 2.0) * ratio) / ratio
        top = round((y - size.height() / 2.0) * ratio) / ratio
        painter.drawPixmap(QPointF(left, top), picture)
