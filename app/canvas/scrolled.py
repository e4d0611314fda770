"""Keeps the last painted page while the view pans, so that only what comes into view is painted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QPoint, QRect, QRectF, QSize
from PySide6.QtGui import QPainter, QPixmap

if TYPE_CHECKING:
    from app.canvas.state.view_state import ViewState

Draw: TypeAlias = Callable[[QPainter, QRectF], bool]
"""Paints an area of the widget; returns whether the painting is complete."""

_AROUND = 24.0
"""How far beyond an edge labels may reach into view, widget px."""


class ScrolledPage:
    """A picture of the page as it was last painted whole, for the camera that it was painted for.

    Its owner drops it whenever anything but the offset of the camera changes; then the page is
    painted directly, since a picture would only cost time.
    """

    def __init__(self) -> None:
        self._view: ViewState | None = None
        self._picture = QPixmap()
        self._missing: list[QRect] = []
        """Parts of the picture for which there was no time yet."""
        self._wanted = False

    def pan(self) -> None:
        """The camera moves, and will probably move on: keep a picture from now on."""
        self._wanted = True

    @property
    def is_panning(self) -> bool:
        """Whether the camera alone has moved since the page last looked different."""
        return self._wanted

    def drop(self) -> None:
        """The page looks different now."""
        self._view = None
        self._wanted = False

    def paint(self, painter: QPainter, view: ViewState, area: QRect, size: QSize, ratio: float,
              draw: Draw) -> bool:  # fmt: skip
        """Paint ``area`` of a widget of this size; returns whether the painting is complete."""
        if not self._wanted:
            return draw(painter, QRectF(area))
        moved = self._moved(view, size, ratio)
        if moved is None:
            self._picture = QPixmap(size * ratio)
            self._picture.setDevicePixelRatio(ratio)
        fresh = QRect(QPoint(), size)
        parts = _exposed(fresh, moved)
        if moved is not None:
            parts += [part.translated(moved) & fresh for part in self._missing]
        self._missing = [part for part in parts if part.isValid() and not self._fill(part, draw)]
        self._view = view
        painter.drawPixmap(QPoint(), self._picture)
        return not self._missing

    def _moved(self, view: ViewState, size: QSize, ratio: float) -> QPoint | None:
        """Scroll the picture with the camera; returns by how much, in widget px, or None if all
        must be painted.
        """
        last = self._view
        if last is None or self._picture.size() != size * ratio or not _alike(last, view):
            return None
        dx, dy = view.camera.x - last.camera.x, view.camera.y - last.camera.y
        if not (dx.is_integer() and dy.is_integer() and float(ratio).is_integer()):
            return None
        if abs(dx) >= size.width() or abs(dy) >= size.height():
            return None
        self._picture.scroll(round(dx * ratio), round(dy * ratio), self._picture.rect())
        return QPoint(round(dx), round(dy))

    def _fill(self, part: QRect, draw: Draw) -> bool:
        with QPainter(self._picture) as painter:
            painter.setClipRect(part)
            room = QRectF(part).adjusted(-_AROUND, -_AROUND, _AROUND, _AROUND)
            return draw(painter, room)


def _alike(last: ViewState, now: ViewState) -> bool:
    """Whether two views differ in nothing but the offset of their cameras."""
    return last.camera.zoom == now.camera.zoom and replace(last, camera=now.camera) == now


def _exposed(whole: QRect, moved: QPoint | None) -> list[QRect]:
    """The strips that come into view when a picture moves; all of it for None."""
    if moved is None:
        return [whole]
    width, height = whole.width(), whole.height()
    dx, dy = moved.x(), moved.y()
    beside = QRect(0 if dx > 0 else width + dx, 0, abs(dx), height)
    above = QRect(0, 0 if dy > 0 else height + dy, width, abs(dy))
    return [part for part in (beside, above) if not part.isEmpty()]
