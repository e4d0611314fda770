"""Caches the faces of blocks as pictures by look, zoom and pixel ratio."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gradwire.app.canvas.paint.blocks.faces import CORNER, draw_face, draw_numbers
from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.app.canvas.state.looks import Look
    from gradwire.app.services.theme import Theme

MARGIN = 14.0
"""Room around a face for ports and badges, px at 100 %."""
_HURRIED = 0.3
"""Share of the budget that a hurried frame has."""
_SHARPENED = 0.1
"""Share of it that a frame of a zoom has for pictures for which others stand in."""
_AT_LEAST = 4
"""Number of faces that a frame always draws."""


_LEFT = 0.75
"""Share of the memory that is left to pictures when there are too many."""


@dataclass(slots=True, eq=False)
class FacePicture:
    """A drawn face with :func:`margin` around it."""

    pixmap: QPixmap
    zoom: float
    ratio: float
    frame: int
    """The last frame that asked for it."""

    @property
    def size(self) -> int:
        """Bytes of its pixels."""
        return self.pixmap.width() * self.pixmap.height() * 4


class FaceCache:
    """Pictures of looks for the current zoom, pixel ratio and theme.

    ``budget`` is the time, in seconds, that a frame may spend on drawing; it always draws a few
    faces. After that, pictures of other zooms stand in, and ``behind`` is True; where there are
    none, ``blank`` is too.
    """

    def __init__(self, budget: float = math.inf) -> None:
        self.budget = self._allowed = self._for_known = budget
        self.behind = self.blank = False
        self._pictures: dict[Look, FacePicture] = {}
        self._newest: dict[Look, Look] = {}
        """By look without numbers, the only one with numbers that has a picture."""
        self._zoom = self._ratio = 0.0
        self._theme: Theme | None = None
        self.size = 0
        """Bytes of all pictures."""
        self._frame = 0
        self._drawn = 0
        self._spent = 0.0

    def begin(
        self,
        zoom: float,
        ratio: float,
        theme: Theme,
        limit: int,
        *,
        share: float = 1.0,
        hurried: bool = False,
        zooming: bool = False,
    ) -> None:
        """Start a frame; beyond ``limit`` bytes pictures that were not used lately are dropped.

        The frame may spend a ``share`` of the budget, which is above 1 in a window so large that
        the frame takes longer anyway. A ``hurried`` frame has less time for drawing, since the
        view moves. One with a zoom that will probably not stay has little for what has a picture
        of another zoom.
        """
        self._allowed = self.budget * (_HURRIED if hurried else share)
        self._for_known = self._allowed * (_SHARPENED if zooming else 1.0)
        if theme is not self._theme:
            self._shrink(0.0)
        elif self.size > limit:
            self._shrink(_LEFT * limit)
        self._frame += 1
        self._zoom, self._ratio, self._theme = zoom, ratio, theme
        self._drawn, self._spent = 0, 0.0
        self.behind = self.blank = False

    def paint(self, painter: QPainter, look: Look, x: float, y: float) -> None:
        """Paint the face of a look with its top left at a widget point, a whole device px."""
        assert self._theme is not None
        picture = self.picture(look)
        if picture is None:
            _draw_ground(painter, look, self._theme, QPointF(x, y), self._zoom)
        else:
            _draw_picture(painter, picture, QPointF(x, y), self._zoom, self._ratio)

    def picture(self, look: Look) -> FacePicture | None:
        """The picture of a look, if need be of another zoom; None if there was no time for any.

        Numbers are drawn on a copy of the picture without them: while they change, that takes less
        time than a new one.
        """
        known = self._known(look)
        if known is not None and self._fits(known):
            return known
        bare = look.bare()
        if bare == look:
            return self._whole(look, known)
        ground = self._whole(bare, self._known(bare))
        if ground is None or not self._fits(ground):
            return known or ground
        assert self._theme is not None
        self._drop(self._newest.pop(bare, None))
        self._newest[bare] = look
        return self._keep(look, _with_numbers(ground.pixmap, look, self._zoom, self._theme))

    def _known(self, look: Look) -> FacePicture | None:
        known = self._pictures.get(look)
        if known is not None:
            known.frame = self._frame
        return known

    def _whole(self, look: Look, known: FacePicture | None) -> FacePicture | None:
        """The picture of a look, drawn in one go; ``known`` stands in where time is up."""
        if known is not None and self._fits(known):
            return known
        allowed = self._allowed if known is None else self._for_known
        if self._drawn >= _AT_LEAST and self._spent > allowed:
            self.behind = True
            self.blank |= known is None
            return known
        start = time.perf_counter()
        assert self._theme is not None
        self._drop(look)
        made = self._keep(look, draw_picture(look, self._zoom, self._ratio, self._theme))
        self._drawn += 1
        self._spent += time.perf_counter() - start
        return made

    def _shrink(self, size: float) -> None:
        """Drop pictures until they take up no more than ``size`` bytes, the unused ones first."""
        for look, _ in sorted(self._pictures.items(), key=lambda known: known[1].frame):
            if self.size <= size:
                break
            self._drop(look)
        self._newest = {bare: look for bare, look in self._newest.items() if look in self._pictures}

    def _fits(self, picture: FacePicture) -> bool:
        return picture.zoom == self._zoom and picture.ratio == self._ratio

    def _keep(self, look: Look, pixmap: QPixmap) -> FacePicture:
        made = self._pictures[look] = FacePicture(pixmap, self._zoom, self._ratio, self._frame)
        self.size += made.size
        return made

    def _drop(self, look: Look | None) -> None:
        if look is not None and (dropped := self._pictures.pop(look, None)) is not None:
            self.size -= dropped.size


def margin(zoom: float, ratio: float) -> float:
    """Room around a picture's face in widget px, a whole number of device px."""
    return math.ceil(MARGIN * zoom * ratio) / ratio


