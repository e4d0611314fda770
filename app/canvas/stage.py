"""The widget without hands: a page of a diagram, what is known of it, and where it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QImage, QPainter, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.canvas.paint.blocks.badges import HEIGHT, draw_pills, pill_of, pill_width
from app.canvas.paint.blocks.faces import FaceCache
from app.canvas.paint.painter import paint, paint_fitted
from app.canvas.scene.bezier import flatten
from app.canvas.scene.camera import Camera
from app.canvas.scene.geometry import Floats, Scene
from app.canvas.state.annotations import Facts
from app.canvas.state.codes import STATE_OF
from app.canvas.state.view_state import View
from app.document.diff import renamed_pages
from app.services.theme import Theme, system
from runtime.diagram import Diagram
from runtime.diagram.model import MAIN, Point
from runtime.flow.badges import Mark

if TYPE_CHECKING:
    from app.evaluation.result import Result

_FACE_BUDGET = 0.008
"""Seconds of a frame for drawing new faces; the rest follow in the next frames."""
_PATIENCE = 0.004
"""Seconds of a frame for asking where gradient is cut, likewise."""
_STALE_AFTER = 150
"""Milliseconds before values of an older diagram are dimmed: a new result mostly comes sooner."""
_FLOW_EVERY = 50
"""Milliseconds between two steps of the selected wire's chevrons."""
_FLOW_STEP = 0.05
_MARGIN = 24.0
"""Room that is kept around what the view is moved to, widget px."""


