"""Where the items of the shown page lie in the widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect

from gradwire.app.canvas.paint.drawing import widget_rect
from gradwire.runtime.diagram import Point, PortName

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats


class Places:
    """Where blocks, ports and wires are shown."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def scene_position(self, position: QPoint) -> Point:
        """The scene point at a widget position."""
        at = np.array([position.x(), position.y()], float)
        return Point(*self._context.view.camera.to_scene(at).tolist())

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
