"""Paints a canvas: what of it has changed, within the time of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QImage, QPainter, QRegion
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.paint.blocks.badges import HEIGHT, badge_width, draw_badges
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.paint.frame_cache import FrameCache
from gradwire.app.canvas.paint.painter import PaintLimits, paint, paint_fitted
from gradwire.app.canvas.scrolled import ScrolledPage
from gradwire.app.canvas.state.badge_labels import badge_label
from gradwire.app.canvas.travel import Travel
from gradwire.runtime.flow import BadgeKind

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.services.theme import Theme

_FACE_BUDGET = 0.008
"""Seconds per frame for drawing new faces; the rest follow in the next frames."""
_USUAL = 1600 * 1000
"""Device px of a window, beyond which frames take longer and more faces are drawn in each."""
_CUT_BUDGET = 0.004
"""Seconds per frame for finding out where gradient is cut; the rest follow as well."""


class CanvasPainter(QObject):
    """Paints the page, and what the other parts of the canvas show over it."""

    _changed = Signal()
    """The page looks different; what of it is found once all that has changed is known."""

    def __init__(self, context: CanvasContext) -> None:
        super().__init__(context.widget)
        self._context = context
        self.faces = FaceCache(_FACE_BUDGET)
        self.limits = PaintLimits(_CUT_BUDGET)
        self.frame_cache = FrameCache()
        self.page = ScrolledPage()
        self._travel = Travel(self)
        self._travel.ended.connect(self.update)
        self._is_changed = False
        """Whether what looks different is not found yet."""
        self._changed.connect(self._paint_changed, Qt.ConnectionType.QueuedConnection)

    @property
    def is_panning(self) -> bool:
        """Whether the camera alone has moved since the page last looked different."""
        return self.page.is_panning

    @property
    def is_travelling(self) -> bool:
        """Whether the camera has moved, and has not rested since."""
        return self._travel.is_going_on

    def update(self, area: QRect | QRegion | None = None) -> None:
        """Paint the widget, or an area of it, anew."""
        self.page.drop()
        if area is None:
            self.frame_cache.forget()
        self._update_widget(area)

    def update_changed(self) -> None:
        """Paint what looks different with the result, or new numbers, before the next frame.

        An edit is often followed at once by its result.
        """
        if self.is_panning:
            self.update()
        self.page.drop()
        if not self._is_changed:
            self._is_changed = True
            self._changed.emit()

    def remember(self, version: int | None = None) -> None:
        """Know what is seen before it changes, or of what only wires have changed since a
        ``version`` of the scene.
        """
        if not self._is_changed:
            self.frame_cache.remember(self._context.view, self._context.widget.size(), version)

    def follow_camera(self, before: Camera) -> None:
        """Paint what comes into view, through another camera than ``before``."""
        self._travel.move()
        if self._context.view.camera.zoom == before.zoom:
            self.page.pan()
            self._update_widget()
        else:
            self.update()

    def paint(self, region: QRegion) -> None:
        """Paint a region of the widget."""
        context, widget, view = self._context, self._context.widget, self._context.view
        ratio, size, pans = widget.devicePixelRatioF(), widget.size(), self.is_panning
        pixels = size.width() * size.height() * ratio**2
        zooms = self.is_travelling and not pans
        self.faces.begin(view.camera.zoom, ratio, view.theme, round(12 * pixels),
                         share=max(1.0, pixels / _USUAL), hurried=pans, zooming=zooms)  # fmt: skip
        self.frame_cache.begin(region, size, ratio)

        def draw(to: QPainter, area: QRectF) -> bool:
            cache = None if pans else self.frame_cache  # it would be painted whole
            complete = paint(to, view, area, self.faces, ratio, self.limits, cache)
            return complete and not (self.faces.blank if zooms else self.faces.behind)

        with QPainter(widget) as painter:
            complete = self.page.paint(painter, view, region, size, ratio, draw)
            self._paint_over(painter)
        if not complete:  # the next frame goes on, of a picture that pans where parts are missing
            QTimer.singleShot(0, self, self._update_widget if pans else self.update)
        self._travel.shown()
        context.content.refine_soon()

    def render_to(
        self, target: QImage | QPainter, area: QRectF | None = None, *, theme: Theme | None = None
    ) -> None:
        """Draw the whole page, fitted into ``area`` or the whole target, with nothing selected."""
        if isinstance(target, QImage):
            size = target.deviceIndependentSize()
            with QPainter(target) as painter:
                box = area or QRectF(0.0, 0.0, size.width(), size.height())
                self.render_to(painter, box, theme=theme)
            return
        view = self._context.view
        paint_fitted(target, view, area or QRectF(target.viewport()), theme or view.theme)

    def _paint_over(self, painter: QPainter) -> None:
        """Paint what the other parts show over the page, and the badge of a stale result."""
        context, view = self._context, self._context.view
        context.overlays.paint(painter)
        if context.mouse.gesture is not None:
            context.mouse.gesture.paint(painter)
        context.adder.paint(painter)
        context.keyboard_focus.paint(painter)
        if view.annotations.dimmed:
            scale, stale = context.camera.actual_zoom(), badge_label(BadgeKind.STALE)
            painter.scale(scale, scale)
            left = context.widget.width() / scale - 12.0 - badge_width(stale)
            draw_badges(painter, [stale], QPointF(left, 12.0 + HEIGHT / 2.0), view.theme)

    def _paint_changed(self) -> None:
        self._is_changed = False
        size = self._context.widget.size()
        self._update_widget(
            self.frame_cache.changed_area(self._context.view, size, self.limits.cut_budget)
        )

    def _update_widget(self, area: QRect | QRegion | None = None) -> None:
        """Have Qt paint the widget, or an area of it."""
        if area is None:
            QWidget.update(self._context.widget)
        else:
            QWidget.update(self._context.widget, area)
