"""Places the labels of lanes: glyphs of states, marks of cuts, numbers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.wires.spots import Spots
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.state.codes import flags_of
from gradwire.app.services.palette import shades
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import Form, State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.paint.wires.label_layout import LabelLayout, WireLabel
    from gradwire.app.canvas.scene.arrays import Flags, Indices, Ints
    from gradwire.app.canvas.scene.polylines import Polylines
    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.app.canvas.state.view_state import ViewState

Place: TypeAlias = "tuple[float, float]"

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


@dataclass
class LaneMemo:
    """What was placed for one loss, for a view in which nothing but the result has changed."""

    count: int = 0
    """The number of losses."""
    lanes: Lanes | None = None
    """The lanes that were labelled last."""
    spots: Spots[_Spot] = field(default_factory=Spots)
    placed: dict[int, tuple[_Spot, _Said, tuple[WireLabel, ...]]] = field(default_factory=dict)
    """By wire where its labels are, what they say, and the labels."""

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved."""
        self.spots.forget(wires)


def place_lane_labels(
    layout: LabelLayout,
    view: ViewState,
    wires: Indices,
    *,
    until: float,
    memos: dict[int, LaneMemo] | None = None,
) -> bool:
    """Place glyphs on the lanes, text beside them, and numbers on lanes side by side.

    Once the clock (``perf_counter``) is past ``until``, cuts that are not known yet are left out;
    returns whether the labels are complete. ``memos`` has what was placed for each loss.
    """
    if view.camera.zoom < _MIN_ZOOM:
        return True
    complete, memos = True, {} if memos is None else memos
    for number in range(len(view.annotations.lanes)):
        labels = _LaneLabels(layout, view, number, until)
        labels.place(wires, memos.setdefault(number, LaneMemo()))
        complete &= labels.complete
    return complete


class _Spot(NamedTuple):
    """Where the labels of a wire stand, widget px, and the direction of its lane."""

    wire: int
    middle: Place
    along: Place
    end: Place
    numbered: Place


class _Said(NamedTuple):
    """What the labels of a wire say."""

    state: State
    text: str
    is_cut: bool | None
    """None if it is not known yet."""
    is_origin: bool
    number: str
    colour: str
    """The colour that the user gave the loss."""

    @property
    def is_settled(self) -> bool:
        """Whether the same lanes say this from now on: a cut may still be found."""
        return bool(self.is_cut) or not self.state.row.cut


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

    def place(self, wires: Indices, memo: LaneMemo) -> None:
        labelled = wires[self._have_labels(wires)]
        if memo.count != len(self.view.annotations.lanes):
            memo.count, memo.spots, memo.placed = len(self.view.annotations.lanes), Spots(), {}
        same, memo.lanes = memo.lanes is self.lanes, self.lanes
        spots = memo.spots.of(labelled, self.lanes.positions[labelled], self._spots)
        numbered = self._are_numbered(np.array([spot.wire for spot in spots], np.intp))
        for spot, is_numbered in zip(spots, numbered.tolist(), strict=True):
            known = memo.placed.get(spot.wire)
            number = str(self.number + 1) if is_numbered else ""
            if (
                known is not None
                and known[0] is spot
                and ((same and known[1].is_settled) or known[1] == self._said(spot.wire, number))
            ):
                self.layout.add(known[2])
                continue
            said = self._said(spot.wire, number)
            before = self.layout.count
            self._place_all(spot, said)
            memo.placed[spot.wire] = spot, said, self.layout.placed_after(before)

    def _spots(self, labelled: Indices, positions: Ints) -> Iterator[_Spot]:
        """The places of the labels of ``labelled`` that are near what is painted."""
        camera = self.view.camera
        for alike, paths in self.view.scene.lane_paths.beside(labelled, positions, camera):
            yield from self._spots_on(alike, paths)

    def _spots_on(self, wires: Indices, paths: Polylines) -> list[_Spot]:
        """The places of the labels of ``wires`` (m,), whose lanes are ``paths``."""
        unit, lengths = self.layout.text_scale, paths.lengths
        centre = lengths / 2.0 - self._shift() * unit
        before = _FIRST + _NEXT * self.lanes.positions[wires]
        spots, tangents = paths.spots(np.stack([centre, lengths, lengths - before * unit], axis=1))
        near = self.layout.is_near(spots).any(axis=1)
        columns = wires, spots[:, 0], tangents[:, 0], spots[:, 1], spots[:, 2]
        rows = zip(*(column[near].tolist() for column in columns), strict=True)
        return [_Spot(*row) for row in rows]

    def _said(self, wire: int, number: str) -> _Said:
        """What the labels of a wire say."""
        state, text, is_origin = self.lanes.words(wire)
        is_cut = self.lanes.is_cut(wire, self.until) if state.row.cut else False
        self.complete &= is_cut is not None
        text = text if self.near else ""
        return _Said(state, text, is_cut, is_origin, number, self.lanes.colour)

    def _place_all(self, spot: _Spot, said: _Said) -> None:
        state, row = said.state, said.state.row
        if said.is_cut:
            self._place(row.cut, state, spot.end)
        if row.glyph:
            self._place(row.glyph, state, spot.middle)
        if said.is_origin:
            self._place(ORIGIN, state, spot.end)
        if said.text:
            self._place_text(said.text, state, spot)
        if said.number:
            self._place_number(said, spot.numbered)

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

    def _place_text(self, text: str, state: State, spot: _Spot) -> None:
        """Place text beside its lane; where there are several lanes, on it."""
        if self.several:
            self._place(text, state, spot.middle, grounded=True)
            return
        (x, y), (dx, dy) = spot.middle, spot.along
        extent = abs(dy) * glyphs.width(text) + abs(dx) * glyphs.SIZE
        away = (0.5 * extent + 3.0) * self.layout.text_scale
        colour = self.view.theme.lane_name(state)
        self.layout.put(text, colour, x - away * dy, y + away * dx)

    def _place_number(self, said: _Said, at: Place) -> None:
        """Place the number of the loss, on the colour that the user gave it."""
        theme = self.view.theme
        chosen = shades(theme, said.colour)
        if chosen is None:
            self._place(said.number, said.state, at, grounded=True)
        else:
            self.layout.put(said.number, theme.ink, *at, ground=chosen.ground.name())

    def _place(self, glyph: str, state: State, at: Place, *, grounded: bool = False) -> None:
        colour = self.view.theme.lane_name(state, self.number if self.several else None)
        self.layout.put(glyph, colour, *at, grounded=grounded)
