"""Paints beside blocks that their numbers are being computed, or older than the diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from gradwire.app.canvas.paint.blocks.badges import badge_width, draw_badges
from gradwire.app.canvas.paint.legible import legible_scale
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.canvas.state.badge_labels import Status, status_label

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.state.view_state import ViewState

_INSET, _RISE = 6.0, 4.0
"""From the right and the upper edge of a block to its badge, px at 100 %."""


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
        if status is Status.CURRENT:
            continue
        label = status_label(status)
        x, y, width, _ = scene.rects[i].tolist()
        painter.save()
        painter.translate(camera.x + camera.zoom * (x + width), camera.y + camera.zoom * y)
        painter.scale(scale, scale)
        start = QPointF(-badge_width(label) - _INSET, -_RISE)
        draw_badges(painter, [label], start, view.theme)
        painter.restore()
