"""Where a plot names its lines: in a corner where no line is, or else beside its title."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from gradwire.app.services import theme as themes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PySide6.QtCore import QSizeF

    from gradwire.app.panels.training.lines import Line


class Corner(NamedTuple):
    """A corner of a plot: as shares of its width and height, and how far names stand off, px."""

    at: tuple[float, float]
    offset: tuple[int, int]


CORNERS = (
    Corner((1.0, 0.0), (-6, 4)),
    Corner((0.0, 0.0), (6, 4)),
    Corner((1.0, 1.0), (-6, -4)),
    Corner((0.0, 1.0), (6, -4)),
)
"""Where the names of lines may stand in a plot, the usual corner first."""
_ROOM = 14.0
"""Free space around names in a corner that they come to, px: they should stay there."""


def placed(
    points: tuple[Any, Any], log: tuple[bool, bool], shown: QRectF, area: QRectF
) -> NDArray[np.float64]:
    """Where a drawn line lies in the area of its plot, px: rows of x and y."""
    x, y = points
    if x is None or y is None:
        return np.zeros((0, 2))
    x, y = np.log10(x) if log[0] else x, np.log10(y) if log[1] else y
    across = area.left() + (x - shown.left()) / shown.width() * area.width()
    down = area.bottom() - (y - shown.top()) / shown.height() * area.height()
    return np.column_stack([across, down])


def free_corner(
    now: Corner | None, size: QSizeF, area: QRectF, paths: Sequence[NDArray[np.float64]]
) -> Corner | None:
    """A corner of an area where names of a size cover no path, first the one where they are."""
    for corner in sorted(CORNERS, key=lambda corner: corner is not now):
        box = _box(corner, size, 2.0 if corner is now else _ROOM)
        box.moveTo(
            area.left() + corner.at[0] * (area.width() - box.width()),
            area.top() + corner.at[1] * (area.height() - box.height()),
        )
        if area.contains(box) and not any(_crosses(path, box) for path in paths):
            return corner
    return None


def beside(title: str, lines: Sequence[Line], width: float) -> str:
    """HTML of names of lines, with how each is drawn, that fit beside a title in a width, px."""
    metrics = QFontMetricsF(themes.font(themes.scaled(11)))
    room = width - metrics.horizontalAdvance(title)
    each = room / len(lines) - metrics.horizontalAdvance("\u2003\u2501\u2501 ") - 2.0
    html = ""
    for line in lines:
        mark = "\u2501\u2501" if line.dash is Qt.PenStyle.SolidLine else "\u254d\u254d"
        name = metrics.elidedText(line.label, Qt.TextElideMode.ElideMiddle, max(each, 12.0))
        html += f'\u2003<span style="color: {line.colour.name()}">{mark}</span> {escaped(name)}'
    return html


def _box(corner: Corner, size: QSizeF, margin: float) -> QRectF:
    """What names of a size cover with their distance from the edges and a margin."""
    wide, high = (abs(offset) + margin for offset in corner.offset)
    return QRectF(0.0, 0.0, size.width() + wide, size.height() + high)


def _crosses(path: NDArray[np.float64], box: QRectF) -> bool:
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


def escaped(text: str) -> str:
    """Text for a label that reads HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
