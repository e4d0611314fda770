"""Paints a page: notes, wires, faces, what is selected. Knows nothing of widgets and events."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas import glyphs, lanes
from app.canvas.camera import NUMBERS, PLAIN, Camera
from app.canvas.curves import draw_lines, draw_rects, flatten, strokes
from app.canvas.faces import CORNER, FaceCache, draw_face, margin
from app.canvas.lanes import Bundle
from app.canvas.legend import legend_size, paint_legend
from app.canvas.reach import Focus, Kind, area, exists
from app.canvas.route import Route, paint_route
from app.theme import BODY, Theme, font
from runtime.diagram.measures import WIDTH

if TYPE_CHECKING:
    from app.canvas.facts import Facts
    from app.canvas.geometry import Floats, Indices, Scene
    from runtime.diagram.model import Note

_NOTE_PAD, _NOTE_RISE = 10.0, 7.0
_NOTE_FLAGS = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
_VEIL = 0.72
"""How much of the rest is hidden while a wire is traced."""
_SIGNS_ABOVE = 0.45
"""Zoom from which lanes carry their signs."""


@dataclass
class View:
    """What one painting shows: the scene, what is known of it, and what is picked out."""

    scene: Scene
    facts: Facts
    camera: Camera
    theme: Theme
    ratio: float = 1.0
    """Device px per widget px."""
    selected: frozenset[str] = frozenset()
    wire: str | None = None
    """Key of the selected wire."""
    note: str | None = None
    """The selected note."""
    hidden_wire: str | None = None
    """A wire that a gesture holds in its hand."""
    phase: float = 0.0
    """How far the chevrons of the selected wire have moved, 0 … 1."""
    patience: float = math.inf
    """Seconds that one painting may spend on asking where gradient is cut."""
    behind: bool = False
    """Whether the last painting had to leave something out for want of time."""
    lit_ports: tuple[int, ...] = ()
    """Ports that the wire in the hand fits."""
    near_port: int | None = None
    """The one of them it would snap to, or the port under the pointer."""
    focus: Focus | None = None
    """Where the keyboard is, while it is used."""
    route: Route | None = None
    """What is explained; the rest is dimmed."""
    traced: str | None = None
    """The wire under the pointer: it is shown from end to end, and the rest dimmed."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Wires that a gesture is about to change, with the theme's name of the colour."""
    held_notes: Mapping[str, Note] = field(default_factory=dict)
    """Notes as a drag has them."""


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
    _paint_notes(painter, view, shown, frames=True)
    if view.camera.zoom < PLAIN:
        _paint_plain_wires(painter, view, wires)
        _paint_plain_blocks(painter, view, blocks)
    else:
        _paint_wires(painter, view, wires)
        if faces is None:
            _paint_vector_faces(painter, view, blocks)
        else:
            _paint_faces(painter, view, blocks, faces)
        _paint_signs(painter, view, wires, vector=faces is None)
    _paint_trace(painter, view, area, faces)
    _paint_marks(painter, view)
    _paint_notes(painter, view, shown, frames=False)
    _paint_selection(painter, view, blocks)
    _paint_ports(painter, view)
    _paint_focus(painter, view)
    paint_route(painter, view)


def paint_fitted(
    painter: QPainter, view: View, area: QRectF, theme: Theme, *, legend: bool = False
) -> None:
    """Paint the whole page, fitted into ``area``, with nothing picked out."""
    bounds = view.scene.bounds()
    aside = legend_size().width() + 24.0 if legend else 0.0
    room = QRectF(area.left() + aside, area.top(), area.width() - aside, area.height())
    camera = Camera()
    if bounds is not None:
        camera = Camera.fitting(bounds, room.width(), room.height(), margin=24.0, most=4.0)
    camera = camera.panned(room.left(), room.top())
    paint(painter, View(view.scene, view.facts, camera, theme), area, None)
    if legend:
        corner = QPointF(area.left() + 12.0, area.bottom() - legend_size().height() - 12.0)
        paint_legend(painter, corner, theme)


def _wires(view: View, shown: Floats) -> Indices:
    wires = view.scene.wires_in(shown)
    hidden = view.scene.wire_index.get(view.hidden_wire or "")
    return wires if hidden is None else wires[wires != hidden]


def _bundle(view: View, wires: Indices) -> Bundle:
    facts = view.facts
    ends = view.camera.ends(view.scene.wire_ends[wires])
    return Bundle(ends, facts.codes[wires], facts.widths[wires])


def _paint_wires(painter: QPainter, view: View, wires: Indices) -> None:
    """All wires, the selected one last and on a wash."""
    unit, theme, faded = view.camera.unit, view.theme, view.facts.dimmed
    number = view.scene.wire_index.get(view.wire or "", -1)
    others, chosen = wires[wires != number], wires[wires == number]
    lanes.draw_curves(painter, _bundle(view, others), theme, unit, faded=faded)
    if not len(chosen):
        return
    bundle = _bundle(view, chosen)
    line = strokes(flatten(bundle.ends, lanes.STEPS))
    wash = QPen(QColor(theme.accent_wash), (2 * lanes.GAP + 10.0) * unit)
    wash.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(wash)
    draw_lines(painter, line)
    lanes.draw_curves(painter, bundle, theme, unit, faded=faded, phase=view.phase)
    painter.setPen(QPen(QColor(theme.ink), 2.2 * unit))
    draw_lines(painter, line)


