"""The cameras of a canvas: one for each page, moved, zoomed and fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF

from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.document.diff import renamed_pages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.runtime.diagram import Diagram, Point


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
