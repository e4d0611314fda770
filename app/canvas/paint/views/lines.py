"""The frame of a picture, with axes, numbers and remarks, and its colours in each theme.

Also the lines of a plot inside it, with their names where no line is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPen, QPolygonF

from gradwire.app.canvas.paint.drawing import legible_size
from gradwire.app.services.colours import contrast
from gradwire.app.services.theme import SMALL, THEMES, font
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import ColourRole, number
from gradwire.runtime.views import ImagePicture
from gradwire.runtime.views import colours as maps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QFont

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.views import (
        Axis,
        Colour,
        FieldPicture,
        Floats,
        Line,
        PlotPicture,
        Scale,
        Table,
    )

_GROUND = 0.72
"""Strength of the colours of a field beneath its points."""
_CLASSES = 0.45
"""Strength of the colours of classes beneath the points of the same classes."""
_OVER = 0.25
"""Share of the ink in the colours of points over a field."""


def class_colour(number: int, theme: Theme) -> QColor:
    """The colour of a class or line; on a dark ground, those that are dark change places."""
    colours = maps.CLASSES
    order = (5, 4, 2, 3, 1, 6, 0, 7) if theme.dark else range(len(colours))
    return QColor(*colours[[*order][number % len(colours)]])


def over_field(colour: QColor, theme: Theme) -> QColor:
    """A colour of the same hue that stands out from a field, nearer to the ink of the theme."""
    return QColor(*_mixed(_colour(theme.ink), _colour(colour.name()), _OVER))


def table_of(scale: Scale, theme: Theme) -> Table:
    """Colours of the levels of a scale."""
    bad = _colour(theme.lanes[ColourRole.BROKEN])
    ground = _colour(theme.canvas)
    if scale == "sequential":
        return maps.sequential(bad)
    if scale == "grey":
        return maps.grey(bad)
    if scale == "classes":
        table = np.array(maps.classes(ground, _CLASSES, bad))
        for number in range(len(maps.CLASSES) if theme.dark else 0):
            table[maps.FIRST + number :: len(maps.CLASSES)] = _mixed(
                _colour(class_colour(number, theme).name()), ground, _CLASSES
            )
        table[maps.NOT_FINITE] = bad
        return table
    low, high = (_colour(class_colour(number, theme).name()) for number in (0, 1))
    return maps.diverging(_mixed(low, ground, _GROUND), ground, _mixed(high, ground, _GROUND), bad)


@lru_cache(maxsize=64)
def image_of(picture: ImagePicture | FieldPicture, theme_name: str) -> QImage:
    """The levels or colours of a picture as an image; what lies between images is clear."""
    pixels = picture.pixels if isinstance(picture, ImagePicture) else picture.levels
    if pixels.ndim == 3:
        colours = _packed(pixels)
    else:
        colours = _packed(table_of(picture.scale, THEMES[theme_name]))[pixels]
    if isinstance(picture, ImagePicture) and picture.gaps is not None:
        colours[picture.gaps] = 0
        return _image(colours, QImage.Format.Format_ARGB32_Premultiplied)
    return _image(colours, QImage.Format.Format_RGB32)


@lru_cache(maxsize=16)
def scale_image(scale: Scale, theme_name: str) -> QImage:
    """The colours of a scale, from the greatest value at the top to the least."""
    table = table_of(scale, THEMES[theme_name])
    colours = _packed(table[: maps.NOT_FINITE : -1])[:, None]
    return _image(colours, QImage.Format.Format_RGB32)


def _packed(colours: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Opaque colours (…, 3) as Qt packs them (…)."""
    red, green, blue = np.moveaxis(colours.astype(np.uint32), -1, 0)
    return np.asarray(0xFF000000 | red << 16 | green << 8 | blue, np.uint32)


def _image(colours: NDArray[np.uint32], form: QImage.Format) -> QImage:
    data = np.ascontiguousarray(colours)
    height, width = data.shape
    return QImage(data.data, width, height, 4 * width, form).copy()


