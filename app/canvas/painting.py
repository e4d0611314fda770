"""Paints a canvas: what of it has changed, within the time of a frame.

While the view pans, the last painted page is kept, so that only what comes into view is painted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from PySide6.QtCore import (
    QObject,
    QPoint,
    QPointF,
    QRect,
    QRectF,
    QSize,
    QSizeF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QImage, QPainter, QPixmap, QRegion
from PySide6.QtWidgets import QWidget

from gradwire.app.canvas.paint.blocks.badges import HEIGHT, badge_width, draw_badges
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.paint.frame_cache import FrameCache
from gradwire.app.canvas.paint.painter import PaintLimits, paint, paint_fitted
from gradwire.app.canvas.state.badge_labels import badge_label
from gradwire.runtime.flow import BadgeKind

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.services.theme import Theme

_STILL_AFTER = 150
"""Milliseconds without another move after the frame that showed the last one."""


class Travel(QObject):
    """Follows a camera from its first move until it rests."""

    ended = Signal()
    """The camera rests: the page can be painted whole and sharp."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_going_on = False
        """Whether the camera has moved, and has not rested since."""
        self._timer = QTimer(self, singleShot=True, interval=_STILL_AFTER)
        self._timer.timeout.connect(self._end)

    def move(self) -> None:
        """The camera has moved."""
        self.is_going_on = True
        self._timer.stop()

    def shown(self) -> None:
        """A frame was painted, however long that took."""
        if self.is_going_on and not self._timer.isActive():
            self._timer.start()

    def _end(self) -> None:
        self.is_going_on = False
        self.ended.emit()


Draw: TypeAlias = Callable[[QPainter, QRectF], bool]
"""Paints an area of the widget; returns whether the painting is complete."""

RIM = 128
"""How far the picture reaches beyond each edge of the widget, px: a whole number of device px at
all usual ratios, so that it is never resampled.
"""
_AROUND = 24.0
"""How far beyond an edge labels may reach into view, widget px."""