def _draw_picture(
    painter: QPainter, picture: FacePicture, corner: QPointF, zoom: float, ratio: float
) -> None:
    """Draw a picture, if need be of another zoom, with its face's top left at ``corner``."""
    room, pixmap = margin(picture.zoom, picture.ratio), picture.pixmap
    if picture.zoom == zoom and picture.ratio == ratio:
        painter.drawPixmap(corner - QPointF(room, room), pixmap)
        return
    scale = zoom / picture.zoom
    place = QRectF(corner - QPointF(room, room) * scale, pixmap.deviceIndependentSize() * scale)
    painter.drawPixmap(place, pixmap, QRectF(pixmap.rect()))


def _draw_ground(painter: QPainter, look: Look, theme: Theme, corner: QPointF, zoom: float) -> None:
    """Draw a face without anything on it."""
    painter.setPen(QPen(theme.border(look.family), 1.0))
    painter.setBrush(theme.face(look.family))
    box = QRectF(corner, QSizeF(look.width, look.height) * zoom)
    painter.drawRoundedRect(box, CORNER * zoom, CORNER * zoom)


def draw_picture(look: Look, zoom: float, ratio: float, theme: Theme) -> QPixmap:
    """A picture of the face with :func:`margin` around it."""
    room = margin(zoom, ratio)
    width = math.ceil((2 * room + look.width * zoom) * ratio)
    height = math.ceil((2 * room + look.height * zoom) * ratio)
    pixmap = QPixmap(width, height)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(room, room)
        painter.scale(zoom, zoom)
        draw_face(painter, look, theme, zoom)
        if look.size is not None:
            _draw_grip(painter, look, theme)
    return pixmap


def _draw_grip(painter: QPainter, look: Look, theme: Theme) -> None:
    """Draw the corner by which a view is resized."""
    painter.setPen(QPen(QColor(theme.ink_faint), 1.0))
    right, bottom = look.width - 2.5, look.height - 2.5
    for inset in (4.0, 7.5):
        painter.drawLine(QPointF(right - inset, bottom), QPointF(right, bottom - inset))


def _with_numbers(ground: QPixmap, look: Look, zoom: float, theme: Theme) -> QPixmap:
    """A picture of a face, made of one without numbers."""
    pixmap = QPixmap(ground)
    room = margin(zoom, pixmap.devicePixelRatio())
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(room, room)
        painter.scale(zoom, zoom)
        draw_numbers(painter, look, theme, zoom)
    return pixmap
