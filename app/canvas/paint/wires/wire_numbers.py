"""Paints values and gradients beside wires, where there is room between blocks and labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from app.canvas.paint import glyphs
from app.canvas.scene.camera import NUMBERS
from app.canvas.scene.lane_paths import lane_paths
from app.canvas.state.codes import STATE_OF
from app.canvas.state.wire_numbers import value_texts
from runtime.flow.words.states import State

if TYPE_CHECKING:
    from app.canvas.paint.wires.lane_labels import LabelPen
    from app.canvas.scene.arrays import Floats, Indices
    from app.canvas.scene.polylines import Polylines
    from app.canvas.state.lanes import Lanes
    from app.canvas.state.view_state import ViewState

Texts: TypeAlias = Callable[[int], tuple[str, ...]]

_PLACES = np.array([0.5, 0.4, 0.6, 0.3, 0.7])
"""Where on a wire its number may stand, as shares of its length; the best first."""
_SPARE = 12.0
"""Length of a wire that its number leaves free, px at 100 %."""
_OTHER_SIDE = -1
"""Position of a lane that would lie on the other side of its wire."""


def paint_wire_numbers(pen: LabelPen, view: ViewState, wires: Indices) -> None:
    """Paint values on one side of ``wires`` and gradients on the other, as the view chooses.

    A number that would lie on a block or another label is left out, but for the selected wire's.
    """
    numbers, scene, camera = view.numbers, view.scene, view.camera
    shown = numbers.among(wires, scene, view.selection)
    if camera.zoom < NUMBERS or not len(shown):
        return
    painter = _NumberPainter(pen, view)
    for alike, courses in scene.courses(shown):
        curves = courses.to_widget(camera)
        if numbers.value:
            painter.paint_values(alike, lane_paths(curves, camera.unit, _OTHER_SIDE))
        for lanes in view.annotations.lanes if numbers.gradient else ():
            for position in np.unique(lanes.positions[alike]).tolist():
                at = lanes.positions[alike] == position
                paths = lane_paths(curves.only(at), camera.unit, position)
                painter.paint_gradients(alike[at], paths, lanes)


class _NumberPainter:
    """Places numbers beside wires, one after another."""

    def __init__(self, pen: LabelPen, view: ViewState) -> None:
        self._pen = pen
        self._view = view
        self._selected = view.scene.wire_index.get(view.selection.wire or "")
        self._several = len(view.annotations.lanes) > 1

    def paint_values(self, wires: Indices, paths: Polylines) -> None:
        """Paint what wires carry, beside ``paths``."""
        page, ink = self._view.annotations.page, self._view.theme.ink
        self._paint(wires, paths, lambda wire: value_texts(page, wire), lambda wire: ink, -1.0)

    def paint_gradients(self, wires: Indices, paths: Polylines, lanes: Lanes) -> None:
        """Paint what wires bring back for one loss, whose lanes are ``paths``.

        With several lanes the numbers lie on them, as beside them is no room.
        """
        theme, mark = self._view.theme, "∇ " * self._view.numbers.value

        def texts(wire: int) -> tuple[str, ...]:
            return tuple(mark + text for text in lanes.amounts(wire))

        def colour(wire: int) -> str:
            state = STATE_OF.get(int(lanes.drawn[wire]), State.NOTHING_TO_TRAIN)
            return theme.lane(state).name()

        self._paint(wires, paths, texts, colour, 0.0 if self._several else 1.0)

    def _paint(
        self,
        wires: Indices,
        paths: Polylines,
        texts: Texts,
        colour: Callable[[int], str],
        side: float,
    ) -> None:
        """Paint beside ``paths``: ``side`` is 1 to their right, −1 to their left, 0 on them."""
        scale = self._pen.text_scale
        for number, wire in enumerate(wires.tolist()):
            room, forced = paths.lengths[number] - _SPARE * scale, wire == self._selected
            found = texts(wire)
            fitting = [text for text in found if glyphs.width(text) * scale <= room]
            text = next(iter(fitting or (found if forced else ())), "")
            if not text:
                continue
            size = np.array([glyphs.width(text), glyphs.SIZE]) * scale
            centres = self._centres(paths, number, size, side * scale)
            free = self._pen.free(centres, size)
            if free.any() or forced:
                centre = centres[np.argmax(free)]
                self._pen.paint(text, colour(wire), centre, grounded=True)

    def _centres(self, paths: Polylines, number: int, size: Floats, side: float) -> Floats:
        """Centres (k, 2) of text of a size (2,) that stands beside a path at each of the places."""
        order = np.full(len(_PLACES), number)
        along = paths.direction(order, paths.lengths[number] * _PLACES)
        right = np.column_stack([-along[:, 1], along[:, 0]])
        distance = 0.5 * np.abs(right) @ size * np.sign(side) + 3.0 * side
        return np.asarray(
            paths.at(order, paths.lengths[number] * _PLACES) + distance[:, None] * right
        )
