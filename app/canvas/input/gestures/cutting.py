"""Cutting wires: a line drawn across them removes them, in one undo."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gradwire.app.canvas.input.gestures.base import Gesture
from gradwire.app.canvas.scene.arrays import NO_INDICES, Flags
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.blocks.terms import split_term
from gradwire.runtime.diagram import Batch, Disconnect, PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram import Change

_COLOUR = "error"
"""Name of the theme's colour of wires that are about to be cut."""


class CutWires(Gesture):
    """A line across wires; those that it has crossed are removed when it ends."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, context: CanvasContext, start: QPointF) -> None:
        super().__init__(context, start)
        self._line: list[Floats] = [self.origin]

    def move(self, at: QPointF) -> None:
        view = self.context.view
        here = view.camera.to_scene(np.array([at.x(), at.y()]))
        scene = view.scene
        crossed = [scene.wire_keys[i] for i in crossing(scene, self._line[-1], here).tolist()]
        marks = {**view.marks, **dict.fromkeys(crossed, _COLOUR)}
        self.context.view = replace(view, marks=marks)
        self._line.append(here)
        self.context.redraw()

    def finish(self, at: QPointF) -> None:
        keys = list(self.context.view.marks)
        self.cancel()
        if keys:
            self.context.request(cut_change(self.context.view.scene, keys))

    def cancel(self) -> None:
        self.context.show(marks={})

    def paint(self, painter: QPainter) -> None:
        view = self.context.view
        pen = QPen(QColor(view.theme.error), 1.5, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        points = view.camera.to_widget(np.array(self._line)).tolist()
        painter.drawPolyline([QPointF(x, y) for x, y in points])


def crossing(scene: Scene, start: Floats, end: Floats) -> Indices:
    """Wires whose curve crosses the line between two scene points."""
    area = np.concatenate([np.minimum(start, end), np.maximum(start, end)])
    crossed = [
        wires[_crosses(courses.flatten(STEPS), start, end)]
        for wires, courses in scene.courses(scene.wires_in(area))
    ]
    return np.concatenate([NO_INDICES, *crossed])


def _crosses(points: Floats, start: Floats, end: Floats) -> Flags:
    """Which of the polylines ``points`` (m, k, 2) cross the line."""
    along, step = end - start, np.diff(points, axis=1)
    apart = points[:, :-1] - start
    turn = _cross(along, step)
    safe = np.where(turn == 0.0, np.inf, turn)
    on_line, on_wire = _cross(apart, step) / safe, _cross(apart, along) / safe
    hit = (on_line >= 0) & (on_line <= 1) & (on_wire >= 0) & (on_wire <= 1) & (turn != 0.0)
    return np.asarray(hit.any(axis=1))


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def cut_change(scene: Scene, keys: list[str]) -> Change:
    """Remove these wires in one change.

    Later terms of a repeating input go first: removing one moves up those behind it.
    """
    targets = sorted((PortName.parse(key) for key in keys), key=_sort_key, reverse=True)
    changes = tuple(Disconnect(target, page=scene.page_name) for target in targets)
    return changes[0] if len(changes) == 1 else Batch(f"Cut {len(keys)} wires", changes)


def marked(marks: Mapping[str, str]) -> list[str]:
    """The wires among ``marks`` that are about to be cut."""
    return [key for key, colour in marks.items() if colour == _COLOUR]


def toggle_mark(context: CanvasContext, wire: str) -> int:
    """Mark a wire for a cut, or unmark it; returns how many are marked."""
    marks = context.view.marks
    others = {key: colour for key, colour in marks.items() if key != wire}
    marks = others if wire in marks else {**others, wire: _COLOUR}
    context.show(marks=marks)
    return len(context.view.marks)


def clear_marks(context: CanvasContext) -> bool:
    """Unmark all wires; False if none was marked."""
    had_marks = bool(context.view.marks)
    context.show(marks={})
    return had_marks


def _sort_key(target: PortName) -> tuple[str, str, int]:
    port, term = split_term(target.port)
    return target.block, port, int(term or 0)
