"""Paints a page: notes, wires, faces, what is selected. Knows nothing of widgets and events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.paint import lanes
from app.canvas.paint.blocks.faces import CORNER, FaceCache, draw_face, margin
from app.canvas.paint.lane_labels import paint_signs
from app.canvas.paint.lanes import Bundle
from app.canvas.paint.legend import key_of, legend_size, paint_legend
from app.canvas.paint.notes import paint_notes
from app.canvas.paint.port_types import paint_kinds
from app.canvas.paint.route import Route, paint_route
from app.canvas.paint.tracing import paint_ends, paint_net
from app.canvas.scene.bends import paint_bends
from app.canvas.scene.bezier import flatten
from app.canvas.scene.camera import NUMBERS, PLAIN, Camera
from app.canvas.scene.focus import Kind, area, exists
from app.canvas.scene.polylines import draw_lines, draw_rects, strokes
from app.canvas.state.view_state import View
from runtime.diagram.layout.measures import WIDTH

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats, Indices
    from app.services.theme import Theme

_PIECE = 64
"""Wires or blocks that are painted between two pulses."""
_VEIL = 0.72
"""How much of the rest is hidden while a wire is traced."""


def paint(painter: QPainter, view: View, area: QRectF, faces: FaceCache | None) -> None:
    """Paint what lies in ``area`` of the widget; without a cache, faces as vectors."""
    theme = view.theme
    view.behind = False
    painter.fillRect(area, QColor(theme.canvas))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    shown = view.camera.area(area.x(), area.y(), area.width(), area.height())
    blocks = view.scene.blocks_in(shown)
    wires = _wires(view, shown)
    paint_notes(painter, view, shown, frames=True)
    if view.camera.zoom < PLAIN:
        _paint_plain_wires(painter, view, wires)
        _paint_plain_blocks(painter, view, blocks)
    elif faces is None:
        _paint_vectors(painter, view, wires, blocks)
    else:
        _paint_wires(painter, view, wires)
        paint_kinds(painter, view, shown)
        _paint_faces(painter, view, blocks, faces)
        if view.route is None:  # under its veil they could not be read
            paint_signs(painter, view, wires, vector=False)
        paint_bends(painter, view, shown)
    paint_notes(painter, view, shown, frames=False)
    _paint_trace(painter, view, area, faces)
    _paint_marks(painter, view)
    _paint_selection(painter, view, blocks)
    _paint_ports(painter, view)
    _paint_focus(painter, view)
    paint_route(painter, view)


def paint_fitted(
    painter: QPainter, view: View, area: QRectF, theme: Theme, *, legend: bool = False
) -> None:
    """Paint the whole page, fitted into ``area``, with nothing picked out."""
    bounds = view.scene.bounds()
    key = key_of(view.facts)
    aside = legend_size(key).width() + 24.0 if legend else 0.0
    room = QRectF(area.left() + aside, area.top(), area.width() - aside, area.height())
    camera = Camera()
    if bounds is not None:
        camera = Camera.fitting(bounds, room.width(), room.height(), margin=24.0, most=4.0)
    camera = camera.panned(room.left(), room.top())
    paint(painter, View(view.scene, view.facts, camera, theme, pulse=view.pulse), area, None)
    if legend:
        corner = QPointF(area.left() + 12.0, area.bottom() - legend_size(key).height() - 12.0)
        paint_legend(painter, corner, theme, key)


def _wires(view: View, shown: Floats) -> Indices:
    wires = view.scene.wires_in(shown)
    hidden = view.scene.wire_index.get(view.hidden_wire or "")
    return wires if hidden is None else wires[wires != hidden]


def _draw_lanes(painter: QPainter, view: View, wires: Indices, phase: float = 0.0) -> None:
    """Draw wires with all their lanes."""
    for alike, courses in view.scene.courses(wires):
        ends = view.camera.ends(courses)
        for number, strand in enumerate(view.facts.strands):
            for place in np.unique(strand.places[alike]).tolist():
                at = strand.places[alike] == place
                lanes.draw_curves(
                    painter,
                    Bundle(ends, strand.shown[alike], strand.widths[alike]).only(at),
                    view.theme,
                    view.camera.unit,
                    faded=view.facts.dimmed,
                    phase=phase,
                    place=place,
                    bare=number > 0,
                )


def _stroke(painter: QPainter, view: View, key: str, colour: str, width: float) -> None:
    """Draw one wire as a line."""
    painter.setPen(QPen(QColor(colour), width))
    draw_lines(painter, strokes(flatten(view.camera.ends(view.scene.course(key)), lanes.STEPS)))


def _paint_wires(painter: QPainter, view: View, wires: Indices) -> None:
    """All wires, the selected one last and on a wash."""
    unit, theme = view.camera.unit, view.theme
    number = view.scene.wire_index.get(view.wire or "", -1)
    others, chosen = wires[wires != number], wires[wires == number]
    _draw_lanes(painter, view, others)
    if not len(chosen):
        return
    course = view.camera.ends(view.scene.course(view.scene.wire_keys[number]))
    line = strokes(flatten(course, lanes.STEPS))
    wash = QPen(QColor(theme.accent_wash), (2 * lanes.GAP + 10.0) * unit)
    wash.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(wash)
    draw_lines(painter, line)
    _draw_lanes(painter, view, chosen, view.phase)
    painter.setPen(QPen(QColor(theme.ink), 2.2 * unit))
    draw_lines(painter, line)


def _paint_plain_wires(painter: QPainter, view: View, wires: Indices) -> None:
    whole = view.facts.whole
    for alike, courses in view.scene.courses(wires):
        ends = view.camera.ends(courses)
        bundle = Bundle(ends, whole.codes[alike], whole.widths[alike])
        lanes.draw_plain(painter, bundle, view.theme)
    if view.wire in view.scene.wire_index:
        painter.setPen(QPen(QColor(view.theme.ink), 2.0))
        draw_lines(painter, lanes.legs(view.camera.ends(view.scene.course(view.wire))))


def _paint_plain_blocks(painter: QPainter, view: View, blocks: Indices) -> None:
    scene, theme = view.scene, view.theme
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    rects = view.camera.ends(scene.rects[blocks])
    rects[:, 2:] = scene.rects[blocks, 2:] * view.camera.zoom
    families = np.array([type(scene.blocks[i]).family for i in blocks.tolist()])
    painter.setPen(Qt.PenStyle.NoPen)
    for family in np.unique(families):
        painter.setBrush(theme.border(str(family)))
        draw_rects(painter, rects[families == family])
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)


def _paint_faces(painter: QPainter, view: View, blocks: Indices, faces: FaceCache) -> None:
    zoom, ratio = view.camera.zoom, view.ratio
    look_of = view.facts.look if zoom >= NUMBERS else view.facts.plain_look
    corners = np.round(view.camera.to_widget(view.scene.rects[blocks, :2]) * ratio) / ratio
    for i, (x, y) in zip(blocks.tolist(), corners.tolist(), strict=True):
        look = look_of(i)
        picture = faces.picture(look)
        if picture is None:
            painter.setPen(QPen(view.theme.border(look.family), 1.0))
            painter.setBrush(view.theme.face(look.family))
            box = QRectF(x, y, WIDTH * zoom, look.height * zoom)
            painter.drawRoundedRect(box, CORNER * zoom, CORNER * zoom)
            continue
        room, pixmap = margin(picture.zoom, picture.ratio), picture.pixmap
        if picture.zoom == zoom and picture.ratio == ratio:
            painter.drawPixmap(QPointF(x - room, y - room), pixmap)
        else:
            scale = zoom / picture.zoom
            size = pixmap.deviceIndependentSize() * scale
            place = QRectF(QPointF(x - room * scale, y - room * scale), size)
            painter.drawPixmap(place, pixmap, QRectF(pixmap.rect()))


def _paint_vectors(painter: QPainter, view: View, wires: Indices, blocks: Indices) -> None:
    """Everything piece by piece, so that a large picture can be followed and stopped."""
    steps = [
        *((_paint_wires, piece) for piece in _pieces(wires)),
        *((_paint_vector_faces, piece) for piece in _pieces(blocks)),
        *((_paint_vector_signs, piece) for piece in _pieces(wires)),
    ]
    for number, (paint_piece, piece) in enumerate(steps):
        if view.pulse is not None:
            view.pulse(number / len(steps))
        paint_piece(painter, view, piece)


def _pieces(items: Indices) -> list[Indices]:
    return [items[start : start + _PIECE] for start in range(0, len(items), _PIECE)]


def _paint_vector_signs(painter: QPainter, view: View, wires: Indices) -> None:
    paint_signs(painter, view, wires, vector=True)


def _paint_vector_faces(painter: QPainter, view: View, blocks: Indices) -> None:
    camera = view.camera
    corners = camera.to_widget(view.scene.rects[blocks, :2]).tolist()
    for i, (x, y) in zip(blocks.tolist(), corners, strict=True):
        painter.save()
        painter.translate(x, y)
        painter.scale(camera.zoom, camera.zoom)
        draw_face(painter, view.facts.look(i), view.theme, close=camera.zoom >= NUMBERS)
        painter.restore()


def _paint_selection(painter: QPainter, view: View, blocks: Indices) -> None:
    if not view.selected:
        return
    scene, ratio = view.scene, view.ratio
    chosen = [i for i in blocks.tolist() if scene.names[i] in view.selected]
    rects = view.camera.ends(scene.rects[chosen])
    rects[:, :2] = np.round(rects[:, :2] * ratio) / ratio - 2.5
    rects[:, 2:] = scene.rects[chosen, 2:] * view.camera.zoom + 5.0
    if view.camera.zoom < PLAIN:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(view.theme.accent))
        draw_rects(painter, rects)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        return
    painter.setPen(QPen(QColor(view.theme.accent), 2.0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    corner = CORNER * view.camera.zoom + 2.0
    for x, y, w, h in rects.tolist():
        painter.drawRoundedRect(QRectF(x, y, w, h), corner, corner)


def _paint_focus(painter: QPainter, view: View) -> None:
    """A dashed ring around what the keyboard is at; a wire is drawn thick."""
    focus = view.focus
    if focus is None or not exists(view.scene, focus):
        return
    pen = QPen(QColor(view.theme.ink), 2.0, Qt.PenStyle.DashLine)
    if focus.kind is Kind.WIRE:
        _stroke(painter, view, focus.name, view.theme.accent, 3.0)
        return
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    corners = view.camera.to_widget(area(view.scene, focus).reshape(2, 2))
    (left, top), (right, bottom) = corners.tolist()
    box = QRectF(left, top, right - left, bottom - top).adjusted(-5, -5, 5, 5)
    painter.drawRoundedRect(box, CORNER + 2.0, CORNER + 2.0)


def _paint_trace(painter: QPainter, view: View, area: QRectF, faces: FaceCache | None) -> None:
    """Draw what is explained, else the wire under the pointer, over a veil on all else."""
    route = view.route or (Route(view.traced) if view.traced else None)
    if route is None:
        return
    chosen, blocks = route.parts(view.scene)
    veil = QColor(view.theme.canvas)
    veil.setAlphaF(_VEIL)
    painter.fillRect(area, veil)
    if view.route is None:
        paint_net(painter, view, route.wire)
    _draw_lanes(painter, view, chosen)
    painter.setPen(QPen(QColor(view.theme.ink), 2.2 * view.camera.unit))
    for _, courses in view.scene.courses(chosen):
        draw_lines(painter, strokes(flatten(view.camera.ends(courses), lanes.STEPS)))
    if view.camera.zoom < PLAIN:
        _paint_plain_blocks(painter, view, blocks)
    elif faces is not None:
        _paint_faces(painter, view, blocks, faces)
    paint_signs(painter, view, chosen, vector=faces is None)
    if view.route is None:
        paint_ends(painter, view, route.wire, QRectF(painter.window()))


def _paint_marks(painter: QPainter, view: View) -> None:
    for key, colour in view.marks.items():
        if key in view.scene.wire_index:
            _stroke(painter, view, key, getattr(view.theme, colour), 3.0 * view.camera.unit)


def _paint_ports(painter: QPainter, view: View) -> None:
    """Ports that the wire in the hand fits, and larger the one it would snap to."""
    lit = dict.fromkeys(view.lit_ports, 6.0)
    if view.near_port is not None:
        lit[view.near_port] = 8.0 if lit else 6.0
    if not lit:
        return
    theme, unit = view.theme, view.camera.unit
    points = view.camera.to_widget(view.scene.port_points(np.fromiter(lit, np.intp)))
    painter.setPen(QPen(QColor(theme.accent), 2.0))
    for (x, y), radius in zip(points.tolist(), lit.values(), strict=True):
        painter.setBrush(QColor(theme.accent if radius > 6.0 else theme.accent_wash))
        painter.drawEllipse(QPointF(x, y), radius * unit, radius * unit)
