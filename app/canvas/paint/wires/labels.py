"""All labels of the wires in view, kept from frame to frame while they stay the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from app.canvas.paint.wires.label_layout import LabelLayout
from app.canvas.paint.wires.lane_labels import place_lane_labels
from app.canvas.paint.wires.wire_numbers import place_wire_numbers
from app.canvas.scene.camera import PLAIN

if TYPE_CHECKING:
    from collections.abc import Hashable

    from app.canvas.paint.wires.label_layout import Label
    from app.canvas.scene.arrays import Floats, Indices
    from app.canvas.state.view_state import ViewState


class Labels(NamedTuple):
    """Labels in the order in which they are painted, and whether they are all there."""

    placed: tuple[Label, ...]
    boxes: Floats
    """Left, top, right and bottom (n, 4) of each, widget px."""
    are_complete: bool


_NONE = Labels((), np.zeros((0, 4)), True)


class WireLabels:
    """The labels of all wires in view, which don't depend on the part of it that is painted.

    A label stands where there is room beside the others, so that those of a part alone might
    stand elsewhere.
    """

    def __init__(self) -> None:
        self._key: Hashable = None
        self._known = _NONE

    def of(self, view: ViewState, size: tuple[float, float], budget: float) -> Labels:
        """The labels in a widget of this size; those that take longer than ``budget`` seconds to
        find are left out.
        """
        given = view.scene.diagram if view.numbers.value else None  # shown before its result
        key = (
            size, view.scene, view.scene.version, given, view.annotations, view.camera,
            view.theme, view.numbers, view.selection.wire, view.hidden_wire,
        )  # fmt: skip
        if key != self._key or not self._known.are_complete:
            self._key = key
            self._known = _labels(view, view.camera.area(0.0, 0.0, *size), budget)
        return self._known


def visible_wires(view: ViewState, area: Floats) -> Indices:
    """The wires in ``area`` of the scene, but for a hidden one."""
    wires = view.scene.wires_in(area)
    hidden = view.scene.wire_index.get(view.hidden_wire or "")
    return wires if hidden is None else wires[wires != hidden]


def place_labels(layout: LabelLayout, view: ViewState, wires: Indices, budget: float) -> Labels:
    """Place the labels of lanes, then the numbers of wires where there is still room."""
    until = time.perf_counter() + budget
    complete = place_lane_labels(layout, view, wires, until=until)
    place_wire_numbers(layout, view, wires)
    placed = layout.take()
    boxes = np.array([label.box for label in placed]).reshape(-1, 4)
    return Labels(placed, boxes, complete)


def _labels(view: ViewState, area: Floats, budget: float) -> Labels:
    if view.camera.zoom < PLAIN:
        return _NONE
    return place_labels(LabelLayout(view, area), view, visible_wires(view, area), budget)