def _mixed(colour: Colour, ground: Colour, strength: float) -> Colour:
    red, green, blue = (
        round(below + strength * (part - below)) for part, below in zip(colour, ground, strict=True)
    )
    return red, green, blue


def _colour(name: str) -> Colour:
    colour = QColor(name)
    return colour.red(), colour.green(), colour.blue()


_TICK = 3.0
_GAP = 3.0
LEAST = 60.0
"""Least width and height of a picture that has axes, widget px."""
_LOUD, _FAINT = 3.0, 0.3
"""Lines of a grid with more contrast than this are drawn with this opacity."""


@dataclass(frozen=True)
class ValueFrame:
    """Where values lie on a face: ``box`` is what the axes span, scene units."""

    box: QRectF
    x: Axis
    y: Axis

    def within(self, points: Floats) -> Floats:
        """Where points (n, 2) lie on the face; those that lie beyond the axes are left out."""
        across, up = self.x.shares(points[:, 0]), self.y.shares(points[:, 1])
        with np.errstate(invalid="ignore"):
            inside = (across >= 0.0) & (across <= 1.0) & (up >= 0.0) & (up <= 1.0)
        x = self.box.left() + self.box.width() * across[inside]
        y = self.box.bottom() - self.box.height() * up[inside]
        return np.column_stack([x, y])

    def places(self, points: Floats) -> list[QPointF]:
        """As ``within``, as points to draw."""
        return [QPointF(*place) for place in self.within(points).tolist()]


def letters(zoom: float) -> QFont:
    """The letters beside axes."""
    return font(legible_size(SMALL - 1, zoom))


def draw_remarks(
    painter: QPainter, notes: tuple[str, ...], box: QRectF, theme: Theme, zoom: float
) -> QRectF:
    """Draw what is not shown in a line at the lower end of ``box``; the rest of the box."""
    used = letters(zoom)
    height = QFontMetricsF(used).height()
    if not notes or box.height() < 4.0 * height:
        return box
    painter.setFont(used)
    painter.setPen(QColor(theme.warning))
    line = QRectF(box.left(), box.bottom() - height, box.width(), height)
    text = QFontMetricsF(used).elidedText(
        "⚠ " + " · ".join(notes), Qt.TextElideMode.ElideRight, box.width()
    )
    painter.drawText(line, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
    return box.adjusted(0.0, 0.0, 0.0, -height - 1.0)


@dataclass(frozen=True)
class Axes:
    """Axes at the edges of ``box`` as far as there is room for them, and the frame inside."""

    frame: ValueFrame
    box: QRectF
    used: QFont
    name: str = ""
    """The name of the x axis."""
    below: Sequence[tuple[float, str]] = ()
    """Ticks of the x axis and what is written at them."""
    beside: Sequence[tuple[float, str]] = ()
    wide: float = 0.0
    """Width of what is written beside the y axis."""

    def draw(self, painter: QPainter, theme: Theme) -> None:
        """Draw the grid, the ticks and the numbers."""
        if self.frame.box == self.box:
            return
        box, inner, metrics = self.box, self.frame.box, QFontMetricsF(self.used)
        painter.setFont(self.used)
        across, up = ([tick for tick, _ in ticks] for ticks in (self.below, self.beside))
        _draw_grid(painter, self.frame, across, up, theme)
        painter.setPen(QColor(theme.ink_soft))
        middle = Qt.AlignmentFlag.AlignVCenter
        shares = self.frame.y.shares(up).tolist()
        for share, (_, text) in zip(shares, self.beside, strict=True):
            at = inner.bottom() - inner.height() * share
            place = QRectF(box.left(), at - 10.0, self.wide + 0.5, 20.0)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | middle), text)
        end, name = inner.right(), self.name
        high = metrics.height()
        if name:
            end -= metrics.horizontalAdvance(name) + _GAP
            place = QRectF(inner.left(), inner.bottom() + _TICK, inner.width(), high)
            painter.drawText(place, int(Qt.AlignmentFlag.AlignRight | middle), name)
        shares = self.frame.x.shares(across).tolist()
        for share, (_, text) in zip(shares, self.below, strict=True):
            at, half = inner.left() + inner.width() * share, metrics.horizontalAdvance(text) / 2.0
            at = max(at, inner.left() + half - _TICK - _GAP)
            at = min(at, box.right() - half) if not name else at
            if at + half <= end + 0.5 or not name:
                place = QRectF(at - half - 1.0, inner.bottom() + _TICK, 2 * half + 2.0, high)
                painter.drawText(place, int(Qt.AlignmentFlag.AlignHCenter | middle), text)


