"""Draws a piece of a loss's lane, for lists of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.wires.lanes import Bundle, draw_curves
from gradwire.app.canvas.scene.curves import Courses
from gradwire.app.canvas.scene.lane_paths import GAP, INSET
from gradwire.app.canvas.state.lanes import CODES
from gradwire.app.services.palette import shades
from gradwire.runtime.flow import State

if TYPE_CHECKING:
    from gradwire.app.services.theme import Theme

WIDTH, HEIGHT = 46, 16
"""Size of a swatch, px."""
ICON = 16
"""Width of one that has no room for a number, px."""
_RATIOS = (1.0, 1.5, 2.0, 3.0)
_LANE_WIDTH = 2.4


def loss_swatch(theme: Theme, number: int, colour: str = "", width: int = WIDTH) -> QIcon:
    """A lane in the colour, with the arrowheads and the number, of the loss ``number`` from 0.

    ``colour`` is the one that the user gave the loss, which lies behind the number.
    """
    icon = QIcon()
    for ratio in _RATIOS:
        picture = QPixmap(round(width * ratio), round(HEIGHT * ratio))
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        with QPainter(picture) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            _paint(painter, theme, number, colour, width)
        icon.addPixmap(picture)
    return icon


def _paint(painter: QPainter, theme: Theme, number: int, colour: str, width: int) -> None:
    ends = np.array([[-INSET, HEIGHT / 2.0 - GAP, width + INSET, HEIGHT / 2.0 - GAP]])
    lane = Bundle(Courses(ends), np.array([CODES[State.CARRIES]], np.int8), np.array([_LANE_WIDTH]))
    draw_curves(painter, lane, theme, 1.0, bare=True, loss=number)
    if width < WIDTH:
        return
    text, chosen = str(number + 1), shades(theme, colour)
    wide = glyphs.width(text)
    place = QRectF(width - wide - 4.0, (HEIGHT - glyphs.SIZE) / 2.0, wide, glyphs.SIZE)
    ink = theme.ink if chosen else theme.lane_name(State.CARRIES, number)
    glyphs.draw(
        painter, text, place, ink, (chosen.ground if chosen else QColor(theme.field)).name()
    )
