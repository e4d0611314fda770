"""Keeps the last painted page while the view pans, so that only what comes into view is painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, QSizeF
from PySide6.QtGui import QPainter, QPixmap, QRegion

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import ViewState

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
