"""Paints shapes and dtypes beside output ports whose faces don't show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gradwire.app.canvas.state.port_labels import value_type
from gradwire.app.services.theme import SMALL, font

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import ViewState

MIN_ZOOM = 1.4
"""Zoom from which types are shown."""
ROOM = 60.0
"""How far the text may extend from its port, scene units."""
_ASIDE, _RISE = 8.0, 16.0
_BELOW = 14.0
_SHRINK = 0.75
_FLAGS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip


def paint_port_types(painter: QPainter, view: ViewState, area: Floats) -> None:
    """Paint the types within ``area`` of the scene: above the wire, or below one that rises.

    None stands where a wire rises and there is no room below: beside another wire of the same
    port, or another port. None stands beside what no wire leaves, where a loss ends the page.
    """
    camera, scene, theme = view.camera, view.scene, view.theme
    if camera.zoom < MIN_ZOOM:
        return
    letters = font(SMALL)
    metrics = QFontMetricsF(letters)
    for block, port, number, top in _places(scene, scene.blocks_in(area - (ROOM, 0.0, 0.0, 0.0))):
        label = value_type(view.annotations.page, block, port)
        if not label:
            continue
        painter.save()
        painter.translate(*camera.to_widget(scene.port_points(np.array([number])))[0].tolist())
        painter.scale(camera.zoom * _SHRINK, camera.zoom * _SHRINK)
        painter.setFont(letters)
        room = ROOM / _SHRINK - _ASIDE
        text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, room)
        place = QRectF(_ASIDE, top, metrics.horizontalAdvance(text), _RISE - 2.0)
        painter.fillRect(place.adjusted(-2.0, 0.0, 2.0, 0.0), QColor(theme.canvas))
        painter.setPen(QColor(theme.ink_faint))
        painter.drawText(place, int(_FLAGS), text)
        painter.restore()


def _places(scene: Scene, blocks: Indices) -> Iterator[tuple[int, str, int, float]]:
    """The outputs of ``blocks`` with room for a label: block, name, port, and top of the label."""
    rising, falling = _leaving(scene, blocks)
    for block in blocks.tolist():
        slots = scene.slots[block]
        first = int(scene.first_port[block]) + len(slots.inputs)
        is_end = type(scene.blocks[block]).head
        for number, port in enumerate(slots.outputs, first):
            rises, falls = number in rising, number in falling
            if rises and (falls or len(slots.outputs) > 1):
                continue
            if rises or falls or not is_end:
                yield block, port, number, _BELOW if rises else -_RISE


def _leaving(scene: Scene, blocks: Indices) -> tuple[set[int], set[int]]:
    """Output ports of these blocks with a wire that goes upwards, and with one that does not."""
    ports = scene.wire_ports[scene.wires_of(blocks)]
    heights = scene.port_points()[ports, 1]
    rises = heights[:, 1] < heights[:, 0] - _RISE
    return set(ports[rises, 0].tolist()), set(ports[~rises, 0].tolist())
