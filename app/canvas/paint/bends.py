"""Paints the bends of wires as dots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gradwire.app.canvas.paint.drawing import draw_lines

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.state.view_state import ViewState

_SIZE = 7.0
"""Diameter of a dot, px of style."""


def paint_bends(painter: QPainter, view: ViewState, area: Floats) -> None:
    """Paint the bends within ``area`` of the scene; selected ones have a ring."""
    scene, theme, unit = view.scene, view.theme, view.camera.unit
    if not len(scene.bends):
        return
    inside = ((scene.bends > area[:2]) & (scene.bends < area[2:])).all(axis=1)
    hidden = scene.wire_index.get(view.hidden_wire or "", -1)
    selected = [number for bend in view.selection.bends if (number := scene.bend(bend)) is not None]
    _dots(painter, view, np.array(selected, np.intp), theme.accent, (_SIZE + 5.0) * unit)
    visible = np.flatnonzero(inside & (scene.bend_wire != hidden))
    _dots(painter, view, visible, theme.canvas, (_SIZE + 2.0) * unit)
    _dots(painter, view, visible, theme.wire, _SIZE * unit)


def _dots(painter: QPainter, view: ViewState, bends: Indices, colour: str, size: float) -> None:
    """Draw all dots in one call: very short lines with round caps."""
    pen = QPen(QColor(colour), size)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    lines = np.tile(view.camera.to_widget(view.scene.bends[bends]), 2)
    lines[:, 2] += 0.01
    draw_lines(painter, lines)