class Stage(QWidget):
    """Shows a page of a diagram with a result of it, through a camera."""

    zoomChanged = Signal(float)
    """Widget px per scene unit."""
    jumped = Signal()
    """Something else is looked at: another page, or this one fitted anew."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        scene = Scene(Diagram(), MAIN)
        self.view = View(scene, Facts(scene, None), Camera(), system(), patience=_PATIENCE)
        self._result: Result | None = None
        self._prefix = ""
        self._faces = FaceCache(_FACE_BUDGET)
        self._cameras: dict[str, Camera] = {}
        self._fit_wanted = True
        self._actual = 1.0
        self._still = False
        self._stale_timer = QTimer(self)
        self._stale_timer.setSingleShot(True)
        self._stale_timer.setInterval(_STALE_AFTER)
        self._stale_timer.timeout.connect(self._dim)
        self._flow_timer = QTimer(self)
        self._flow_timer.setInterval(_FLOW_EVERY)
        self._flow_timer.timeout.connect(self._flow)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(200, 150)
        self.setAccessibleName(self.tr("Diagram"))

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page as it is in ``diagram``. Each page is looked at through its own camera."""
        view = self.view
        if page == view.scene.page_name:
            self._rename_cameras(diagram)
            if not view.scene.update(diagram):
                self._learn()
        else:
            self._cameras[view.scene.page_name] = view.camera
            self._rename_cameras(diagram)
            view.scene = Scene(diagram, page)
            self._learn()
            known = self._cameras.get(page)
            if known is not None:
                self.look(known)
                self.jumped.emit()
            self._fit_wanted = known is None
        self._fit_if_wanted()
        self.update()

    def set_result(self, result: Result | None, prefix: str = "") -> None:
        """Show values, lanes and problems; ``prefix`` is the path of the shown page's use."""
        if result is self._result and prefix == self._prefix:
            return
        self._result, self._prefix = result, prefix
        self._learn()
        self.update()

    def set_theme(self, theme: Theme) -> None:
        """Draw with other colours."""
        self.view.theme = theme
        self.update()

    def set_still(self, still: bool) -> None:
        """Let nothing move by itself, or let it move again."""
        self._still = still
        self.let_flow()
        self.update()

    def zoom(self) -> float:
        """Widget px per scene unit."""
        return self.view.camera.zoom

    def actual(self) -> float:
        """The zoom that is called 100 %: that at which text is as large as in the panels."""
        return self._actual

    def set_actual(self, zoom: float) -> None:
        """Call another zoom 100 %, and show everything as much larger or smaller."""
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
        """Zoom with the middle of the widget kept."""
        centre = QRectF(self.rect()).center()
        self.look(self.view.camera.zoomed(zoom, centre.x(), centre.y()))

    def zoom_at(self, factor: float, at: QPointF) -> None:
        """Zoom by ``factor`` with what is under ``at`` kept there."""
        camera = self.view.camera
        self.look(camera.zoomed(camera.zoom * factor, at.x(), at.y()))

    def zoom_to_fit(self) -> None:
        """Show all of the page, at most at 100 %, see :meth:`actual`."""
        self._fit(self.view.scene.bounds())

    def zoom_to_selection(self) -> None:
        """Show what is selected, or all where nothing is."""
        bounds = self.view.scene.bounds_of(self.view.selected, self.view.notes)
        self._fit(self.view.scene.bounds() if bounds is None else bounds)

    def see(self, bounds: Floats, *, roughly: bool = False) -> None:
        """Pan as far as it takes to see ``bounds`` (left, top, right, bottom of the page).

        Of what is too large, its middle comes to the middle; ``roughly``, any part of it will do.
        """
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        left, top, right, bottom = self.view.camera.to_widget(bounds.reshape(2, 2)).ravel().tolist()
        dx = _shift(left, right, room.left(), room.right(), roughly=roughly)
        dy = _shift(top, bottom, room.top(), room.bottom(), roughly=roughly)
        if dx or dy:
            self.look(self.view.camera.panned(dx, dy))

    def look(self, camera: Camera) -> None:
        """Look through another camera."""
        before, self.view.camera = self.view.camera, camera
        self._fit_wanted = False
        if camera != before:
            self.update()
        if camera.zoom != before.zoom:
            self.zoomChanged.emit(camera.zoom)

    def scene_position(self, position: QPoint) -> Point:
        """The scene point under a widget position."""
        at = np.array([position.x(), position.y()], float)
        return Point(*self.view.camera.to_scene(at).tolist())

    def block_rect(self, name: str) -> QRect:
        """Where a block is, in widget px; raises KeyError for one that is not on the page."""
        scene, camera = self.view.scene, self.view.camera
        x, y, width, height = scene.rects[scene.index[name]].tolist()
        left, top = camera.to_widget(np.array([x, y])).tolist()
        return QRectF(left, top, width * camera.zoom, height * camera.zoom).toRect()

    def port_position(self, block: str, port: str) -> QPoint:
        """Where a port is, in widget px; raises KeyError for one that is not on the page."""
        number = self.view.scene.port(block, port)
        if number is None:
            raise KeyError(f"{block}.{port}")
        return self._widget_point(self.view.scene.port_points(np.array([number]))[0])

    def wire_position(self, key: str) -> QPoint:
        """The middle of a wire, or before its first bend, in widget px; raises KeyError for one
        that is not on the page.
        """
        return self._widget_point(flatten(self.view.scene.course(key), 2)[0, 1])

    def render_to(
        self,
        target: QImage | QPainter,
        area: QRectF | None = None,
        *,
        theme: Theme | None = None,
        legend: bool = False,
    ) -> None:
        """Draw the whole page, fitted into ``area`` (all of an image), as vectors where it can be.

        For pictures and export: nothing is shown as selected.
        """
        if isinstance(target, QImage):
            size = target.deviceIndependentSize()
            with QPainter(target) as painter:
                box = area or QRectF(0.0, 0.0, size.width(), size.height())
                self.render_to(painter, box, theme=theme, legend=legend)
            return
        box = area or QRectF(target.viewport())
        paint_fitted(target, self.view, box, theme or self.view.theme, legend=legend)

    def paint_over(self, painter: QPainter) -> None:
        """Draw what is in the hand, over the page."""

    def paintEvent(self, event: QPaintEvent) -> None:
        view = self.view
        view.ratio = self.devicePixelRatioF()
        pixels = self.width() * self.height() * view.ratio**2
        self._faces.begin(view.camera.zoom, view.ratio, view.theme, round(8 * pixels))
        with QPainter(self) as painter:
            paint(painter, view, QRectF(event.rect()), self._faces)
            self.paint_over(painter)
            painter.scale(self._actual, self._actual)
            if view.facts.dimmed:
                stale = pill_of(Mark.STALE)
                left = self.width() / self._actual - 12.0 - pill_width(stale)
                draw_pills(painter, [stale], QPointF(left, 12.0 + HEIGHT / 2.0), view.theme)
        if self._faces.behind or view.behind:
            QTimer.singleShot(0, self, self.update)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.let_flow()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.let_flow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_if_wanted()

    def _learn(self, *, dimmed: bool = False) -> None:
        """Lay the result over the scene anew."""
        view = self.view
        result = self._result
        view.facts = Facts(view.scene, result, self._prefix, dimmed=dimmed or view.facts.dimmed)
        view.scene.set_rows(view.facts.rows())
        if view.facts.stale and not view.facts.dimmed:
            self._stale_timer.start()
        else:
            self._stale_timer.stop()
        self.let_flow()

    def let_flow(self) -> None:
        """Move the chevrons of the selected wire, if gradient flows on it."""
        view = self.view
        wire = view.scene.wire_index.get(view.wire or "")
        state = None if wire is None else STATE_OF.get(int(view.facts.codes[wire]))
        flows = state is not None and state.row.passes
        if flows and self.isVisible() and not self._still:
            self._flow_timer.start()
        else:
            self._flow_timer.stop()
            view.phase = 0.0

    def _flow(self) -> None:
        view = self.view
        view.phase = (view.phase + _FLOW_STEP) % 1.0
        bounds = view.scene.wire_bounds[[view.scene.wire_index[view.wire or ""]]]
        x0, y0, x1, y1 = view.camera.ends(bounds)[0].tolist()
        self.update(QRectF(x0, y0, x1 - x0, y1 - y0).toAlignedRect())

    def _rename_cameras(self, diagram: Diagram) -> None:
        """Let pages that have other names in ``diagram`` keep their views."""
        for old, new in renamed_pages(self.view.scene.diagram, diagram).items():
            if old in self._cameras:
                self._cameras[new] = self._cameras.pop(old)

    def _dim(self) -> None:
        """The result is still of an older diagram: show that."""
        self._learn(dimmed=True)
        self.update()

    def _fit(self, bounds: Floats | None) -> None:
        if bounds is None:
            self.look(Camera(self._actual, 40.0, 40.0))
        else:
            self.look(Camera.fitting(bounds, self.width(), self.height(), most=self._actual))
        self.jumped.emit()

    def _fit_if_wanted(self) -> None:
        if self._fit_wanted and self.isVisible():
            self.zoom_to_fit()

    def _widget_point(self, point: Floats) -> QPoint:
        return QPoint(*(round(c) for c in self.view.camera.to_widget(point).tolist()))


def _shift(low: float, high: float, least: float, most: float, *, roughly: bool) -> float:
    if high - low <= most - least:
        return max(least - low, 0.0) + min(most - high, 0.0)
    in_sight = low < most and high > least
    return 0.0 if roughly and in_sight else (least + most - low - high) / 2.0
