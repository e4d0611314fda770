"""Places what stands along wires: glyphs of states, marks of cuts, numbers and amounts."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.state.lanes import STATE_OF, flags_of
from gradwire.app.canvas.state.view_state import value_texts
from gradwire.app.services.palette import shades
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import Form, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradwire.app.canvas.paint.wires.labels import LabelLayout, WireLabel
    from gradwire.app.canvas.scene.arrays import Flags, Indices, Ints
    from gradwire.app.canvas.scene.curves import Polylines
    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.app.canvas.state.view_state import ViewState


class OnWire(Protocol):
    """A place on a wire, or beside it."""

    @property
    def wire(self) -> int:
        """The wire's number."""


S = TypeVar("S", bound=OnWire)
Find: TypeAlias = "Callable[[Indices, Ints], Iterable[S]]"
"""Finds the places on wires (k,), whose lanes are at positions (k,); none for some."""


class Spots(Generic[S]):
    """The places on wires by number, for one camera."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, S | None]] = {}
        """By wire the position of its lane, and its place, if it has one."""

    def of(self, wires: Indices, positions: Ints, find: Find[S]) -> list[S]:
        """The places on ``wires`` (k,), whose lanes are at ``positions`` (k,), in this order."""
        known = self._known
        pairs = list(zip(wires.tolist(), positions.tolist(), strict=True))
        unknown = [n for n, (wire, at) in enumerate(pairs) if known.get(wire, _NOWHERE)[0] != at]
        if unknown:
            chosen = np.array(unknown, np.intp)
            known.update((pairs[n][0], (pairs[n][1], None)) for n in unknown)
            for spot in find(wires[chosen], positions[chosen]):
                known[spot.wire] = known[spot.wire][0], spot
        found = (known[wire][1] for wire, _ in pairs)
        return [spot for spot in found if spot is not None]

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved."""
        for wire in wires.tolist():
            self._known.pop(wire, None)


_NOWHERE: tuple[int, None] = (-2, None)
"""For a wire of which nothing is known: a position that no lane has."""


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


_PLACES = np.array([0.5, 0.4, 0.6, 0.3, 0.7])
"""Where on a wire its number may stand, as shares of its length; the best first."""
_SPARE = 12.0
"""Length of a wire that its number leaves free, px at 100 %."""
_OTHER_SIDE = -1
"""Position of a lane that would lie on the other side of its wire."""