def axes_in(x: Axis, y: Axis, box: QRectF, zoom: float, name: str = "") -> Axes:
    """Axes at the edges of ``box``; none if it is small."""
    used = letters(zoom)
    metrics = QFontMetricsF(used)
    if min(box.width(), box.height()) * zoom < LEAST:
        return Axes(ValueFrame(box, x, y), box, used)
    rows = max(2, int(box.height() / (2.2 * metrics.height())))
    beside = [(tick, number(tick, 3)) for tick in y.ticks(min(rows, 6))]
    wide = max((metrics.horizontalAdvance(text) for _, text in beside), default=0.0)
    inner = box.adjusted(
        wide + _TICK + _GAP, 0.5 * metrics.height() - 2.0, -2.0, -metrics.height() - _TICK
    )
    columns = max(2, int(inner.width() / max(1.0, metrics.horizontalAdvance("−0.0000"))))
    below = [(tick, number(tick, 3)) for tick in x.ticks(min(columns, 7))]
    return Axes(ValueFrame(inner, x, y), box, used, name, below, beside, wide)


def draw_axes(
    painter: QPainter, x: Axis, y: Axis, box: QRectF, theme: Theme, zoom: float
) -> ValueFrame:
    """Draw axes at the edges of ``box`` as far as there is room; the frame inside them."""
    axes = axes_in(x, y, box, zoom)
    axes.draw(painter, theme)
    return axes.frame


def draw_border(painter: QPainter, box: QRectF, theme: Theme) -> None:
    """Draw a thin line around a picture."""
    painter.setPen(QPen(QColor(theme.hairline), 0.8))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(box)


def _draw_grid(
    painter: QPainter, frame: ValueFrame, across: list[float], up: list[float], theme: Theme
) -> None:
    """Draw ticks outside the frame and faint lines inside it."""
    box = frame.box
    columns = [box.left() + box.width() * share for share in frame.x.shares(across).tolist()]
    rows = [box.bottom() - box.height() * share for share in frame.y.shares(up).tolist()]
    line = QColor(theme.hairline)
    if contrast(theme.hairline, theme.canvas) > _LOUD:
        line.setAlphaF(_FAINT)
    painter.setPen(QPen(line, 0.6))
    painter.drawLines([QLineF(x, box.top(), x, box.bottom()) for x in columns])
    painter.drawLines([QLineF(box.left(), y, box.right(), y) for y in rows])
    painter.setPen(QPen(QColor(theme.ink_faint), 0.8))
    painter.drawLines([QLineF(x, box.bottom(), x, box.bottom() + _TICK) for x in columns])
    painter.drawLines([QLineF(box.left() - _TICK, y, box.left(), y) for y in rows])


_WIDE, _DOT = 1.6, 5.0
"""Width of a line, and of a line's only point."""
_ABOVE = 1.0 / 3.0
"""Share of the height of a face that names above its axes take at most."""
_APART = 10.0
"""Room between names in a row."""


class LineName(NamedTuple):
    """The name of a line, by the line's number, and where it stands."""

    line: int
    text: str
    place: QRectF


