"""Shapes and dtypes beside the output ports, where there is room and the face doesn't say them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from app.canvas.state.formatting import dimensions, readout
from app.services.theme import SMALL, font

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats, Indices, Scene
    from app.canvas.state.view_state import View

FROM = 1.4
"""Zoom from which they are shown."""
_REACH = 60.0
"""How far the words may go from their port, scene units."""
_ASIDE, _RISE = 8.0, 16.0
_BELOW = 14.0
_SHRINK = 0.75
_SHORT = {"f": "f", "i": "i", "u": "u"}
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip


def kind_of(view: View, block: int, port: str) -> str:
    """``2 × 3 f32`` of what an output gives; empty while that is not known, and where the
    face says it: that of an array too large to be shown in full.
    """
    value = view.facts.value(view.scene.names[block], port)
    if not isinstance(value, np.ndarray) or readout(value).prose:
        return ""
    dtype = _SHORT.get(value.dtype.kind, "") + str(8 * value.dtype.itemsize)
    dtype = "bool" if value.dtype == bool else dtype
    return f"{dimensions(value.shape)} {dtype}" if value.ndim else dtype


def _risen(scene: Scene, blocks: Indices) -> set[int]:
    """Ports of these blocks whose wires go upwards."""
    ports = scene.wire_ports[scene.wires_of(blocks)]
    heights = scene.port_points()[ports, 1]
    rises = heights[:, 1] < heights[:, 0] - _RISE
    return set(ports[rises, 0].tolist())


def paint_kinds(painter: QPainter, view: View, shown: Floats) -> None:
    """Write them small, above the wire, below one that rises.

    ``shown`` is the area of the scene that is painted.
    """
    camera, scene = view.camera, view.scene
    if camera.zoom < FROM:
        return
    near = scene.blocks_in(shown - (_REACH, 0.0, 0.0, 0.0))
    risen = _risen(scene, near)
    letters = font(SMALL)
    metrics = QFontMetricsF(letters)
    ink, ground = QColor(view.theme.ink_faint), QColor(view.theme.canvas)
    for block in near.tolist():
        slots, first = scene.slots[block], int(scene.first_port[block])
        outputs = np.arange(len(slots.outputs)) + first + len(slots.inputs)
        places = camera.to_widget(scene.port_points(outputs)).tolist()
        for number, port, (x, y) in zip(outputs.tolist(), slots.outputs, places, strict=True):
            words = kind_of(view, block, port)
            if not words:
                continue
            painter.save()
            painter.translate(x, y)
            painter.scale(camera.zoom * _SHRINK, camera.zoom * _SHRINK)
            painter.setFont(letters)
            room = _REACH / _SHRINK - _ASIDE
            text = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room)
            top = _BELOW if number in risen else -_RISE
            place = QRectF(_ASIDE, top, metrics.horizontalAdvance(text), _RISE - 2.0)
            painter.fillRect(place.adjusted(-2.0, 0.0, 2.0, 0.0), ground)
            painter.setPen(ink)
            painter.drawText(place, int(_FLAGS), text)
            painter.restore()
