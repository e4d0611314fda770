"""Cutting wires: a line drawn across them takes them away, all in one undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.input.gestures import Gesture, Host
from app.canvas.paint.lanes import STEPS
from app.canvas.scene.bezier import flatten
from app.canvas.scene.geometry import NONE
from runtime.diagram import Batch, Disconnect
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.canvas.scene.geometry import Floats, Indices, Scene
    from runtime.diagram import Change

_COLOUR = "error"
"""Of wires that are to be cut, the theme's name."""


class Cut(Gesture):
    """A line across wires; those it has crossed are removed when it ends."""

    cursor = Qt.CursorShape.CrossCursor

    def __init__(self, host: Host, start: QPointF) -> None:
        super().__init__(host, start)
        self._line: list[Floats] = [self.origin]

    def move(self, at: QPointF) -> None:
        view = self.host.view
        here = view.camera.to_scene(np.array([at.x(), at.y()]))
        scene = view.scene
        crossed = [scene.wire_keys[i] for i in crossing(scene, self._line[-1], here).tolist()]
        view.marks = {**view.marks, **dict.fromkeys(crossed, _COLOUR)}
        self._line.append(here)
        self.host.redraw()

    def finish(self, at: QPointF) -> None:
        keys = list(self.host.view.marks)
        self.cancel()
        if keys:
            self.host.ask(cutting(self.host.view.scene, keys))

    def cancel(self) -> None:
        self.host.view.marks = {}
        self.host.redraw()

    def paint(self, painter: QPainter) -> None:
        view = self.host.view
        pen = QPen(QColor(view.theme.error), 1.5, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        points = view.camera.to_widget(np.array(self._line)).tolist()
        painter.drawPolyline([QPointF(x, y) for x, y in points])


def crossing(scene: Scene, start: Floats, end: Floats) -> Indices:
    """Wires whose curve crosses the line between two scene points."""
    area = np.concatenate([np.minimum(start, end), np.maximum(start, end)])
    crossed = [
        wires[_crosses(flatten(courses, STEPS), start, end)]
        for wires, courses in scene.courses(scene.wires_in(area))
    ]
    return np.concatenate([NONE, *crossed])


def _crosses(points: Floats, start: Floats, end: Floats) -> NDArray[np.bool_]:
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


def cutting(scene: Scene, keys: list[str]) -> Change:
    """Remove these wires at once: later terms first, since those that stay behind them move up."""
    targets = sorted((PortName.parse(key) for key in keys), key=_place, reverse=True)
    changes = tuple(Disconnect(target, page=scene.page_name) for target in targets)
    return changes[0] if len(changes) == 1 else Batch(f"Cut {len(keys)} wires", changes)


def marked(marks: Mapping[str, str]) -> list[str]:
    """The wires among ``marks`` that are to be cut."""
    return [key for key, colour in marks.items() if colour == _COLOUR]


def mark(host: Host, wire: str) -> int:
    """Mark a wire for a cut besides the others, or no more; how many are marked."""
    marks = host.view.marks
    others = {key: colour for key, colour in marks.items() if key != wire}
    host.view.marks = others if wire in marks else {**others, wire: _COLOUR}
    host.redraw()
    return len(host.view.marks)


def unmark(host: Host) -> bool:
    """Mark no wire any more; False if none was."""
    marked = bool(host.view.marks)
    host.view.marks = {}
    host.redraw()
    return marked


def _place(target: PortName) -> tuple[str, str, int]:
    port, _, term = target.port.partition(".")
    return target.block, port, int(term or 0)
