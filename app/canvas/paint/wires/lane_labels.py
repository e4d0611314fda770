"""Places the labels of lanes: glyphs of states, marks of cuts, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.canvas.paint import glyphs
from app.canvas.scene.camera import NUMBERS
from app.canvas.state.codes import STATE_OF, flags_of
from app.services.palette import shades
from runtime.flow.words.states import Form, State

if TYPE_CHECKING:
    from app.canvas.paint.wires.label_layout import LabelLayout
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
_LABELLED = flags_of(lambda state: bool(state.row.glyph or state.row.cut or state.row.label))
_DRAWN = flags_of(lambda state: state.row.form is not Form.NONE)


def place_lane_labels(
    layout: LabelLayout, view: ViewState, wires: Indices, *, until: float
) -> bool:
    """Place glyphs on the lanes, text beside them, and numbers on lanes side by side.

    Once the clock (``perf_counter``) is past ``until``, cuts that are not known yet are left out;
    returns whether the labels are complete.
    """
    if view.camera.zoom < _MIN_ZOOM:
        return True
    complete = True
    for number in range(len(view.annotations.lanes)):
        labels = _LaneLabels(layout, view, number, until)
        labels.place(wires)
        complete &= labels.complete
    return complete


class _LaneLabels:
    """Places the labels on the lanes of one loss, numbered from 0."""

    def __init__(self, layout: LabelLayout, view: ViewState, number: int, until: float) -> None:
        self.layout = layout
        self.view = view
        self.number = number
        self.until = until
        self.lanes = view.annotations.lanes[number]
        self.several = len(view.annotations.lanes) > 1
        self.complete = True
        self.near = view.camera.zoom >= NUMBERS
        """Whether there is room for text beside lanes."""

    def place(self, wires: Indices) -> None:
        labelled = wires[self._have_labels(wires)]
        if not len(labelled):
            return
        positions, camera = self.lanes.positions[labelled], self.view.camera
        for alike, paths in self.view.scene.lane_paths.beside(labelled, positions, camera):
            self._place_on(alike, paths)

    def _place_on(self, wires: Indices, paths: Polylines) -> None:
        """Place the labels of ``wires`` (m,), whose lanes are ``paths``."""
        unit, lengths = self.layout.text_scale, paths.lengths
        centre = lengths / 2.0 - self._shift() * unit
        before = _FIRST + _NEXT * self.lanes.positions[wires]
        spots, tangents = paths.spots(np.stack([centre, lengths, lengths - before * unit], axis=1))
        middle, end, numbered = np.moveaxis(spots, 1, 0)
        along = tangents[:, 0]
        near = self.layout.is_near(spots).any(axis=1)
        is_numbered = self._are_numbered(wires)
        for i in np.flatnonzero(near).tolist():
            wire = int(wires[i])
            state = STATE_OF.get(int(self.lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
            self._place_glyphs(wire, state, middle[i], end[i])
            text = self.lanes.label(wire)
            if text and self.near:
                self._place_text(text, state, middle[i], along[i])
            if is_numbered[i]:
                self._place_number(state, numbered[i])

    def _have_labels(self, wires: Indices) -> Flags:
        """Which of ``wires`` have a label of any kind."""
        found = _LABELLED[self.lanes.drawn[wires]] | self._are_numbered(wires)
        if self.lanes.has_leaves:
            leaves = (self.lanes.leaves(wire) is not None for wire in wires.tolist())
            found |= np.fromiter(leaves, bool, len(wires))
        return found

    def _are_numbered(self, wires: Indices) -> Flags:
        drawn, shared = self.lanes.drawn[wires], self.lanes.shared[wires]
        return np.asarray(self.several & ~shared & _DRAWN[drawn])

    def _shift(self) -> float:
        """How far before the middle the labels of this lane stand, clear of those beside it."""
        count = len(self.view.annotations.lanes)
        return _APART * (self.number - (count - 1) / 2.0)

    def _place_glyphs(self, wire: int, state: State, middle: Floats, end: Floats) -> None:
        row = state.row
        if row.cut:
            cut = self.lanes.is_cut(wire, self.until)
            self.complete &= cut is not None
            if cut:
                self._place(row.cut, state, end)
        if row.glyph:
            self._place(row.glyph, state, middle)
        if self.lanes.is_origin(wire):
            self._place(ORIGIN, state, end)

    def _place_text(self, text: str, state: State, middle: Floats, along: Floats) -> None:
        """Place text beside its lane; where there are several lanes, on it."""
        if self.several:
            self._place(text, state, middle, grounded=True)
            return
        (x, y), (dx, dy) = middle.tolist(), along.tolist()
        extent = abs(dy) * glyphs.width(text) + abs(dx) * glyphs.SIZE
        away = (0.5 * extent + 3.0) * self.layout.text_scale
        colour = self.view.theme.lane_name(state)
        self.layout.put(text, colour, x - away * dy, y + away * dx)

    def _place_number(self, state: State, at: Floats) -> None:
        """Place the number of the loss, on the colour that the user gave it."""
        theme, text = self.view.theme, str(self.number + 1)
        chosen = shades(theme, self.lanes.colour)
        if chosen is None:
            self._place(text, state, at, grounded=True)
        else:
            x, y = at.tolist()
            self.layout.put(text, theme.ink, x, y, ground=chosen.ground.name())

    def _place(self, glyph: str, state: State, at: Floats, *, grounded: bool = False) -> None:
        colour = self.view.theme.lane_name(state, self.number if self.several else None)
        x, y = at.tolist()
        self.layout.put(glyph, colour, x, y, grounded=grounded)
