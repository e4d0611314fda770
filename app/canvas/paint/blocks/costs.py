"""Paints what blocks cost over them: a wash, the stronger the more, and the value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint.drawing import draw_rects
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.services.theme import SMALL, font, scaled

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.state.costs import PageCosts
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.services.theme import Theme

_FAINTEST, _STRONGEST = 0.05, 0.45
"""Opacity of the wash over the cheapest and the most expensive block."""
_PAD = 4.0
_CORNER = 6.0
_SHADES = 16
"""Shades of the wash from afar."""


def heat_colour(heat: float, theme: Theme) -> QColor:
    """The colour of the wash at a heat of 0 … 1."""
    colour = QColor(theme.error)
    colour.setAlphaF(_FAINTEST + heat * (_STRONGEST - _FAINTEST))
    return colour


def paint_costs(painter: QPainter, view: ViewState, costs: PageCosts, blocks: Indices) -> None:
    """Paint the costs of these blocks; a label is left out where it is wider than its block.

    From afar there is the wash alone, in a few shades.
    """
    scene, camera, theme = view.scene, view.camera, view.theme
    if camera.zoom < PLAIN:
        _paint_washes(painter, view, costs, blocks)
        return
    painter.setFont(font(scaled(SMALL), bold=True))
    metrics = QFontMetricsF(painter.font())
    rects = camera.rects_to_widget(scene.rects[blocks]).tolist()
    for i, rect in zip(blocks.tolist(), rects, strict=True):
        label = costs.label(scene.names[i])
        if not label:
            continue
        box = QRectF(*rect)
        corner_radius = _CORNER * camera.zoom
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(heat_colour(costs.heat(scene.names[i]), theme))
        painter.drawRoundedRect(box, corner_radius, corner_radius)
        width = metrics.horizontalAdvance(label) + 2.0 * _PAD
        if width <= box.width():
            tag = QRectF(
                box.right() - width, box.top() - metrics.height() - 1.0, width, metrics.height()
            )
            painter.setBrush(QColor(theme.canvas))
            painter.drawRoundedRect(tag, _PAD, _PAD)
            painter.setPen(QColor(theme.ink))
            painter.drawText(tag, Qt.AlignmentFlag.AlignCenter, label)


def _paint_washes(painter: QPainter, view: ViewState, costs: PageCosts, blocks: Indices) -> None:
    names = view.scene.names
    blocks = blocks[[names[i] in costs.blocks for i in blocks.tolist()]]
    shades = np.rint([_SHADES * costs.heat(names[i]) for i in blocks.tolist()])
    rects = view.camera.rects_to_widget(view.scene.rects[blocks])
    painter.setPen(Qt.PenStyle.NoPen)
    for shade in np.unique(shades).tolist():
        painter.setBrush(heat_colour(shade / _SHADES, view.theme))
        draw_rects(painter, rects[shades == shade])
