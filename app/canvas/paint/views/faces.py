"""Draws what a view shows into its face; points have a colour and a form for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from gradwire.app.canvas.paint.views.lines import (
    ValueFrame,
    class_colour,
    draw_axes,
    draw_border,
    draw_lines,
    draw_remarks,
    image_of,
    letters,
    over_field,
    scale_image,
    table_of,
)
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.runtime.flow import number
from gradwire.runtime.views import (
    FIRST,
    LAST,
    NOT_FINITE,
    FieldPicture,
    HistogramPicture,
    ImagePicture,
    NoPicture,
    Picture,
    PlotPicture,
    ScatterPicture,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradwire.app.services.theme import Theme
    from gradwire.runtime.views import PointMarks, Scale

_SHADES = 24
"""Shades that points are drawn in at most."""
_FORMS = 4
"""Forms: a disc, a square, a triangle, a diamond."""
_FEW = 300
"""Points up to which they are drawn large."""


def draw_marks(
    painter: QPainter,
    marks: Sequence[PointMarks],
    frame: ValueFrame,
    theme: Theme,
    *,
    field: bool = False,
) -> None:
    """Draw marks inside a frame, each with a rim that sets it off from what is below.

    Over a ``field`` they are stronger than the same colours of the field.
    """
    painter.save()
    painter.setClipRect(frame.box, Qt.ClipOperation.IntersectClip)
    for each in marks:
        size = 6.0 if len(each.points) <= _FEW else 4.0
        if each.crosses:
            _draw_crosses(painter, frame.places(each.points), size, theme)
            continue
        for form, colour, chosen in _groups(each, theme, field=field):
            _draw_form(painter, form, frame.places(each.points[chosen]), size, colour, theme)
    painter.restore()


def draw_classes(
    painter: QPainter,
    labels: Sequence[str],
    box: QRectF,
    theme: Theme,
    zoom: float,
    *,
    field: bool = False,
) -> None:
    """Name the classes in the upper right corner of a picture, if there are few."""
    used = letters(zoom)
    metrics = QFontMetricsF(used)
    line = metrics.height()
    wide = max((metrics.horizontalAdvance(label) for label in labels), default=0.0) + 14.0
    if (
        not 1 < len(labels) <= 8
        or wide > 0.4 * box.width()
        or line * len(labels) > box.height() / 2
    ):
        return
    ground = QColor(theme.canvas)
    ground.setAlphaF(0.8)
    place = QRectF(box.right() - wide - 3.0, box.top() + 3.0, wide, line * len(labels) + 2.0)
    painter.fillRect(place, ground)
    painter.setFont(used)
    for row, label in enumerate(labels):
        middle = place.top() + 1.0 + (row + 0.5) * line
        at = QPointF(place.left() + 6.0, middle)
        colour = _class_ink(row, theme, field=field)
        _draw_form(painter, row % _FORMS, [at], 6.0, colour, theme)
        painter.setPen(QColor(theme.ink))
        text = QRectF(place.left() + 12.0, middle - line / 2.0, wide - 12.0, line)
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter), label)


def _class_ink(number: int, theme: Theme, *, field: bool) -> QColor:
    colour = class_colour(number, theme)
    return over_field(colour, theme) if field else colour


def _groups(
    marks: PointMarks, theme: Theme, *, field: bool
) -> Iterator[tuple[int, QColor, np.ndarray]]:
    """Form, colour and which of the points (n,) of each class or shade."""
    count = len(marks.points)
    if marks.levels is None:
        yield 0, _class_ink(0, theme, field=field), np.ones(count, bool)
        return
    if marks.scale == "classes":
        for level in np.unique(marks.levels).tolist():
            number = level - FIRST
            yield number % _FORMS, _class_ink(number, theme, field=field), marks.levels == level
        return
    table = table_of("sequential", theme)
    bands = np.where(
        marks.levels == NOT_FINITE, -1, (marks.levels.astype(int) - FIRST) * _SHADES // 255
    )
    for band in np.unique(bands).tolist():
        chosen = bands == band
        level = NOT_FINITE if band < 0 else FIRST + int((band + 0.5) * 254 / _SHADES)
        yield 0, QColor(*table[level].tolist()), chosen


def _draw_form(
    painter: QPainter, form: int, points: list[QPointF], size: float, colour: QColor, theme: Theme
) -> None:
    rim = QColor(theme.canvas)
    if form == 0:
        painter.setPen(QPen(rim, 0.8))
        painter.setBrush(colour)
        for at in points:
            painter.drawEllipse(at, 0.5 * size + 0.4, 0.5 * size + 0.4)
        return
    if form == 1:
        many = QPolygonF(points)
        for width, ink in ((size + 1.6, rim), (size, colour)):
            pen = QPen(ink, width)
            pen.setCapStyle(Qt.PenCapStyle.SquareCap)
            painter.setPen(pen)
            painter.drawPoints(many)
        return
    half = 0.62 * size
    corners = (
        [(0, -1), (0.95, 0.75), (-0.95, 0.75)] if form == 2 else [(0, -1), (1, 0), (0, 1), (-1, 0)]
    )
    path = QPainterPath()
    for at in points:
        path.addPolygon(QPolygonF([at + QPointF(x * half, y * half) for x, y in corners]))
        path.closeSubpath()
    painter.setPen(QPen(rim, 0.8))
    painter.setBrush(colour)
    painter.drawPath(path)


def _draw_crosses(painter: QPainter, points: list[QPointF], size: float, theme: Theme) -> None:
    half = 0.5 * size
    lines = []
    for at in points:
        x, y = at.x(), at.y()
        lines += [
            QLineF(x - half, y - half, x + half, y + half),
            QLineF(x - half, y + half, x + half, y - half),
        ]
    for width, colour in ((2.8, theme.canvas), (1.4, theme.ink)):
        painter.setPen(QPen(QColor(colour), width))
        painter.drawLines(lines)


_STALE = 0.45
"""Opacity of a picture of an older diagram."""
_LARGEST = 1024
"""Pixels along a side up to which sharp pixels are enlarged."""
_BAR = 8.0
"""Width of a scale of colours beside a picture."""
_ROOM_FOR_BAR = 190.0
"""Width of a picture from which it has a scale of colours beside it, widget px."""


def draw_view(
    painter: QPainter, picture: Picture, box: QRectF, theme: Theme, zoom: float, *, stale: bool
) -> None:
    """Draw a picture into ``box``, scene units; from afar without axes, numbers and remarks."""
    painter.save()
    painter.setOpacity(_STALE if stale else 1.0)
    near = zoom >= NUMBERS
    if isinstance(picture, NoPicture):
        if near:
            _draw_text(painter, picture.summary, box, theme, zoom)
        painter.restore()
        return
    if near:
        box = draw_remarks(painter, picture.notes, box, theme, zoom)
    match picture:
        case ImagePicture():
            _draw_image(painter, picture, box, theme, zoom, near=near)
        case FieldPicture():
            _draw_field(painter, picture, box, theme, zoom, near=near)
        case ScatterPicture():
            frame = _frame(painter, picture, box, theme, zoom, near=near)
            draw_border(painter, frame.box, theme)
            draw_marks(painter, picture.marks, frame, theme)
            if near:
                draw_classes(painter, picture.labels, frame.box, theme, zoom)
        case HistogramPicture():
            frame = _frame(painter, picture, box, theme, zoom, near=near)
            _draw_bars(painter, picture, frame, theme)
        case PlotPicture():
            draw_lines(painter, picture, box, theme, zoom, near=near)
    painter.restore()


def _frame(
    painter: QPainter,
    picture: ScatterPicture | HistogramPicture | FieldPicture,
    box: QRectF,
    theme: Theme,
    zoom: float,
    *,
    near: bool,
) -> ValueFrame:
    if near:
        return draw_axes(painter, picture.x, picture.y, box, theme, zoom)
    return ValueFrame(box, picture.x, picture.y)


def _draw_text(painter: QPainter, text: str, box: QRectF, theme: Theme, zoom: float) -> None:
    painter.setFont(letters(zoom))
    painter.setPen(QColor(theme.ink_soft))
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
    painter.drawText(box, int(flags), text)


def _draw_image(
    painter: QPainter, picture: ImagePicture, box: QRectF, theme: Theme, zoom: float, *, near: bool
) -> None:
    """Draw pixels as large as they fit, sharp where they are enlarged."""
    if near and picture.pixels.ndim == 2:
        box = _draw_scale(painter, picture.scale, (picture.low, picture.high), box, theme, zoom)
    image = image_of(picture, theme.name)
    scale = min(box.width() / image.width(), box.height() / image.height())
    size = QPointF(image.width() * scale, image.height() * scale)
    corner = box.center() - size / 2.0
    place = QRectF(corner, corner + size)
    times = min(int(scale), _LARGEST // max(image.width(), image.height()))
    if times > 1:  # here, since files of pictures are smoothed where they are shown
        image = image.scaled(times * image.width(), times * image.height())
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, scale < 1.0)
    painter.drawImage(place, image)


def _draw_field(
    painter: QPainter, picture: FieldPicture, box: QRectF, theme: Theme, zoom: float, *, near: bool
) -> None:
    if near and picture.scale != "classes":
        ends = (picture.low, picture.high)
        box = _draw_scale(painter, picture.scale, ends, box, theme, zoom, picture.centre)
    frame = _frame(painter, picture, box, theme, zoom, near=near)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, picture.scale != "classes")
    rows, columns = picture.levels.shape
    # Values belong to points, of which the outermost lie on the edges of the frame.
    inside = QRectF(0.5, 0.5, columns - 1.0, rows - 1.0)
    painter.drawImage(frame.box, image_of(picture, theme.name), inside)
    _draw_contour(painter, picture, frame, theme)
    draw_marks(painter, picture.marks, frame, theme, field=True)
    draw_border(painter, frame.box, theme)
    if near:
        draw_classes(painter, picture.labels, frame.box, theme, zoom, field=True)


def _draw_contour(
    painter: QPainter, picture: FieldPicture, frame: ValueFrame, theme: Theme
) -> None:
    if not len(picture.lines):
        return
    ends = picture.lines.reshape(-1, 2)
    across = frame.box.left() + frame.box.width() * picture.x.shares(ends[:, 0])
    down = frame.box.bottom() - frame.box.height() * picture.y.shares(ends[:, 1])
    pieces = np.column_stack([across, down]).reshape(-1, 4)
    scale = painter.transform().m11()
    pen = QPen(QColor(theme.ink), max(1.4, 1.2 / scale if scale > 0.0 else 0.0))
    pen.setCapStyle(Qt.PenCapStyle.SquareCap)  # a quarter of the time of a round one
    painter.setPen(pen)
    painter.drawLines([QLineF(*piece) for piece in pieces.tolist()])


def _draw_scale(
    painter: QPainter,
    scale: Scale,
    ends: tuple[float, float],
    box: QRectF,
    theme: Theme,
    zoom: float,
    centre: float | None = None,
) -> QRectF:
    """Draw the colours of a scale at the right of ``box`` where it is wide; the rest of the box."""
    if box.width() * zoom < _ROOM_FOR_BAR:
        return box
    used = letters(zoom)
    metrics = QFontMetricsF(used)
    shown = [(LAST, ends[1]), (FIRST, ends[0])]
    if scale == "diverging":
        shown.insert(1, ((FIRST + LAST) // 2, sum(ends) / 2.0 if centre is None else centre))
    texts = [(level, number(value, 3)) for level, value in shown]
    wide = max(metrics.horizontalAdvance(text) for _, text in texts)
    line = metrics.height()
    bar = QRectF(box.right() - wide - _BAR - 4.0, box.top() + line / 2.0, _BAR, box.height() - line)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, True)
    painter.drawImage(bar, scale_image(scale, theme.name))
    draw_border(painter, bar, theme)
    painter.setFont(used)
    painter.setPen(QColor(theme.ink_soft))
    for level, text in texts:
        at = bar.bottom() - (level - FIRST) / (LAST - FIRST) * bar.height()
        place = QRectF(bar.right() + 3.0, at - line / 2.0, wide + 1.0, line)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), text)
    return box.adjusted(0.0, 0.0, -(wide + _BAR + 12.0), 0.0)


def _draw_bars(
    painter: QPainter, picture: HistogramPicture, frame: ValueFrame, theme: Theme
) -> None:
    box = frame.box
    tops = np.nan_to_num(np.clip(picture.y.shares(picture.counts), 0.0, 1.0)).tolist()
    edges = (box.left() + box.width() * picture.x.shares(picture.edges)).tolist()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(class_colour(0, theme))
    bars = [
        QRectF(left, box.bottom() - top * box.height(), 0.92 * (right - left), top * box.height())
        for left, right, top in zip(edges, edges[1:], tops, strict=False)
        if top > 0.0
    ]
    painter.drawRects(bars)
    draw_border(painter, box, theme)
