"""Paints what stands out on a page.

Types beside ports, blocks with problems and hidden ports, bends of wires, the route of a verdict,
and traced wires.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPixmap

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.drawing import draw_lines, draw_tag, legible_scale, placed
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.app.canvas.scene.curves import strokes
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.scene.obstacles import covered_ports
from gradwire.app.canvas.state.annotations import SEVERITIES
from gradwire.app.canvas.state.port_labels import siblings, value_type, wire_ends
from gradwire.app.services.theme import BODY, SMALL, font, scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.scene.arrays import Floats, Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import WirePath

MIN_ZOOM = 1.4
"""Zoom from which types are shown."""
ROOM = 60.0
"""How far the text may extend from its port, scene units."""
_TYPE_ASIDE, _TYPE_RISE = 8.0, 16.0
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
        x, y = camera.to_widget(scene.port_points(np.array([number])))[0].tolist()
        with placed(painter, x, y, camera.zoom * _SHRINK):
            painter.setFont(letters)
            room = ROOM / _SHRINK - _TYPE_ASIDE
            text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, room)
            place = QRectF(_TYPE_ASIDE, top, metrics.horizontalAdvance(text), _TYPE_RISE - 2.0)
            painter.fillRect(place.adjusted(-2.0, 0.0, 2.0, 0.0), QColor(theme.canvas))
            painter.setPen(QColor(theme.ink_faint))
            painter.drawText(place, int(_FLAGS), text)


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
                yield block, port, number, _BELOW if rises else -_TYPE_RISE


def _leaving(scene: Scene, blocks: Indices) -> tuple[set[int], set[int]]:
    """Output ports of these blocks with a wire that goes upwards, and with one that does not."""
    ports = scene.wire_ports[scene.wires_of(blocks)]
    heights = scene.port_points()[ports, 1]
    rises = heights[:, 1] < heights[:, 0] - _TYPE_RISE
    return set(ports[rises, 0].tolist()), set(ports[~rises, 0].tolist())


RADIUS = 7.0
_MARK_SIZE = 2 * RADIUS + 2.0
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
                with placed(painter, x, y, unit):
                    _draw(painter, sign, colour, view.theme.canvas)
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
    reach = _MARK_SIZE * unit / camera.zoom
    near = ((corners > area[:2] - reach) & (corners < area[2:] + reach)).all(axis=1)
    cells = np.floor(corners[near] * camera.zoom / (_MARK_SIZE * unit))
    _, first = np.unique(cells, axis=0, return_index=True)
    return camera.to_widget(corners[near][np.sort(first)])


@lru_cache(maxsize=64)
def _picture(sign: str, colour: str, ground: str, unit: float, ratio: float) -> QPixmap:
    side = math.ceil(_MARK_SIZE * unit * ratio)
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


_DOT = 7.0
"""Diameter of the dot of a bend, px of style."""
_PAD, _RISE = 6.0, 2.0
_ASIDE, _EDGE = 8.0, 6.0


def paint_bends(painter: QPainter, view: ViewState, area: Floats) -> None:
    """Paint the bends within ``area`` of the scene; selected ones have a ring."""
    scene, theme, unit = view.scene, view.theme, view.camera.unit
    if not len(scene.bends):
        return
    inside = ((scene.bends > area[:2]) & (scene.bends < area[2:])).all(axis=1)
    hidden = scene.wire_index.get(view.hidden_wire or "", -1)
    selected = [number for bend in view.selection.bends if (number := scene.bend(bend)) is not None]
    _dots(painter, view, np.array(selected, np.intp), theme.accent, (_DOT + 5.0) * unit)
    visible = np.flatnonzero(inside & (scene.bend_wire != hidden))
    _dots(painter, view, visible, theme.canvas, (_DOT + 2.0) * unit)
    _dots(painter, view, visible, theme.wire, _DOT * unit)


def _dots(painter: QPainter, view: ViewState, bends: Indices, colour: str, size: float) -> None:
    """Draw all dots in one call: very short lines with round caps."""
    pen = QPen(QColor(colour), size)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    lines = np.tile(view.camera.to_widget(view.scene.bends[bends]), 2)
    lines[:, 2] += 0.01
    draw_lines(painter, lines)


def paint_route(painter: QPainter, view: ViewState) -> None:
    """Paint the route that is explained, if there is one."""
    route = view.route
    if route is None or view.camera.zoom < PLAIN:
        return
    for name, text in route.numbers.items():
        if text and name in view.scene.index:
            left, top = view.scene.rects[view.scene.index[name], :2].tolist()
            _paint_number(painter, view, left, top, text)
    for wire, glyph in route.cutters.items():
        _paint_cutter(painter, view, wire, glyph)


def _paint_number(painter: QPainter, view: ViewState, left: float, top: float, text: str) -> None:
    unit, theme = legible_scale(view.camera.unit, BODY), view.theme
    x, y = view.camera.to_widget(np.array([left, top])).tolist()
    letters = font(BODY, bold=True)
    width = max(2 * glyphs.RADIUS, QFontMetricsF(letters).horizontalAdvance(text) + glyphs.RADIUS)
    with placed(painter, x, y, unit):
        box = QRectF(-width / 2.0, -glyphs.RADIUS, width, 2 * glyphs.RADIUS)
        colours, rim = (theme.on_accent, theme.accent), QPen(QColor(theme.canvas), 1.5)
        draw_tag(painter, box, text, letters, colours, rim, glyphs.RADIUS)


def _paint_cutter(painter: QPainter, view: ViewState, wire: WirePath, glyph: str) -> None:
    number = view.scene.port(*wire.name)
    if number is None:
        return
    at = QPointF(*view.camera.to_widget(view.scene.port_points(np.array([number])))[0].tolist())
    pen = QPen(QColor(view.theme.error), 1.5)
    glyphs.draw_round(painter, glyph, at, legible_scale(view.camera.unit), pen, view.theme.canvas)


def paint_siblings(painter: QPainter, view: ViewState, key: str) -> None:
    """Paint the other wires from the same port, thin and without lanes."""
    painter.setPen(QPen(QColor(view.theme.wire), max(1.0, view.camera.unit)))
    for _, courses in view.scene.courses(siblings(view.scene, key)):
        points = courses.to_widget(view.camera).flatten(STEPS)
        draw_lines(painter, strokes(points))


def paint_wire_ends(painter: QPainter, view: ViewState, key: str, area: QRectF) -> None:
    """Paint labels at both ends; at the edge of ``area`` for an end outside it."""
    for text, box in end_labels(view, key, area):
        colours, rim = (view.theme.ink, view.theme.field), QPen(QColor(view.theme.hairline), 1.0)
        draw_tag(painter, box, text, font(scaled(SMALL)), colours, rim, 4.0)


def end_labels(
    view: ViewState, key: str, area: QRectF
) -> tuple[tuple[str, QRectF], tuple[str, QRectF]]:
    """The labels at source and target of a wire, each with its place in the widget."""
    ports = view.scene.wire_ports[view.scene.wire_index[key]]
    (x0, y0), (x1, y1) = view.camera.to_widget(view.scene.port_points(ports)).tolist()
    source, target = wire_ends(view.annotations.page, key)
    above, below = _size(source), _size(target)
    first = QRectF(x0 + _ASIDE, y0 - _ASIDE - above.y(), above.x(), above.y())
    second = QRectF(x1 - _ASIDE - below.x(), y1 + 2 * _ASIDE, below.x(), below.y())
    first, second = _within(first, area), _within(second, area)
    if first.intersects(second):
        second.moveTop(first.bottom() + _RISE)
        overflow = max(0.0, second.bottom() - area.bottom() + _EDGE)
        first.translate(0.0, -overflow)
        second.translate(0.0, -overflow)
    return (source, first), (target, second)


def _size(text: str) -> QPointF:
    metrics = QFontMetricsF(font(scaled(SMALL)))
    return QPointF(metrics.horizontalAdvance(text) + 2 * _PAD, metrics.height() + 2 * _RISE)


def _within(box: QRectF, area: QRectF) -> QRectF:
    room = area.adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
    box.moveLeft(max(min(box.left(), room.right() - box.width()), room.left()))
    box.moveTop(max(min(box.top(), room.bottom() - box.height()), room.top()))
    return box
