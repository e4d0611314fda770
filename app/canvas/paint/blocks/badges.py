"""Draws the badges of blocks: text in a rounded box, on the lower edge of a face or beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint.drawing import legible_scale, placed
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.canvas.state.badge_labels import NumberStatus, status_label
from gradwire.app.services.theme import SMALL, Theme, font

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.state.badge_labels import BadgeLabel
    from gradwire.app.canvas.state.view_state import ViewState

HEIGHT = 15.0
"""Height of a badge, px at 100 %."""
_PAD = 6.0
_GAP = 4.0
_INSET, _RISE = 6.0, 4.0
"""From the right and the upper edge of a block to the badge beside it, px at 100 %."""


def draw_badges(
    painter: QPainter, labels: Sequence[BadgeLabel], start: QPointF, theme: Theme
) -> None:
    """Draw badges in a row; ``start`` is the middle of the left edge of the first."""
    left = start.x()
    for label in labels:
        width = badge_width(label)
        _draw_badge(painter, label, QRectF(left, start.y() - HEIGHT / 2.0, width, HEIGHT), theme)
        left += width + _GAP


def badge_width(label: BadgeLabel) -> float:
    """Width of a badge, px at 100 %."""
    metrics = QFontMetricsF(font(SMALL, bold=True))
    return max(HEIGHT, metrics.horizontalAdvance(label.text)) + _PAD


def paint_status(painter: QPainter, view: ViewState, blocks: Indices) -> None:
    """Paint a badge on the upper right corner of each of these blocks whose status needs one.

    From afar there is none: it would hide the block, and the status bar says what is computed.
    """
    scene, camera = view.scene, view.camera
    if camera.zoom < PLAIN:
        return
    scale = legible_scale(camera.zoom)
    for i in blocks.tolist():
        status = view.status(scene.names[i])
        if status is NumberStatus.CURRENT:
            continue
        label = status_label(status)
        x, y, width, _ = scene.rects[i].tolist()
        with placed(
            painter, camera.x + camera.zoom * (x + width), camera.y + camera.zoom * y, scale
        ):
            start = QPointF(-badge_width(label) - _INSET, -_RISE)
            draw_badges(painter, [label], start, view.theme)


def draw_pill(painter: QPainter, box: QRectF, colour: str, theme: Theme) -> None:
    """Draw the ground of a badge with its outline."""
    painter.setPen(QPen(QColor(colour), 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(box, box.height() / 2.0, box.height() / 2.0)


def _draw_badge(painter: QPainter, label: BadgeLabel, box: QRectF, theme: Theme) -> None:
    colour = theme.warning if label.serious else theme.ink_soft
    draw_pill(painter, box, colour, theme)
    painter.setPen(QColor(colour))
    painter.setFont(font(SMALL, bold=True))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip), label.text)
