"""Where the items of the shown page lie in the widget, and what lies at a point of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect

from gradwire.app.canvas.paint.drawing import widget_rect
from gradwire.app.canvas.scene import hits
from gradwire.app.canvas.scene.hits import PORT_HIT_RADIUS
from gradwire.runtime.diagram import Point, PortName

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats


class Places:
    """Where blocks, ports and wires are shown, and which of them is at a point of the widget."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def scene_position(self, position: QPoint) -> Point:
        """The scene point at a widget position."""
        at = np.array([position.x(), position.y()], float)
        return Point(*self._context.view.camera.to_scene(at).tolist())

    def port_at(self, at: QPointF, radius: float = PORT_HIT_RADIUS) -> int | None:
        """The port nearest to a widget point."""
        view = self._context.view
        return hits.port_at(view.scene, view.camera, at.x(), at.y(), radius)

    def block_at(self, at: QPointF) -> int | None:
        """The topmost block under a widget point."""
        view = self._context.view
        return hits.block_at(view.scene, view.camera, at.x(), at.y())

    def bend_at(self, at: QPointF) -> int | None:
        """The bend nearest to a widget point."""
        view = self._context.view
        return hits.bend_at(view.scene, view.camera, at.x(), at.y())

    def wire_at(self, at: QPointF) -> int | None:
        """The wire nearest to a widget point, by its curve or one of its lanes."""
        view = self._context.view
        return hits.wire_at(view.scene, view.camera, at.x(), at.y(), view.lane_count)

    def note_at(self, at: QPointF) -> str | None:
        """The topmost note under a widget point."""
        view = self._context.view
        return hits.note_at(view.scene, view.camera, at.x(), at.y())

    def middle(self) -> Point:
        """The scene point in the middle of the widget."""
        return self.scene_position(self._context.widget.rect().center())

    def block_rect(self, name: str) -> QRect:
        """The rectangle of a block in widget px. Raises KeyError if it is not on the page."""
        scene = self._context.view.scene
        return widget_rect(self._context.view, scene.rects[scene.index[name]]).toRect()

    def port_position(self, block: str, port: str) -> QPoint:
        """The centre of a port in widget px. Raises KeyError if it is not on the page."""
        number = self._context.view.scene.port(block, port)
        if number is None:
            raise KeyError(str(PortName(block, port)))
        return self._widget_point(self._context.view.scene.port_points(np.array([number]))[0])

    def wire_position(self, key: str) -> QPoint:
        """The middle of the first section of a curve, or of a square wire, in widget px.

        Raises KeyError if the wire is not on the page.
        """
        course = self._context.view.scene.course_of(key)
        points = course.flatten(2)[0]
        return self._widget_point(points[1 if course.radius is None else len(points) // 2])

    def _widget_point(self, point: Floats) -> QPoint:
        return QPoint(*(round(c) for c in self._context.view.camera.to_widget(point).tolist()))
