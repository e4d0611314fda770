"""The cameras of a canvas: one for each page, moved, zoomed and fitted.

Through them, where items of the shown page lie in the widget, and what lies at a point of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF

from gradwire.app.canvas.paint.drawing import widget_rect
from gradwire.app.canvas.scene import hits
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.hits import PORT_HIT_RADIUS
from gradwire.app.document.diff import renamed_pages
from gradwire.runtime.diagram import Point, PortName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.runtime.diagram import Diagram


class CanvasCamera:
    """Shows each page through a camera of its own."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._known: dict[str, Camera] = {}
        """Of the pages that were shown before."""
        self.fit_wanted = True
        """Whether the page is fitted once it can be."""
        self._actual = 1.0
        self._fit_limits = (0.0, 2.0)

    def set(self, camera: Camera) -> None:
        """Show the page through another camera."""
        context, before = self._context, self._context.view.camera
        if camera != before:
            context.adder.close()
            context.inline_editor.close()
        context.view = replace(context.view, camera=camera)
        self.fit_wanted = False
        if camera != before:
            context.painter.follow_camera(before)
            if camera.zoom != before.zoom:
                context.widget.zoomChanged.emit(camera.zoom)
        context.widget.cameraChanged.emit(camera)

    def zoom(self) -> float:
        """Widget px per scene unit."""
        return self._context.view.camera.zoom

    def actual_zoom(self) -> float:
        """The zoom shown as 100 %, at which text is as large as in the panels."""
        return self._actual

    def set_actual_zoom(self, zoom: float) -> None:
        """Define the zoom shown as 100 %; everything is scaled accordingly."""
        if zoom == self._actual:
            return
        factor, self._actual = zoom / self._actual, zoom
        wanted = self.fit_wanted
        self.set_zoom(self.zoom() * factor)
        self.fit_wanted = wanted
        self._known.clear()
        self._context.widget.zoomChanged.emit(self.zoom())
        self._context.painter.update()

    def set_zoom(self, zoom: float) -> None:
        """Zoom about the middle of the widget."""
        centre = QRectF(self._context.widget.rect()).center()
        self.set(self._context.view.camera.zoomed(zoom, centre.x(), centre.y()))

    def zoom_at(self, factor: float, at: QPointF) -> None:
        """Zoom by ``factor`` about the point ``at``."""
        camera = self._context.view.camera
        self.set(camera.zoomed(camera.zoom * factor, at.x(), at.y()))

    def zoom_to_fit(self) -> None:
        """Show the whole page, at most at 100 % (see :meth:`actual_zoom`)."""
        self.fit(self._context.view.scene.bounds())

    def zoom_to_selection(self) -> None:
        """Show the selection, or else the whole page."""
        scene, chosen = self._context.view.scene, self._context.view.selection
        bounds = scene.bounds_of(chosen.blocks, chosen.notes)
        self.fit(scene.bounds() if bounds is None else bounds)

    def show_at(self, at: Point, zoom: float) -> None:
        """Show the scene point ``at`` in the middle, at ``zoom`` widget px per scene unit."""
        centre = QRectF(self._context.widget.rect()).center()
        self.set(Camera(zoom).panned(centre.x() - zoom * at.x, centre.y() - zoom * at.y))
        self._context.widget.jumped.emit()

    def reveal(self, bounds: Floats, *, roughly: bool = False) -> None:
        """Pan until ``bounds`` (left, top, right, bottom; scene units) are visible.

        Bounds too large for the view are centred; with ``roughly``, any visible part suffices.
        """
        camera, widget = self._context.view.camera, self._context.widget
        panned = camera.revealing(bounds, widget.width(), widget.height(), roughly=roughly)
        if panned != camera:
            self.set(panned)

    def limit_fit(self, least: float = 0.0, most: float = 2.0) -> None:
        """Keep the zoom between these, relative to 100 %, whenever something is fitted."""
        self._fit_limits = (least, most)

    def fit(self, bounds: Floats | None) -> None:
        """Show a part of the page (left, top, right, bottom; scene units); None if it is empty."""
        if bounds is None:
            self.set(Camera(self._actual, 40.0, 40.0))
        else:
            least, most = (limit * self._actual for limit in self._fit_limits)
            size = self._context.widget.width(), self._context.widget.height()
            self.set(Camera.fitting(bounds, *size, least=least, most=most))
        self._context.widget.jumped.emit()

    def fit_if_wanted(self) -> None:
        """Fit the page if nobody has chosen a camera for it, once it is visible."""
        if self.fit_wanted and self._context.widget.isVisible():
            self.zoom_to_fit()

    def all(self) -> dict[str, Camera]:
        """The camera of each page that was shown."""
        view = self._context.view
        return {**self._known, view.scene.page_name: view.camera}

    def restore(self, cameras: Mapping[str, Camera]) -> None:
        """Show the pages through these cameras again."""
        self._known = dict(cameras)
        self._show_known()

    def keep(self) -> None:
        """Keep the camera of the page that is left."""
        self._known[self._context.view.scene.page_name] = self._context.view.camera

    def enter(self) -> None:
        """Show the page through the camera that it was last shown through, or else fit it."""
        self.fit_wanted = not self._show_known()

    def rename(self, diagram: Diagram) -> None:
        """Keep the cameras of pages that are renamed in ``diagram``."""
        for old, new in renamed_pages(self._context.view.scene.diagram, diagram).items():
            if old in self._known:
                self._known[new] = self._known.pop(old)

    def _show_known(self) -> bool:
        camera = self._known.get(self._context.view.scene.page_name)
        if camera is not None:
            self.set(camera)
            self._context.widget.jumped.emit()
        return camera is not None


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