def draw_lines(
    painter: QPainter, picture: PlotPicture, box: QRectF, theme: Theme, zoom: float, *, near: bool
) -> None:
    """Draw lines into ``box``; where it is ``near``, with axes and names."""
    frame, names, above = ValueFrame(box, picture.x, picture.y), list[LineName](), list[LineName]()
    pieces = None
    if near:
        step = editor.tr("step")
        axes = axes_in(picture.x, picture.y, box, zoom, step)
        pieces = _drawn(picture, axes.frame, zoom)
        names = _in_corner(picture, axes.frame, pieces, zoom)
        above = [] if names else _above(picture, box, zoom)
        if above:
            lower = QRectF(box.left(), above[-1].place.bottom(), 0.0, 0.0)
            lower.setBottomRight(box.bottomRight())
            axes, pieces = axes_in(picture.x, picture.y, lower, zoom, step), None
        axes.draw(painter, theme)
        frame = axes.frame
    draw_border(painter, frame.box, theme)
    _draw_pieces(painter, pieces or _drawn(picture, frame, zoom), frame, theme)
    _draw_names(painter, names, theme, zoom, grounded=True)
    _draw_names(painter, above, theme, zoom, grounded=False)


def _drawn(picture: PlotPicture, frame: ValueFrame, zoom: float) -> list[list[Floats]]:
    """The pieces of each line as they are drawn: places (n, 2) on the face."""
    columns = max(1, math.ceil(frame.box.width() * zoom / 2.0))
    return [
        [frame.within(thinned(piece, columns)) for piece in _pieces(line)] for line in picture.lines
    ]


def _draw_pieces(
    painter: QPainter, lines: list[list[Floats]], frame: ValueFrame, theme: Theme
) -> None:
    painter.save()
    painter.setClipRect(frame.box, Qt.ClipOperation.IntersectClip)
    styles = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine)
    for i, pieces in enumerate(lines):
        pen = QPen(class_colour(i, theme), _WIDE, styles[i % len(styles)])
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)  # a fraction of the time of a round one
        painter.setPen(pen)
        for piece in pieces:
            places = [QPointF(*place) for place in piece.tolist()]
            if len(places) > 1:
                painter.drawPolyline(QPolygonF(places))
            elif places:
                dot = QPen(pen.color(), _DOT)
                dot.setCapStyle(Qt.PenCapStyle.RoundCap)
                painter.setPen(dot)
                painter.drawPoint(places[0])
                painter.setPen(pen)
    painter.restore()


def _pieces(line: Line) -> list[Floats]:
    """The stretches of a line without gaps, as points (n, 2)."""
    points = np.column_stack([line.steps, line.values])
    known = np.isfinite(line.values)
    if known.all():
        return [points]
    cuts = np.flatnonzero(~known)
    return [piece[np.isfinite(piece[:, 1])] for piece in np.split(points, cuts)]


def thinned(points: Floats, columns: int) -> Floats:
    """Points (n, 2) of a line, at most four for each of ``columns``: of as many equal parts the
    first, lowest, highest and last point, so that the line looks the same. Source: the M4
    aggregation of Jugel et al. 2014.
    """
    if len(points) <= 4 * columns:
        return points
    edges = np.linspace(0, len(points), columns + 1).astype(int)
    parts = np.split(points[:, 1], edges[1:-1])
    kept = [
        start + offset
        for start, part in zip(edges[:-1].tolist(), parts, strict=True)
        for offset in (0, int(part.argmin()), int(part.argmax()), len(part) - 1)
    ]
    return np.asarray(points[np.unique(kept)])


# ---- names --------------------------------------------------------------------------------


def _draw_names(
    painter: QPainter, names: Sequence[LineName], theme: Theme, zoom: float, *, grounded: bool
) -> None:
    """Draw names in the colours of their lines, ``grounded`` on the colour of the canvas."""
    painter.setFont(letters(zoom))
    ground = QColor(theme.canvas)
    ground.setAlphaF(0.75)
    for line, text, place in names:
        if grounded:
            painter.fillRect(place, ground)
        painter.setPen(class_colour(line, theme))
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)


def _texts(picture: PlotPicture) -> list[str]:
    """What lines are called, with their last values."""
    return [f"{line.name} {number(line.values[-1])}" for line in picture.lines]


