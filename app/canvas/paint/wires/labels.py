"""All labels of the wires in view, kept from frame to frame while they stay the same."""

from __future__ import annotations

import time
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.app.canvas.paint.wires.label_layout import LabelLayout
from gradwire.app.canvas.paint.wires.lane_labels import LaneMemo, place_lane_labels
from gradwire.app.canvas.paint.wires.wire_numbers import NumberMemo, place_wire_numbers
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from gradwire.app.canvas.paint.wires.label_layout import WireLabel
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import Diagram


@by_identity
class Labels(NamedTuple):
    """Labels in the order in which they are painted, and whether they are all there."""

    placed: tuple[WireLabel, ...]
    boxes: Floats
    """Left, top, right and bottom (n, 4) of each, widget px."""
    are_complete: bool


_NONE = Labels((), np.zeros((0, 4)), True)


@dataclass(eq=False)
class _Memo:
    """What was placed for a view in which nothing but the result and a few wires have changed."""

    labels: Labels = _NONE
    lanes: dict[int, LaneMemo] = field(default_factory=dict)
    numbers: NumberMemo = field(default_factory=NumberMemo)

    def forget(self, wires: Indices) -> None:
        """Find the places of ``wires`` anew, which have moved."""
        for lane in self.lanes.values():
            lane.forget(wires)
        self.numbers.forget(wires)


class WireLabels:
    """The labels of all wires in view, which don't depend on the part of it that is painted.

    A label stands where there is room beside the others, so that those of a part alone might
    stand elsewhere.
    """

    def __init__(self) -> None:
        self._place: object = None
        """All but the result and the scene's version."""
        self._version = 0
        self._annotations: Annotations | None = None
        self._given: Diagram | None = None
        """The diagram, if values are shown: they are newer than the result."""
        self._memo = _Memo()

    def of(self, view: ViewState, size: tuple[float, float], budget: float) -> Labels:
        """The labels in a widget of this size; those that take longer than ``budget`` seconds to
        find are left out. They are the same object while none has changed.
        """
        place = (
            size, view.scene, view.scene.wire_keys, view.camera, view.theme, view.numbers,
            view.selection.blocks, view.selection.wire, view.hidden_wire,
        )  # fmt: skip
        moved = view.scene.moved.since(self._version) if place == self._place else None
        given = view.scene.diagram if view.numbers.value else None
        known = view.annotations is self._annotations and given is self._given
        if moved is None:
            self._memo = _Memo()
        elif view.scene.version != self._version:
            self._memo.forget(moved)
        elif known and self._memo.labels.are_complete:
            return self._memo.labels
        self._place, self._version = place, view.scene.version
        self._annotations, self._given = view.annotations, given
        self._memo.labels = _labels(view, view.camera.area(0.0, 0.0, *size), budget, self._memo)
        return self._memo.labels


def visible_wires(view: ViewState, area: Floats) -> Indices:
    """The wires in ``area`` of the scene, but for a hidden one."""
    wires = view.scene.wires_in(area)
    hidden = view.scene.wire_index.get(view.hidden_wire or "")
    return wires if hidden is None else wires[wires != hidden]


def place_labels(
    layout: LabelLayout, view: ViewState, wires: Indices, budget: float, memo: _Memo | None = None
) -> Labels:
    """Place the labels of lanes, then the numbers of wires where there is still room.

    ``memo`` has what was placed before, if only the result has changed.
    """
    until, memo = time.perf_counter() + budget, _Memo() if memo is None else memo
    complete = place_lane_labels(layout, view, wires, until=until, memos=memo.lanes)
    place_wire_numbers(layout, view, wires, memo.numbers)
    placed = layout.take()
    if placed == memo.labels.placed and complete == memo.labels.are_complete:
        return memo.labels
    boxes = np.array([label.box for label in placed]).reshape(-1, 4)
    return Labels(placed, boxes, complete)


def _labels(view: ViewState, area: Floats, budget: float, memo: _Memo) -> Labels:
    if view.camera.zoom < PLAIN:
        return _NONE
    return place_labels(LabelLayout(view, area), view, visible_wires(view, area), budget, memo)
