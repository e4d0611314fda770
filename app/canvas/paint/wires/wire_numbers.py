"""Places values and gradients beside wires, where there is room between blocks and labels."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.wires.spots import Spots
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.state.codes import STATE_OF
from gradwire.app.canvas.state.wire_numbers import value_texts
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradwire.app.canvas.paint.wires.label_layout import LabelLayout, WireLabel
    from gradwire.app.canvas.scene.arrays import Indices, Ints
    from gradwire.app.canvas.state.lanes import Lanes
    from gradwire.app.canvas.state.view_state import ViewState

Place: TypeAlias = "tuple[float, float]"

_PLACES = np.array([0.5, 0.4, 0.6, 0.3, 0.7])
"""Where on a wire its number may stand, as shares of its length; the best first."""
_SPARE = 12.0
"""Length of a wire that its number leaves free, px at 100 %."""
_OTHER_SIDE = -1
"""Position of a lane that would lie on the other side of its wire."""


@dataclass
class NumberMemo:
    """What was placed for a view in which nothing but the result has changed."""

    spots: dict[int, Spots[_Spot]] = field(default_factory=dict)
    """The places of values, :data:`_OTHER_SIDE`, and of what each loss, from 0, brings back."""
    labels: tuple[WireLabel, ...] = ()
    """What was there before the numbers."""
    said: list[list[tuple[_Spot, _Said]]] = field(default_factory=list)
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


class _Spot(NamedTuple):
    """Where the number of a wire may stand."""

    wire: int
    room: float
    """Width of the longest text, widget px."""
    places: list[Place]
    along: list[Place]
    """The direction of the wire at each place."""


class _Said(NamedTuple):
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
    ) -> list[_Spot]:
        """The places of values, or of what one loss brings back."""
        return memo.spots.setdefault(number, Spots()).of(wires, positions, self._spots)

    def _spots(self, wires: Indices, positions: Ints) -> Iterator[_Spot]:
        """The places for numbers beside the lanes of ``wires``, of those near what is painted."""
        view = self._view
        spare = _SPARE * self._layout.text_scale
        for alike, paths in view.scene.lane_paths.beside(wires, positions, view.camera):
            on_path, along = paths.spots(paths.lengths[:, None] * _PLACES)
            near = self._layout.is_near(on_path).any(axis=1)
            columns = alike, paths.lengths - spare, on_path, along
            rows = zip(*(column[near].tolist() for column in columns), strict=True)
            yield from (_Spot(*row) for row in rows)

    def _writers(self) -> Iterator[Callable[[int], _Said]]:
        """What says the number of a wire: its value, and what it brings back for each loss."""
        if self._values:
            yield self._value
        for lanes in self._lanes:
            yield partial(self._gradient, lanes)

    def _value(self, wire: int) -> _Said:
        view = self._view
        return _Said(value_texts(view.annotations.page, wire), view.theme.ink)

    def _gradient(self, lanes: Lanes, wire: int) -> _Said:
        state = STATE_OF.get(int(lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
        texts = lanes.amounts(wire)
        if self._values:
            texts = tuple(f"∇ {text}" for text in texts)
        return _Said(texts, self._view.theme.lane_name(state))

    def _place(self, spot: _Spot, said: _Said, side: float) -> None:
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
