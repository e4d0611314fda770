"""Paints shapes and dtypes beside output ports whose faces don't show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from app.canvas.state.port_labels import value_type
from app.services.theme import SMALL, font

if TYPE_CHECKING:
    from app.canvas.scene.arrays import Floats, Indices
    from app.canvas.scene.geometry import Scene
    from app.canvas.state.view_state import ViewState

MIN_ZOOM = 1.4
"""Zoom from which types are shown."""
_ROOM = 60.0
"""How far the text may extend from its port, scene units."""
_ASIDE, _RISE = 8.0, 16.0
_BELOW = 14.0
_SHRINK = 0.75
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip


def paint_port_types(painter: QPainter, view: ViewState, area: Floats) -> None:
    """Paint the types within ``area`` of the scene: above the wire, or below one that rises."""
    camera, scene, theme = view.camera, view.scene, view.theme
    if camera.zoom < MIN_ZOOM:
        return
    near = scene.blocks_in(area - (_ROOM, 0.0, 0.0, 0.0))
    rising = _rising(scene, near)
    letters = font(SMALL)
    metrics = QFontMetricsF(letters)
    for block in near.tolist():
        slots, first = scene.slots[block], int(scene.first_port[block])
        outputs = np.arange(len(slots.outputs)) + first + len(slots.inputs)
        points = camera.to_widget(scene.port_points(outputs)).tolist()
        for number, port, (x, y) in zip(outputs.tolist(), slots.outputs, points, strict=True):
            label = value_type(view.annotations.page, block, port)
            if not label:
                continue
            painter.save()
            painter.translate(x, y)
            painter.scale(camera.zoom * _SHRINK, camera.zoom * _SHRINK)
            painter.setFont(letters)
            room = _ROOM / _SHRINK - _ASIDE
            text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, room)
            top = _BELOW if number in rising else -_RISE
            place = QRectF(_ASIDE, top, metrics.horizontalAdvance(text), _RISE - 2.0)
            painter.fillRect(place.adjusted(-2.0, 0.0, 2.0, 0.0), QColor(theme.canvas))
            painter.setPen(QColor(theme.ink_faint))
            painter.drawText(place, int(_FLAGS), text)
            painter.restore()


def _rising(scene: Scene, blocks: Indices) -> set[int]:
    """Output ports of these blocks with a wire that goes upwards."""
    ports = scene.wire_ports[scene.wires_of(blocks)]
    heights = scene.port_points()[ports, 1]
    rises = heights[:, 1] < heights[:, 0] - _RISE
    return set(ports[rises, 0].tolist())
