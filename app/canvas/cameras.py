"""The cameras of a canvas: one for each page, moved, zoomed and fitted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Signal

from gradwire.app.canvas.positions import Positions
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.document.diff import renamed_pages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.runtime.diagram import Diagram, Point


class Cameras(Positions):
    """A widget that shows each page through a camera of its own."""

    zoomChanged = Signal(float)
    """Widget px per scene unit."""
    jumped = Signal()
    """The view has jumped: to another page, or by fitting the zoom."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cameras: dict[str, Camera] = {}
        self._fit_wanted = True
        self._actual = 1.0
        self._fit_limits = (0.0, 2.0)

    def set_camera(self, camera: Camera) -> None:
        """Show the page through another camera."""
        self.view = replace(self.view, camera=camera)
        self._fit_wanted = False

    def zoom(self) -> float:
        """Widget px per scene unit."""
        return self.view.camera.zoom

    def actual_zoom(self) -> float:
        """The zoom shown as 100 %, at which text is as large as in the panels."""
        return self._actual

    def set_actual_zoom(self, zoom: float) -> None:
        """Define the zoom shown as 100 %; everything is scaled accordingly."""
        if zoom == self._actual:
            return
        factor, self._actual = zoom / self._actual, zoom
        wanted = self._fit_wanted
        self.set_zoom(self.zoom() * factor)
        self._fit_wanted = wanted
        self._cameras.clear()
        self.zoomChanged.emit(self.zoom())
        self.update()

    def set_zoom(self, zoom: float) -> None:
        """Zoom about the middle of the widget."""
        centre = QRectF(self.rect()).center()
        self.set_camera(self.view.camera.zoomed(zoom, centre.x(), centre.y()))

    def zoom_at(self, factor: float, at: QPointF) -> None:
        """Zoom by ``factor`` about the point ``at``."""
        camera = self.view.camera
        self.set_camera(camera.zoomed(camera.zoom * factor, at.x(), at.y()))

    def zoom_to_fit(self) -> None:
        """Show the whole page, at most at 100 % (see :meth:`actual_zoom`)."""
        self.fit(self.view.scene.bounds())

    def zoom_to_selection(self) -> None:
        """Show the selection, or else the whole page."""
        bounds = self.view.scene.bounds_of(self.view.selection.blocks, self.view.selection.notes)
        self.fit(self.view.scene.bounds() if bounds is None else bounds)

    def show_at(self, at: Point, zoom: float) -> None:
        """Show the scene point ``at`` in the middle, at ``zoom`` widget px per scene unit."""
        centre = QRectF(self.rect()).center()
        self.set_camera(Camera(zoom).panned(centre.x() - zoom * at.x, centre.y() - zoom * at.y))
        self.jumped.emit()

    def reveal(self, bounds: Floats, *, roughly: bool = False) -> None:
        """Pan until ``bounds`` (left, top, right, bottom; scene units) are visible.

        Bounds too large for the view are centred; with ``roughly``, any visible part suffices.
        """
        camera = self.view.camera
        panned = camera.revealing(bounds, self.width(), self.height(), roughly=roughly)
        if panned != camera:
            self.set_camera(panned)

    def limit_fit(self, least: float = 0.0, most: float = 2.0) -> None:
        """Keep the zoom between these, relative to 100 %, whenever something is fitted."""
        self._fit_limits = (least, most)

    def fit(self, bounds: Floats | None) -> None:
        """Show a part of the page (left, top, right, bottom; scene units); None if it is empty."""
        if bounds is None:
            self.set_camera(Camera(self._actual, 40.0, 40.0))
        else:
            least, most = (limit * self._actual for limit in self._fit_limits)
            size = self.width(), self.height()
            self.set_camera(Camera.fitting(bounds, *size, least=least, most=most))
        self.jumped.emit()

    def _fit_if_wanted(self) -> None:
        if self._fit_wanted and self.isVisible():
            self.zoom_to_fit()

    def cameras(self) -> dict[str, Camera]:
        """The camera of each page that was shown."""
        return {**self._cameras, self.view.scene.page_name: self.view.camera}

    def restore_cameras(self, cameras: Mapping[str, Camera]) -> None:
        """Show the pages through these cameras again."""
        self._cameras = dict(cameras)
        if (camera := self._cameras.get(self.view.scene.page_name)) is not None:
            self.set_camera(camera)
            self.jumped.emit()

    def _rename_cameras(self, diagram: Diagram) -> None:
        """Keep the cameras of pages that are renamed in ``diagram``."""
        for old, new in renamed_pages(self.view.scene.diagram, diagram).items():
            if old in self._cameras:
                self._cameras[new] = self._cameras.pop(old)