def _in_corner(
    picture: PlotPicture, frame: ValueFrame, lines: list[list[Floats]], zoom: float
) -> list[LineName]:
    """Names of lines, one below the other, in a corner where no line is; none if there is none."""
    metrics = QFontMetricsF(letters(zoom))
    high = metrics.height()
    inner = frame.box.adjusted(4.0, 1.0, -4.0, -1.0)
    rows = max(1, int(frame.box.height() / high) - 1)
    texts = [
        metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, inner.width())
        for text in _texts(picture)[:rows]
    ]
    widths = [metrics.horizontalAdvance(text) for text in texts]
    size = QSizeF(max(widths, default=0.0) + 1.0, len(texts) * high)
    paths = [piece for pieces in lines for piece in pieces]
    room = _free_corner(inner, size, paths, 1.0 / zoom)
    if room is None:
        return []
    is_left = room.left() == inner.left()
    return [
        LineName(i, text, QRectF(
            room.left() if is_left else room.right() - wide - 1.0, room.top() + i * high,
            wide + 1.0, high,
        ))
        for i, (text, wide) in enumerate(zip(texts, widths, strict=True))
    ]  # fmt: skip


def _above(picture: PlotPicture, box: QRectF, zoom: float) -> list[LineName]:
    """Names of lines in rows at the upper end of ``box``, if need be without values; none if they
    would leave too little of it.
    """
    metrics = QFontMetricsF(letters(zoom))
    least = max((1.0 - _ABOVE) * box.height(), LEAST / zoom)
    for texts in (_texts(picture), [line.name for line in picture.lines]):
        names = _in_rows(texts, box, metrics)
        if names and box.bottom() - names[-1].place.bottom() >= least:
            return names
    return []


def _in_rows(texts: list[str], box: QRectF, metrics: QFontMetricsF) -> list[LineName]:
    """Texts beside each other in rows from the upper left of ``box`` on."""
    left, top, names = box.left(), box.top(), []
    for i, text in enumerate(texts):
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, box.width() - 1.0)
        wide = metrics.horizontalAdvance(elided) + 1.0
        if left > box.left() and left + wide > box.right():
            left, top = box.left(), top + metrics.height()
        names.append(LineName(i, elided, QRectF(left, top, wide, metrics.height())))
        left += wide + _APART
    return names


def _free_corner(inner: QRectF, size: QSizeF, paths: list[Floats], pixel: float) -> QRectF | None:
    """Where a corner of a face has room of a size that no path comes nearer than a pixel, the
    upper right first.
    """
    right, bottom = inner.right() - size.width(), inner.bottom() - size.height()
    rooms = [
        QRectF(QPointF(left, top), size)
        for top in (inner.top(), bottom)
        for left in (right, inner.left())
    ]
    return next(
        (room for room in rooms if not any(_is_drawn_in(p, room, pixel) for p in paths)), None
    )


def _is_drawn_in(path: Floats, room: QRectF, pixel: float) -> bool:
    """Whether a part of a path, or its only point, is drawn within a room or a pixel from it."""
    apart = 0.5 * (_WIDE if len(path) > 1 else _DOT) + pixel
    return crosses(path, room.adjusted(-apart, -apart, apart, apart))


def crosses(path: Floats, box: QRectF) -> bool:
    """Whether a part of a path, or its only point, lies within a box."""
    start, end = (path[:-1], path[1:]) if len(path) > 1 else (path, path)
    least = np.array([box.left(), box.top()])
    most = np.array([box.right(), box.bottom()])
    known = np.isfinite(start).all(1) & np.isfinite(end).all(1)
    near = (np.minimum(start, end) <= most).all(1) & (np.maximum(start, end) >= least).all(1)
    start, end = start[known & near], end[known & near]
    way = end - start
    way[way == 0.0] = 1e-9
    first, second = (least - start) / way, (most - start) / way
    enters = np.maximum(np.minimum(first, second).max(1, initial=0.0), 0.0)
    leaves = np.minimum(np.maximum(first, second).min(1, initial=1.0), 1.0)
    return bool(np.any(enters <= leaves))
