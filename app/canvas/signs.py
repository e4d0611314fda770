"""Paints what stands on and beside the lanes: glyphs of states, marks of cuts, numbers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.canvas import glyphs, lanes

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from app.canvas.curves import Tracks
    from app.canvas.geometry import Floats, Indices
    from app.canvas.shown import View

_SIGNS_ABOVE = 0.45
"""Zoom from which lanes carry their signs."""


def paint_signs(painter: QPainter, view: View, wires: Indices, *, vector: bool) -> None:
    """Glyphs on the lanes, words beside them."""
    camera, facts = view.camera, view.facts
    if camera.zoom < _SIGNS_ABOVE:
        return
    chosen = view.scene.wire_index.get(view.wire or "")
    codes = facts.codes[wires].tolist()
    signed = [w for w, c in zip(wires.tolist(), codes, strict=True) if c in _SIGNED or w == chosen]
    if not signed:
        return
    until = time.perf_counter() + view.patience
    for alike, courses in view.scene.courses(np.array(signed)):
        tracks = lanes.lane_points(camera.ends(courses), camera.unit)
        _paint_on(painter, view, alike, tracks, until, vector=vector)


def _paint_on(
    painter: QPainter, view: View, wires: Indices, tracks: Tracks, until: float, *, vector: bool
) -> None:
    """Glyphs and words of ``wires`` (m,), whose lanes are ``tracks``."""
    camera, facts = view.camera, view.facts
    chosen = view.scene.wire_index.get(view.wire or "")
    order = np.arange(len(wires))
    middle, end = tracks.at(order, tracks.lengths / 2.0), tracks.at(order, tracks.lengths)
    along = tracks.direction(order, tracks.lengths / 2.0)
    for i, wire in enumerate(wires.tolist()):
        name = lanes.NAMES.get(int(facts.codes[wire]), "NOTHING_TO_TRAIN")
        style = lanes.STYLES[name]
        if style.cut:
            cut = facts.cut(wire, until)
            view.behind |= cut is None
            if cut:
                _paint_sign(painter, view, style.cut, name, end[i], vector=vector)
        if style.glyph:
            _paint_sign(painter, view, style.glyph, name, middle[i], vector=vector)
        words = facts.mark(wire, in_full=wire == chosen)
        if words:
            box = np.array([glyphs.width(words), glyphs.SIZE]) * camera.unit
            side = np.array([-along[i, 1], along[i, 0]])
            away = 0.5 * np.abs(side) @ box + 3.0 * camera.unit
            _paint_sign(painter, view, words, name, middle[i] + away * side, vector=vector)


_SIGNED = frozenset(
    code for name, code in lanes.CODES.items() if lanes.STYLES[name].glyph or lanes.STYLES[name].cut
) | {lanes.PARTIAL, lanes.ZERO, lanes.FAINT, lanes.FLOOD, lanes.NONFINITE}


def _paint_sign(
    painter: QPainter, view: View, sign: str, state: str, centre: Floats, *, vector: bool
) -> None:
    theme, ratio, unit = view.theme, view.ratio, round(view.camera.unit, 3)
    colour = theme.lane(state).name()
    halo = theme.canvas if sign in glyphs.ON_LANE else ""
    x, y = centre.tolist()
    if vector:
        width = glyphs.width(sign)
        painter.save()
        painter.translate(x, y)
        painter.scale(unit, unit)
        box = QRectF(-width / 2.0, -glyphs.SIZE / 2.0, width, glyphs.SIZE)
        glyphs.draw(painter, sign, box, colour, halo)
        painter.restore()
        return
    picture = glyphs.picture(sign, colour, halo, unit, ratio)
    size = picture.deviceIndependentSize()
    left = round((x - size.width() / 2.0) * ratio) / ratio
    top = round((y - size.height() / 2.0) * ratio) / ratio
    painter.drawPixmap(QPointF(left, top), picture)
