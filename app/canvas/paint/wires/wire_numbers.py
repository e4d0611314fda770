"""Places values and gradients beside wires, where there is room between blocks and labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from app.canvas.paint import glyphs
from app.canvas.scene.camera import NUMBERS
from app.canvas.state.codes import STATE_OF
from app.canvas.state.wire_numbers import value_texts
from runtime.flow.words.states import State

if TYPE_CHECKING:
    from app.canvas.paint.wires.label_layout import LabelLayout
    from app.canvas.scene.arrays import Indices
    from app.canvas.scene.polylines import Polylines
    from app.canvas.state.lanes import Lanes
    from app.canvas.state.view_state import ViewState

Texts: TypeAlias = Callable[[int], tuple[str, ...]]
Place: TypeAlias = tuple[float, float]

_PLACES = np.array([0.5, 0.4, 0.6, 0.3, 0.7])
"""Where on a wire its number may stand, as shares of its length; the best first."""
_SPARE = 12.0
"""Length of a wire that its number leaves free, px at 100 %."""
_OTHER_SIDE = -1
"""Position of a lane that would lie on the other side of its wire."""


def place_wire_numbers(layout: LabelLayout, view: ViewState, wires: Indices) -> None:
    """Place values on one side of ``wires`` and gradients on the other, as the view chooses.

    A number that would lie on a block or another label is left out, but for the selected wire's.
    """
    numbers, scene, camera = view.numbers, view.scene, view.camera
    shown = numbers.among(wires, scene, view.selection)
    if camera.zoom < NUMBERS or not len(shown):
        return
    placer = _NumberPlacer(layout, view)
    if numbers.value:
        across = np.full(len(shown), _OTHER_SIDE)
        for alike, paths in scene.lane_paths.beside(shown, across, camera):
            placer.place_values(alike, paths)
    for lanes in view.annotations.lanes if numbers.gradient else ():
        positions = lanes.positions[shown]
        for alike, paths in scene.lane_paths.beside(shown, positions, camera):
            placer.place_gradients(alike, paths, lanes)


class _NumberPlacer:
    """Places numbers beside wires, one after another."""

    def __init__(self, layout: LabelLayout, view: ViewState) -> None:
        self._layout = layout
        self._view = view
        self._selected = view.scene.wire_index.get(view.selection.wire or "")
        self._several = len(view.annotations.lanes) > 1

    def place_values(self, wires: Indices, paths: Polylines) -> None:
        """Place what wires carry, beside ``paths``."""
        page, ink = self._view.annotations.page, self._view.theme.ink
        self._place(wires, paths, lambda wire: value_texts(page, wire), lambda wire: ink, -1.0)

    def place_gradients(self, wires: Indices, paths: Polylines, lanes: Lanes) -> None:
        """Place what wires bring back for one loss, whose lanes are ``paths``.

        With several lanes the numbers lie on them, as beside them is no room.
        """
        theme, mark = self._view.theme, "∇ " * self._view.numbers.value

        def texts(wire: int) -> tuple[str, ...]:
            return tuple(mark + text for text in lanes.amounts(wire))

        def colour(wire: int) -> str:
            state = STATE_OF.get(int(lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
            return theme.lane_name(state)

        self._place(wires, paths, texts, colour, 0.0 if self._several else 1.0)

    def _place(
        self,
        wires: Indices,
        paths: Polylines,
        texts: Texts,
        colour: Callable[[int], str],
        side: float,
    ) -> None:
        """Place beside ``paths``: ``side`` is 1 to their right, −1 to their left, 0 on them."""
        scale = self._layout.text_scale
        rooms = (paths.lengths - _SPARE * scale).tolist()
        on_path, along = paths.spots(paths.lengths[:, None] * _PLACES)
        for i in np.flatnonzero(self._layout.is_near(on_path).any(axis=1)).tolist():
            wire = int(wires[i])
            found, forced = texts(wire), wire == self._selected
            fitting = [text for text in found if glyphs.width(text) * scale <= rooms[i]]
            text = next(iter(fitting or (found if forced else ())), "")
            if text:
                centres = self._centres(text, on_path[i].tolist(), along[i].tolist(), side)
                self._place_at(text, colour(wire), centres, forced=forced)

    def _place_at(self, text: str, colour: str, centres: list[Place], *, forced: bool) -> None:
        """Place at the first of ``centres`` that is free; if none is, ``forced`` at the first."""
        scale = self._layout.text_scale
        width, height = glyphs.width(text) * scale, glyphs.SIZE * scale
        free = (at for at in centres if self._layout.is_free(*at, width, height))
        at = next(free, centres[0] if forced else None)
        if at is not None:
            self._layout.put(text, colour, *at, grounded=True)

    def _centres(
        self, text: str, on_path: list[list[float]], along: list[list[float]], side: float
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
