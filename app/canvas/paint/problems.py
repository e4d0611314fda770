"""Marks the blocks with problems, and hidden ports; the marks keep their size from far away."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.covered import covered_ports
from gradwire.app.canvas.state.page_result import SEVERITIES
from gradwire.app.services.theme import SMALL, font

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.state.view_state import ViewState

RADIUS = 7.0
_SIZE = 2 * RADIUS + 2.0
_RING = 6.0
"""Radius of the ring around a port that another block hides, px."""
_INSET = 3.0
"""From the upper right corner of a block to the centre of its mark, px at 100 %."""


def paint_problems(
    painter: QPainter, view: ViewState, area: Floats, *, ratio: float, vector: bool
) -> None:
    """Mark the blocks with problems, and the culprits of the doctor, within ``area`` of the scene.

    Below :data:`NUMBERS` of the problems only the worst are marked. Of marks that would lie on each
    other, one is painted.
    """
    severities, scene = severities_in(view), view.scene
    if not severities:
        return
    unit = max(1.0, view.camera.unit)
    for severity in reversed(SEVERITIES):
        names = [name for name, found in severities.items() if found == severity]
        blocks = np.array([scene.index[name] for name in names], np.intp)
        centres = _centres(view, blocks, area, unit)
        colour = getattr(view.theme, {"info": "ink_soft"}.get(severity, severity))
        sign = "i" if severity == "info" else "!"
        for x, y in centres.tolist():
            if vector:
                painter.save()
                painter.translate(x, y)
                painter.scale(unit, unit)
                _draw(painter, sign, colour, view.theme.canvas)
                painter.restore()
                continue
            picture = _picture(sign, colour, view.theme.canvas, round(unit, 3), ratio)
            half = picture.deviceIndependentSize().width() / 2.0
            painter.drawPixmap(QPointF(x - half, y - half), picture)


def severities_in(view: ViewState) -> dict[str, str]:
    """By block to be marked, the worst of its problems and of what it is at fault for."""
    page = view.annotations.page
    found = dict(page.severities)
    if found and view.camera.zoom < NUMBERS:
        worst = min(found.values(), key=SEVERITIES.index)
        found = {name: severity for name, severity in found.items() if severity == worst}
    for path, severity in view.culprits.items():
        name = path.block_below(page.use)
        if name in view.scene.index:
            found[name] = min(found.get(name, severity), severity, key=SEVERITIES.index)
    return found


def paint_covered_ports(painter: QPainter, view: ViewState, blocks: Indices) -> None:
    """Mark the ports of ``blocks`` that other blocks hide, on top of these."""
    ports = np.fromiter(covered_ports(view.scene, blocks), np.intp)
    if not len(ports):
        return
    unit = max(1.0, view.camera.unit)
    for ink, width in ((view.theme.canvas, 5.0), (view.theme.warning, 2.0)):
        pen = QPen(QColor(ink), width * unit)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for x, y in view.camera.to_widget(view.scene.port_points(ports)).tolist():
            painter.drawEllipse(QPointF(x, y), _RING * unit, _RING * unit)


def _centres(view: ViewState, blocks: Indices, area: Floats, unit: float) -> Floats:
    """Widget points (n, 2) of the marks of ``blocks`` that lie in ``area``, well apart."""
    if not len(blocks):
        return np.zeros((0, 2))
    rects, camera = view.scene.rects[blocks], view.camera
    corners = np.column_stack([rects[:, 0] + rects[:, 2] - _INSET, rects[:, 1] + _INSET])
    reach = _SIZE * unit / camera.zoom
    near = ((corners > area[:2] - reach) & (corners < area[2:] + reach)).all(axis=1)
    cells = np.floor(corners[near] * camera.zoom / (_SIZE * unit))
    _, first = np.unique(cells, axis=0, return_index=True)
    return camera.to_widget(corners[near][np.sort(first)])


@lru_cache(maxsize=64)
def _picture(sign: str, colour: str, ground: str, unit: float, ratio: float) -> QPixmap:
    side = math.ceil(_SIZE * unit * ratio)
    pixmap = QPixmap(side, side)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    with QPainter(pixmap) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(side / ratio / 2.0, side / ratio / 2.0)
        painter.scale(unit, unit)
        _draw(painter, sign, colour, ground)
    return pixmap


def _draw(painter: QPainter, sign: str, colour: str, ground: str) -> None:
    painter.setPen(QPen(QColor(ground), 1.5))
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QPointF(0.0, 0.0), RADIUS, RADIUS)
    painter.setFont(font(SMALL, bold=True))
    painter.setPen(QColor(ground))
    flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip)
    painter.drawText(QRectF(-RADIUS, -RADIUS - 0.5, 2 * RADIUS, 2 * RADIUS), flags, sign)
