"""Draws the lines of a plot into its face, and names them where no line is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF

from gradwire.app.canvas.paint.views.frames import (
    LEAST,
    ValueFrame,
    axes_in,
    class_colour,
    draw_border,
    letters,
)
from gradwire.app.services.translation import editor
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.views import Floats, Line, PlotPicture

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
    return next((room for room in rooms if not any(_crosses(p, room, pixel) for p in paths)), None)


def _crosses(path: Floats, room: QRectF, pixel: float) -> bool:
    """Whether a part of a path, or its only point, is drawn within a room or a pixel from it."""
    start, end, wide = (path[:-1], path[1:], _WIDE) if len(path) > 1 else (path, path, _DOT)
    apart = 0.5 * wide + pixel
    least = np.array([room.left(), room.top()]) - apart
    most = np.array([room.right(), room.bottom()]) + apart
    near = (np.minimum(start, end) <= most) & (np.maximum(start, end) >= least)
    start, end = start[near.all(1)], end[near.all(1)]
    way = end - start
    way[way == 0.0] = 1e-9
    first, second = (least - start) / way, (most - start) / way
    enters = np.maximum(np.minimum(first, second).max(1), 0.0)
    leaves = np.minimum(np.maximum(first, second).min(1), 1.0)
    return bool(np.any(enters <= leaves))
