"""Paints blocks from afar: filled rectangles with symbols, and the names of pages."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gradwire.app.canvas.paint.blocks.symbols import (
    draw_scaled_symbol,
    symbol_picture,
    symbol_scale,
)
from gradwire.app.canvas.paint.drawing import draw_rects
from gradwire.app.canvas.paint.legible import LEAST
from gradwire.app.services.colours import contrast
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import font
from gradwire.blocks.library.pages import Page as PageBlock

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.flow import State

_LEAST_HEIGHT = 11.0
"""Height of a block from which it has a symbol or name, widget px."""
_PAD = 2.0


def paint_plain_blocks(
    painter: QPainter, view: ViewState, blocks: Indices, *, ratio: float, vector: bool
) -> None:
    """Paint ``blocks`` in the colours of their families.

    A page with a wire of concern inside has the colour of the wire's state.
    """
    scene, theme = view.scene, view.theme
    rects = view.camera.rects_to_widget(scene.rects[blocks])
    families = np.array([type(scene.blocks[i]).family for i in blocks.tolist()])
    styles = scene.page.styles
    chosen: dict[int, QColor] = {}
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(Qt.PenStyle.NoPen)
    pages = np.zeros(0, np.intp)
    for family in np.unique(families):
        alike = families == family
        painter.setBrush(theme.border(str(family)))
        draw_rects(painter, rects[alike])
        if family == PageBlock.family:
            pages = np.flatnonzero(alike)
    for number, i in enumerate(blocks.tolist() if styles else ()):
        style = styles.get(scene.names[i])
        shade = shades(theme, style.colour) if style else None
        if shade is not None:
            chosen[number] = shade.edge
    for number, state in _concerned(view, blocks, pages).items():
        chosen[number] = theme.lane(state)
    alike_numbers: dict[int, list[int]] = {}
    for number, colour in chosen.items():
        alike_numbers.setdefault(colour.rgba(), []).append(number)
    for numbers in alike_numbers.values():
        painter.setBrush(chosen[numbers[0]])
        draw_rects(painter, rects[numbers])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    for number in np.flatnonzero(rects[:, 3] >= _LEAST_HEIGHT).tolist():
        block = scene.blocks[int(blocks[number])]
        place = QRectF(*rects[number].tolist()).adjusted(_PAD, 0.0, -_PAD, 0.0)
        fill = chosen.get(number) or theme.border(str(families[number]))
        ink = _ink_on(fill.rgb(), theme.ink, theme.canvas)
        if not isinstance(block, PageBlock) or not _paint_name(painter, block.page, place, ink):
            symbol = type(block).symbol or type(block).type_name()[:1]
            _paint_symbol(painter, symbol, place, ink, ratio=ratio, vector=vector)


def _concerned(view: ViewState, blocks: Indices, pages: Indices) -> dict[int, State]:
    """The states of most concern inside the blocks with the positions ``pages`` in ``blocks``."""
    if not len(pages):  # what is inside is found by a search through all wires
        return {}
    worst, names = view.annotations.page.worst_inside, view.scene.names
    inside = {number: worst.get(names[int(blocks[number])]) for number in pages.tolist()}
    return {number: state for number, state in inside.items() if state is not None}


@lru_cache(maxsize=128)
def _ink_on(fill: int, *inks: str) -> str:
    """The ink that stands out most from a fill."""
    return max(inks, key=lambda ink: contrast(ink, QColor(fill)))


def _paint_name(painter: QPainter, name: str, place: QRectF, ink: str) -> bool:
    """Paint a page's name, cut if need be; return whether there is room for it."""
    letters = font(LEAST, bold=True)
    metrics = QFontMetricsF(letters)
    if place.width() < metrics.horizontalAdvance("123…") or place.height() < metrics.height():
        return False
    painter.setFont(letters)
    painter.setPen(QColor(ink))
    shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, place.width())
    painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), shown)
    return True


def _paint_symbol(
    painter: QPainter, symbol: str, place: QRectF, colour: str, *, ratio: float, vector: bool
) -> None:
    scale = symbol_scale(symbol, place.size())
    if scale is None:
        return
    if vector:
        draw_scaled_symbol(painter, symbol, place, scale, QColor(colour))
        return
    picture = symbol_picture(symbol, round(scale, 2), colour, ratio)
    half = picture.deviceIndependentSize() / 2.0
    painter.drawPixmap(place.center() - QPointF(half.width(), half.height()), picture)