class ScrolledPage:
    """A picture of the page and of some of its surroundings, for the camera that it was painted
    for.

    While the view pans, another part of it is shown. Where that reaches beyond what was painted, a
    whole strip of the surroundings is painted: it takes hardly longer than the few px that have
    come into view. While it doesn't, the picture is what the widget shows.
    """

    def __init__(self) -> None:
        self._view: ViewState | None = None
        self._picture = QPixmap()
        self._whole = QRect()
        """The picture; this and the following are px of the widget, from the picture's corner."""
        self._seen = QRect()
        """The part in view."""
        self._known = QRect()
        """The part that was painted."""
        self._missing: list[QRect] = []
        """Parts of it for which there was no time yet."""
        self._wanted = False
        self._stale = True

    def pan(self) -> None:
        """The camera moves, and will probably move on."""
        self._wanted = True

    @property
    def is_panning(self) -> bool:
        """Whether the camera alone has moved since the page last looked different."""
        return self._wanted

    def drop(self) -> None:
        """The page looks different now, in areas that will be painted."""
        self._stale = True
        self._wanted = False

    def paint(self, painter: QPainter, view: ViewState, region: QRegion, size: QSize, ratio: float,
              draw: Draw) -> bool:  # fmt: skip
        """Paint ``region`` of a widget of this size; returns whether the painting is complete."""
        whole = region.boundingRect().contains(QRect(QPoint(), size))
        known = self._shows(view, size, ratio)
        if not (_is_fixed(view) and (whole or known)):
            self._view = None
            return draw(painter, QRectF(region.boundingRect()))
        if self._wanted:
            complete = self._pan(view, size, ratio, draw)
        else:
            if whole and not (known and region.rectCount() > 1):  # of parts far from each other
                self._begin(size, ratio)
            complete = self._repaint(region, draw)
        self._view, self._stale = view, False
        corner, extent = QPointF(self._seen.topLeft()), QSizeF(size)
        source = QRectF(corner * ratio, extent * ratio)
        painter.drawPixmap(QRectF(QPointF(), extent), self._picture, source)
        return complete

    def _pan(self, view: ViewState, size: QSize, ratio: float, draw: Draw) -> bool:
        """Paint what has come into view, and what there was no time for."""
        moved = self._moved(view, size, ratio)
        if moved is None:
            self._begin(size, ratio)
        else:
            self._move(moved)
        parts = self._missing + self._strips()
        self._missing = [
            part for part in parts if not (self._is_seen(part) and self._fill(part, draw))
        ]
        return not any(map(self._is_seen, self._missing))

    def _repaint(self, region: QRegion, draw: Draw) -> bool:
        """Paint ``region`` of what is in view, and forget its surroundings."""
        if self._seen != self._whole:
            ratio = self._picture.devicePixelRatio()
            corner, extent = self._seen.topLeft() * ratio, self._seen.size() * ratio
            self._picture = self._picture.copy(QRect(corner, extent))
            self._whole = self._seen = QRect(QPoint(), self._seen.size())
        self._known, self._missing = self._seen, []
        with self._painter(region) as painter:
            return draw(painter, QRectF(region.boundingRect()))

    def _moved(self, view: ViewState, size: QSize, ratio: float) -> QPoint | None:
        """By how much the page has moved, in widget px; None if all must be painted."""
        last = self._view
        if last is None or self._stale or not self._fits(size, ratio):
            return None
        dx, dy = view.camera.x - last.camera.x, view.camera.y - last.camera.y
        if not all(by.is_integer() and (by * ratio).is_integer() for by in (dx, dy)):
            return None
        if abs(dx) >= size.width() or abs(dy) >= size.height() or not _alike(last, view):
            return None
        return QPoint(round(dx), round(dy))

    def _begin(self, size: QSize, ratio: float) -> None:
        """Begin with a picture of what is in view, of which nothing is known.

        It is as large as the widget, since at the edges of a larger one lines are rounded
        otherwise.
        """
        self._whole = self._seen = QRect(QPoint(), size)
        self._known, self._missing = QRect(), []
        if self._picture.size() != size * ratio:
            self._picture = QPixmap(size * ratio)
        self._picture.setDevicePixelRatio(ratio)

    def _move(self, by: QPoint) -> None:
        """Show another part of the picture, and scroll it where it ends."""
        if self._seen == self._whole:
            self._widen()
        self._seen = self._seen.translated(-by)
        whole, middle = self._whole, QPoint(RIM, RIM) - self._seen.topLeft()
        beside = self._seen.left() < 0 or self._seen.right() > whole.right()
        above = self._seen.top() < 0 or self._seen.bottom() > whole.bottom()
        self._scroll(QPoint(middle.x() if beside else 0, middle.y() if above else 0))

    def _widen(self) -> None:
        """Make room around what is in view."""
        narrow, ratio = self._picture, self._picture.devicePixelRatio()
        self._whole = self._whole.adjusted(0, 0, 2 * RIM, 2 * RIM)
        self._picture = QPixmap(self._whole.size() * ratio)
        self._picture.setDevicePixelRatio(ratio)
        with QPainter(self._picture) as painter:
            painter.drawPixmap(RIM, RIM, narrow)
        self._shift(QPoint(RIM, RIM))

    def _scroll(self, by: QPoint) -> None:
        """Move what is known within the picture."""
        if not by.isNull():
            device = by * self._picture.devicePixelRatio()
            self._picture.scroll(device.x(), device.y(), self._picture.rect())
            self._shift(by)

    def _shift(self, by: QPoint) -> None:
        self._seen = self._seen.translated(by)
        self._known = self._known.translated(by) & self._whole
        moved = (part.translated(by) & self._whole for part in self._missing)
        self._missing = [part for part in moved if part.isValid()]

    def _strips(self) -> list[QRect]:
        """The parts to paint so that all in view is known."""
        seen, known = self._seen, self._known
        reach = seen.adjusted(-RIM, -RIM, RIM, RIM) & self._whole
        if known.isEmpty():
            self._known = seen
        else:
            self._known = QRect(
                QPoint(
                    reach.left() if seen.left() < known.left() else known.left(),
                    reach.top() if seen.top() < known.top() else known.top(),
                ),
                QPoint(
                    reach.right() if seen.right() > known.right() else known.right(),
                    reach.bottom() if seen.bottom() > known.bottom() else known.bottom(),
                ),
            )
        return list(cast("Iterable[QRect]", QRegion(self._known) - QRegion(known)))

    def _is_seen(self, part: QRect) -> bool:
        return part.intersects(self._seen)

    def _shows(self, view: ViewState, size: QSize, ratio: float) -> bool:
        """Whether what is in view is known through this camera, but for what has changed."""
        return (
            self._view is not None and self._view.camera == view.camera and self._fits(size, ratio)
        )

    def _fits(self, size: QSize, ratio: float) -> bool:
        return self._seen.size() == size and self._picture.devicePixelRatio() == ratio

    def _fill(self, part: QRect, draw: Draw) -> bool:
        place = part.translated(-self._seen.topLeft())
        with self._painter(QRegion(place)) as painter:
            return draw(painter, QRectF(place).adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND))

    @contextmanager
    def _painter(self, region: QRegion) -> Iterator[QPainter]:
        """Paints a region of the widget in the picture."""
        with QPainter(self._picture) as painter:
            painter.translate(self._seen.topLeft())
            painter.setClipRegion(region)
            yield painter


def _is_fixed(view: ViewState) -> bool:
    """Whether all of the page moves with the camera; the ends of a traced wire stay in view."""
    return view.traced is None and view.route is None


def _alike(last: ViewState, now: ViewState) -> bool:
    """Whether two views differ in nothing but the offset of their cameras."""
    return last.camera.zoom == now.camera.zoom and replace(last, camera=now.camera) == now


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