@dataclass
class NumberMemo:
    """What was placed for a view in which nothing but the result has changed."""

    spots: dict[int, Spots[_NumberSpot]] = field(default_factory=dict)
    """The places of values, :data:`_OTHER_SIDE`, and of what each loss, from 0, brings back."""
    labels: tuple[WireLabel, ...] = ()
    """What was there before the numbers."""
    said: list[list[tuple[_NumberSpot, _SaidNumber]]] = field(default_factory=list)
    placed: tuple[WireLabel, ...] = ()

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved, and those of all numbers: another
        block may be in the way.
        """
        self.said = []
        for spots in self.spots.values():
            spots.forget(wires)


def place_wire_numbers(
    layout: LabelLayout, view: ViewState, wires: Indices, memo: NumberMemo | None = None
) -> None:
    """Place values on one side of ``wires`` and gradients on the other, as the view chooses.

    A number that would lie on a block or another label is left out, but for the selected wire's.
    ``memo`` has what was placed before.
    """
    shown = view.numbers.among(wires, view.scene, view.selection)
    if view.camera.zoom >= NUMBERS and len(shown):
        _NumberPlacer(layout, view).place(shown, NumberMemo() if memo is None else memo)


class _NumberSpot(NamedTuple):
    """Where the number of a wire may stand."""

    wire: int
    room: float
    """Width of the longest text, widget px."""
    places: list[Place]
    along: list[Place]
    """The direction of the wire at each place."""


class _SaidNumber(NamedTuple):
    """What the number of a wire says, in ever shorter texts."""

    texts: tuple[str, ...]
    colour: str


class _NumberPlacer:
    """Places numbers beside wires, one after another."""

    def __init__(self, layout: LabelLayout, view: ViewState) -> None:
        self._layout = layout
        self._view = view
        self._selected = view.scene.wire_index.get(view.selection.wire or "")
        self._values = view.numbers.value
        self._lanes = view.annotations.lanes if view.numbers.gradient else ()

    def place(self, wires: Indices, memo: NumberMemo) -> None:
        """Place the numbers of ``wires``, where they stood if nothing says anything else."""
        positions = {number: lanes.positions[wires] for number, lanes in enumerate(self._lanes)}
        if self._values:
            positions = {_OTHER_SIDE: np.full(len(wires), _OTHER_SIDE), **positions}
        said = [
            [(spot, write(spot.wire)) for spot in self._spots_of(memo, number, wires, at)]
            for write, (number, at) in zip(self._writers(), positions.items(), strict=True)
        ]
        before = self._layout.placed_after(0)
        if said == memo.said and before == memo.labels:
            self._layout.add(memo.placed)
            return
        sides = [-1.0] * self._values + [1.0 if len(self._lanes) == 1 else 0.0] * len(self._lanes)
        for side, texts in zip(sides, said, strict=True):
            for spot, about in texts:
                self._place(spot, about, side)
        memo.said, memo.labels = said, before
        memo.placed = self._layout.placed_after(len(before))

    def _spots_of(
        self, memo: NumberMemo, number: int, wires: Indices, positions: Ints
    ) -> list[_NumberSpot]:
        """The places of values, or of what one loss brings back."""
        return memo.spots.setdefault(number, Spots()).of(wires, positions, self._spots)

    def _spots(self, wires: Indices, positions: Ints) -> Iterator[_NumberSpot]:
        """The places for numbers beside the lanes of ``wires``, of those near what is painted."""
        view = self._view
        spare = _SPARE * self._layout.text_scale
        for alike, paths in view.scene.lane_paths.beside(wires, positions, view.camera):
            on_path, along = paths.spots(paths.lengths[:, None] * _PLACES)
            near = self._layout.is_near(on_path).any(axis=1)
            columns = alike, paths.lengths - spare, on_path, along
            rows = zip(*(column[near].tolist() for column in columns), strict=True)
            yield from (_NumberSpot(*row) for row in rows)

    def _writers(self) -> Iterator[Callable[[int], _SaidNumber]]:
        """What says the number of a wire: its value, and what it brings back for each loss."""
        if self._values:
            yield self._value
        for lanes in self._lanes:
            yield partial(self._gradient, lanes)

    def _value(self, wire: int) -> _SaidNumber:
        view = self._view
        return _SaidNumber(value_texts(view.annotations.page, wire), view.theme.ink)

    def _gradient(self, lanes: Lanes, wire: int) -> _SaidNumber:
        state = STATE_OF.get(int(lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
        texts = lanes.amounts(wire)
        if self._values:
            texts = tuple(f"∇ {text}" for text in texts)
        return _SaidNumber(texts, self._view.theme.lane_name(state))

    def _place(self, spot: _NumberSpot, said: _SaidNumber, side: float) -> None:
        """Place a number: ``side`` is 1 to the right of its lane, −1 to its left, 0 on it."""
        scale, forced = self._layout.text_scale, spot.wire == self._selected
        fitting = [text for text in said.texts if glyphs.width(text) * scale <= spot.room]
        text = next(iter(fitting or (said.texts if forced else ())), "")
        if text:
            centres = self._centres(text, spot.places, spot.along, side)
            self._place_at(text, said.colour, centres, forced=forced)

    def _place_at(self, text: str, colour: str, centres: list[Place], *, forced: bool) -> None:
        """Place at the first of ``centres`` that is free; if none is, ``forced`` at the first."""
        scale = self._layout.text_scale
        width, height = glyphs.width(text) * scale, glyphs.SIZE * scale
        free = (at for at in centres if self._layout.is_free(*at, width, height))
        at = next(free, centres[0] if forced else None)
        if at is not None:
            self._layout.put(text, colour, *at, grounded=True)

    def _centres(
        self, text: str, on_path: list[Place], along: list[Place], side: float
    ) -> list[Place]:
        """Centres of a text that stands beside its path at each place, with a tangent there."""
        scale = self._layout.text_scale
        width, height = glyphs.width(text) * scale, glyphs.SIZE * scale
        sign = (side > 0.0) - (side < 0.0)
        centres = []
        for (x, y), (dx, dy) in zip(on_path, along, strict=True):
            away = 0.5 * sign * (abs(dy) * width + abs(dx) * height) + 3.0 * side * scale
            centres.append((x - away * dy, y + away * dx))
        return centres