def _paint_plain_wires(painter: QPainter, view: View, wires: Indices) -> None:
    lanes.draw_plain(painter, _bundle(view, wires), view.theme)
    chosen = view.scene.wire_index.get(view.wire or "")
    if chosen is not None:
        painter.setPen(QPen(QColor(view.theme.ink), 2.0))
        draw_lines(painter, view.camera.ends(view.scene.wire_ends[[chosen]]))


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


def _paint_vector_faces(painter: QPainter, view: View, blocks: Indices) -> None:
    camera = view.camera
    corners = camera.to_widget(view.scene.rects[blocks, :2]).tolist()
    for i, (x, y) in zip(blocks.tolist(), corners, strict=True):
        painter.save()
        painter.translate(x, y)
        painter.scale(camera.zoom, camera.zoom)
        draw_face(painter, view.facts.look(i), view.theme, close=camera.zoom >= NUMBERS)
        painter.restore()


def _paint_signs(painter: QPainter, view: View, wires: Indices, *, vector: bool) -> None:
    """Glyphs on the lanes, words beside them."""
    camera, facts = view.camera, view.facts
    if camera.zoom < _SIGNS_ABOVE:
        return
    chosen = view.scene.wire_index.get(view.wire or "")
    codes = facts.codes[wires].tolist()
    signed = [w for w, c in zip(wires.tolist(), codes, strict=True) if c in _SIGNED or w == chosen]
    if not signed:
        return
    tracks = lanes.lane_points(camera.ends(view.scene.wire_ends[signed]), camera.unit)
    order = np.arange(len(signed))
    until = time.perf_counter() + view.patience
    middle, end = tracks.at(order, tracks.lengths / 2.0), tracks.at(order, tracks.lengths)
    along = tracks.direction(order, tracks.lengths / 2.0)
    for i, wire in enumerate(signed):
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


def _paint_notes(painter: QPainter, view: View, shown: Floats, *, frames: bool) -> None:
    left, top, right, bottom = shown.tolist()
    for name, note in {**view.scene.page.notes, **view.held_notes}.items():
        x, y = note.at
        seen = x < right and x + note.width > left and y < bottom and y + note.height > top
        if seen and note.frame == frames:
            _paint_note(painter, view, note, selected=name == view.note)


def note_height(text: str, width: float) -> float:
    """The height a note of ``width`` needs for its text, scene units."""
    room = QRectF(0.0, 0.0, width - 2 * _NOTE_PAD, 1e5)
    text_height = QFontMetricsF(font(BODY)).boundingRect(room, _NOTE_FLAGS, text).height()
    return math.ceil(text_height) + 2 * _NOTE_RISE


def _paint_note(painter: QPainter, view: View, note: Note, *, selected: bool) -> None:
    theme, zoom = view.theme, view.camera.zoom
    painter.save()
    painter.translate(view.camera.x + zoom * note.at.x, view.camera.y + zoom * note.at.y)
    painter.scale(zoom, zoom)
    height = note.height if note.frame else max(note.height, note_height(note.text, note.width))
    box = QRectF(0.0, 0.0, note.width, height)
    painter.setPen(
        QPen(QColor(theme.accent if selected else theme.hairline), 1.5 if selected else 1.0)
    )
    painter.setBrush(Qt.BrushStyle.NoBrush if note.frame else QColor(theme.note))
    painter.drawRoundedRect(box, CORNER, CORNER)
    if zoom >= PLAIN:
        painter.setPen(QPen(QColor(theme.ink_faint), 1.0))
        for inset in (4.0, 8.0):
            painter.drawLine(
                QPointF(box.right() - inset, box.bottom() - 2.0),
                QPointF(box.right() - 2.0, box.bottom() - inset),
            )
        painter.setPen(QColor(theme.ink_soft if note.frame else theme.ink))
        painter.setFont(font(BODY, bold=note.frame))
        room = box.adjusted(_NOTE_PAD, _NOTE_RISE, -_NOTE_PAD, -_NOTE_RISE)
        painter.drawText(room, _NOTE_FLAGS, note.text)
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
        wire = view.scene.wire_index[focus.name]
        painter.setPen(QPen(QColor(view.theme.accent), 3.0))
        ends = view.camera.ends(view.scene.wire_ends[[wire]])
        draw_lines(painter, strokes(flatten(ends, lanes.STEPS)))
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
    unit, bundle = view.camera.unit, _bundle(view, chosen)
    lanes.draw_curves(painter, bundle, view.theme, unit, faded=view.facts.dimmed)
    painter.setPen(QPen(QColor(view.theme.ink), 2.2 * unit))
    draw_lines(painter, strokes(flatten(bundle.ends, lanes.STEPS)))
    if view.camera.zoom < PLAIN:
        _paint_plain_blocks(painter, view, blocks)
    elif faces is not None:
        _paint_faces(painter, view, blocks, faces)
    _paint_signs(painter, view, chosen, vector=faces is None)


def _paint_marks(painter: QPainter, view: View) -> None:
    known = view.scene.wire_index
    for key, colour in view.marks.items():
        if key in known:
            painter.setPen(QPen(QColor(getattr(view.theme, colour)), 3.0 * view.camera.unit))
            ends = view.camera.ends(view.scene.wire_ends[[known[key]]])
            draw_lines(painter, strokes(flatten(ends, lanes.STEPS)))


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
