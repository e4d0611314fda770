"""Draws the faces of blocks; from afar what remains of them: the name and one number."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.blocks.badges import draw_badges, draw_pill
from gradwire.app.canvas.paint.blocks.grids import draw_section
from gradwire.app.canvas.paint.blocks.symbols import (
    draw_scaled_symbol,
    draw_symbol,
    legible_width,
    symbol_scale,
)
from gradwire.app.canvas.paint.drawing import LEAST, legible_scale, legible_size, placed
from gradwire.app.canvas.paint.views.faces import draw_view
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.geometry import PORT_RADIUS
from gradwire.app.services import typeface
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import BODY, SMALL, Theme, font, text_width
from gradwire.runtime.diagram import HEADER, ROW, WIDTH, block_height

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradwire.app.canvas.state.formatting import FaceSection
    from gradwire.app.canvas.state.looks import Look, PortLook, SliderLook
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.flow import State

KNOB = 4.5
"""Radius of the knob, px at 100 %."""
_TRACK = 3.0


def draw_slider(
    painter: QPainter, slider: SliderLook, place: QRectF, theme: Theme, *, stale: bool = False
) -> None:
    """Draw a slider across ``place``; the knob of a number outside the limits is hollow."""
    track = track_of(place)
    middle, knob = track.center().y(), track.left() + slider.share * track.width()
    ink = QColor(theme.ink_faint if stale else theme.accent if slider.is_inside else theme.warning)
    for end, colour in ((track.right(), theme.hairline), (knob, ink)):
        pen = QPen(QColor(colour), _TRACK)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawLine(QPointF(track.left(), middle), QPointF(end, middle))
    painter.setPen(QPen(ink, 1.5))
    painter.setBrush(ink if slider.is_inside else QColor(theme.canvas))
    painter.drawEllipse(QPointF(knob, middle), KNOB, KNOB)


def track_of(place: QRectF) -> QRectF:
    """Where the middle of the knob may stand in a place."""
    return place.adjusted(KNOB, 0.0, -KNOB, 0.0)


_PAD, _GAP = 3.0, 4.0
_LARGEST = 10
"""Largest size of the text, widget px."""
_PITCH = 9.5
"""Least distance of two lines, widget px."""
_LINE = 1.17
"""Height of a line relative to its letters."""
_BEGINNING = 2.0
"""Least width of an elided name relative to its letters' size."""
_LEFT = Qt.AlignmentFlag.AlignLeft
_RIGHT = Qt.AlignmentFlag.AlignRight


def draw_summary(painter: QPainter, look: Look, theme: Theme, zoom: float, end: float) -> None:
    """Draw name and number of a look in scene units, with the face's top left at the origin.

    Everything ends ``end`` widget px before the right edge.
    """
    painter.save()
    painter.scale(1.0 / zoom, 1.0 / zoom)
    high = look.height * zoom if look.size is None else _LINE * name_size(zoom)
    room = QRectF(_PAD, 0.0, look.width * zoom - 2 * _PAD - end, high)
    if look.summary and room.height() >= 2 * _PITCH:
        _draw_two_lines(painter, look, theme, room, name_size(zoom))
    else:
        _draw_line(painter, look, theme, room, name_size(zoom))
    painter.restore()


def name_size(zoom: float) -> int:
    """Size of the names of all blocks at ``zoom``, widget px: two lines fit the lowest block."""
    return max(LEAST, min(int(block_height(1) * zoom / 2.0 / _LINE), _LARGEST))


def _draw_two_lines(painter: QPainter, look: Look, theme: Theme, room: QRectF, size: int) -> None:
    pitch = min(room.height() / 2.0, 1.3 * size)
    upper = QRectF(room.left(), room.center().y() - pitch, room.width(), pitch)
    lower = upper.translated(0.0, pitch)
    _draw_name(painter, look, theme, upper, font(size, bold=True))
    number, letters = _longest(look.summary, size, room.width())
    _draw_number(painter, look, theme, lower, number, letters)
    width = min(room.width() - _width(number, letters) - _GAP, 2.0 * size)
    scale = symbol_scale(look.symbol, QSizeF(width, 0.95 * size))
    if scale is not None:
        place = QRectF(lower.topLeft(), QSizeF(width, pitch))
        draw_scaled_symbol(painter, look.symbol, place, scale, theme.symbol(look.family))


def _draw_line(painter: QPainter, look: Look, theme: Theme, room: QRectF, size: int) -> None:
    bold = font(size, bold=True)
    number, letters = _longest(look.summary, size, room.width() - _width(look.name, bold) - _GAP)
    if not number:
        number, letters = _longest(look.summary, size, room.width() - _BEGINNING * size - _GAP)
    _draw_number(painter, look, theme, room, number, letters)
    if number:
        room = room.adjusted(0.0, 0.0, -_width(number, letters) - _GAP, 0.0)
    _draw_name(painter, look, theme, room, bold)


def _width(text: str, letters: QFont) -> float:
    return QFontMetricsF(letters).horizontalAdvance(text)


def _longest(texts: tuple[str, ...], size: int, room: float) -> tuple[str, QFont]:
    """The first of ``texts``, which become shorter, that fits, in the largest letters that do.

    Empty if none does.
    """
    for text in texts:
        for pixels in range(size, LEAST - 1, -1):
            letters = font(pixels)
            if _width(text, letters) <= room:
                return text, letters
    return "", font(LEAST)


def _draw_name(painter: QPainter, look: Look, theme: Theme, place: QRectF, letters: QFont) -> None:
    metrics = QFontMetricsF(letters)
    shown = metrics.elidedText(look.name, Qt.TextElideMode.ElideRight, place.width())
    _draw_text(painter, place, shown, letters, theme.ink, _LEFT)


def _draw_number(
    painter: QPainter, look: Look, theme: Theme, place: QRectF, text: str, letters: QFont
) -> None:
    fresh = theme.accent if text.startswith("∇") else theme.ink_soft
    colour = theme.ink_faint if look.stale else fresh
    _draw_text(painter, place, text, letters, colour, _RIGHT)


def _draw_text(
    painter: QPainter,
    place: QRectF,
    text: str,
    letters: QFont,
    colour: str,
    align: Qt.AlignmentFlag,
) -> None:
    if text:
        painter.setFont(letters)
        painter.setPen(QColor(colour))
        flags = align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
        painter.drawText(place, int(flags), text)


CORNER = 5.0
GUTTER = 10.0
"""Distance from the edge to the text."""
_NAME_SHARE, _ONE_SIDE_SHARE, _OWNED_SHARE = 0.4, 0.6, 0.65
"""The widest name of a port, also where only one side has names, and name and gradient of an own
variable, as shares of a face.
"""
_FOLD, _FOLD_INSET = 2.0, 7.0
"""Where the line below a collapsed block runs, from its lower edge and from its sides."""
_SLIDER_SHARE, _BESIDE = 0.6, 4.0
"""Width of a slider as a share of the room for numbers, and its distance from its number."""
_RIM = 1.5
"""From the sign of what is inside a page to the outline around it."""
_LOWER = 2.5
"""From the lower edge to the middle of the badges, clear of the names of ports."""


def draw_face(painter: QPainter, look: Look, theme: Theme, zoom: float) -> None:
    """Draw a face in scene units, its top left at the origin, to be legible at ``zoom``."""
    _Face(painter, look, theme, zoom).draw()


def draw_numbers(painter: QPainter, look: Look, theme: Theme, zoom: float) -> None:
    """Draw the sections of a look, each from the row of its output down, the slider, and what a
    view shows; see :func:`draw_face`.
    """
    if look.view is not None and look.size is not None:
        draw_view(painter, look.view, view_place(look, zoom), theme, zoom, stale=look.stale)
        return
    room = numbers_room(look, zoom)
    if look.slider is not None:
        draw_slider(painter, look.slider, slider_place(look, *room), theme, stale=look.stale)
    for section, place in section_places(look, *room):
        draw_section(painter, section, place, theme, zoom=zoom, stale=look.stale)


def view_place(look: Look, zoom: float) -> QRectF:
    """Where a view draws on its face; from afar its name takes a line above."""
    title = HEADER - 4.0 if zoom >= NUMBERS else 1.4 * name_size(zoom) / zoom
    side = GUTTER if zoom >= NUMBERS else 4.0
    return QRectF(side, title, look.width - 2.0 * side, look.height - title - 0.6 * GUTTER)


def symbol_place(view: ViewState, block: int) -> QRectF:
    """Where the symbol of a block is painted, in widget px: before its name, or from afar below."""
    zoom, (x, y, _, height) = view.camera.zoom, view.scene.rects[block].tolist()
    left, top = view.camera.to_widget(np.array([x, y])).tolist()
    if zoom >= NUMBERS:
        wide = legible_width(type(view.scene.blocks[block]).symbol, zoom)
        place = QRectF(GUTTER - 4.0, 0.0, wide + 4.0, HEADER)
    else:
        place = QRectF(0.0, height / 2.0, 2.0 * name_size(zoom) / zoom, height / 2.0)
    return QRectF(left + place.x() * zoom, top + place.y() * zoom,
                  place.width() * zoom, place.height() * zoom)  # fmt: skip


def paint_badges_over(painter: QPainter, view: ViewState, blocks: Iterable[int]) -> None:
    """Paint the badges of ``blocks`` again, over a frame that was painted around them."""
    camera, scene = view.camera, view.scene
    for block in blocks if camera.zoom >= NUMBERS else ():
        look = view.annotations.look(block)
        if look.badges:
            x, y = camera.to_widget(scene.rects[block, :2]).tolist()
            with placed(painter, x, y, camera.zoom):
                _draw_badges(painter, look, view.theme, camera.zoom)


def port_texts(look: Look, zoom: float) -> Iterator[tuple[PortLook, int, QRectF]]:
    """Each port with a text, its side (0 for inputs) and the place of the text on the face."""
    return _port_texts((look.inputs, look.outputs), zoom)


def _port_texts(
    sides: tuple[tuple[PortLook, ...], tuple[PortLook, ...]], zoom: float
) -> Iterator[tuple[PortLook, int, QRectF]]:
    size = legible_size(SMALL, zoom)
    both = all(any(port.text for port in ports) for ports in sides)
    share = _NAME_SHARE if both or len(sides[1]) == 1 else _ONE_SIDE_SHARE
    for side, ports in enumerate(sides):
        for row, port in enumerate(ports):
            if port.text:
                most = (_OWNED_SHARE if port.kind == "owned" else share) * WIDTH
                taken = min(text_width(port.text, size), most)
                left = GUTTER if side == 0 else WIDTH - GUTTER - taken
                yield port, side, QRectF(left, HEADER + ROW * row, taken, ROW)


def numbers_room(look: Look, zoom: float) -> tuple[float, float]:
    """Where numbers may begin and end beside the names of ports."""
    return _numbers_room((look.inputs, look.outputs), zoom, typeface.families())


@lru_cache(maxsize=1024)
def _numbers_room(
    sides: tuple[tuple[PortLook, ...], tuple[PortLook, ...]], zoom: float, families: tuple[str, ...]
) -> tuple[float, float]:
    """As above; other ``families`` of letters are as wide as they are."""
    widths = [0.0, 0.0]
    for _, side, place in _port_texts(sides, zoom):
        widths[side] = max(widths[side], place.width() + 8.0)
    return GUTTER + widths[0], WIDTH - GUTTER - widths[1]


def section_places(look: Look, left: float, right: float) -> Iterator[tuple[FaceSection, QRectF]]:
    """The sections of a look with their places, from ``left`` to ``right``."""
    top = HEADER
    for number, section in enumerate(look.sections):
        height = ROW * len(section.readout.cells)
        beside = look.slider is not None and number == 0
        start = slider_place(look, left, right).right() + _BESIDE if beside else left
        yield section, QRectF(start, top, right - start, height)
        top += height


def slider_place(look: Look, left: float, right: float) -> QRectF:
    """The place of a slider on a face whose numbers lie from ``left`` to ``right``."""
    return QRectF(left, HEADER, _SLIDER_SHARE * (right - left), ROW)


class _Face:
    """Draws one face, in scene units with its top left corner at the origin."""

    def __init__(self, painter: QPainter, look: Look, theme: Theme, zoom: float) -> None:
        self.painter = painter
        self.look = look
        self.theme = theme
        self.zoom = zoom
        self.small = font(legible_size(SMALL, zoom))
        self.sign_scale = legible_scale(zoom) / zoom

    def draw(self) -> None:
        self._ground()
        if self.zoom < NUMBERS:
            self._summary()
            if self.look.view is not None:
                draw_numbers(self.painter, self.look, self.theme, self.zoom)
            self._dots()
            return
        self._header()
        self._port_names()
        draw_numbers(self.painter, self.look, self.theme, self.zoom)
        self._dots()
        if self.look.expression:
            self._expression()
        if self.look.inside:
            self._inside(self.look.inside, self.look.height - 0.5)
        if self.look.badges:
            _draw_badges(self.painter, self.look, self.theme, self.zoom)

    def _ground(self) -> None:
        look, theme = self.look, self.theme
        edge = theme.symbol(look.family) if look.head else theme.border(look.family)
        pen = QPen(edge, 1.5 if look.head else 1.0)
        pen.setCosmetic(self.painter.transform().m11() < 1.0)  # from afar the edge would fade
        bypassed = look.through is not None
        if bypassed:
            pen.setStyle(Qt.PenStyle.DashLine)
        self.painter.setPen(pen)
        self.painter.setBrush(QColor(theme.canvas) if bypassed else theme.face(look.family))
        box = QRectF(0.5, 0.5, look.width - 1.0, look.height - 1.0)
        self.painter.drawRoundedRect(box, CORNER, CORNER)
        if (chosen := shades(theme, look.colour)) is not None:
            self.painter.setPen(QPen(chosen.edge, pen.widthF(), pen.style()))
            self.painter.setBrush(chosen.ground)
            self._chosen_colour(box)
        if look.collapsed:
            self._folded(pen)
        if look.through is not None:
            self._through(look.through)

    def _chosen_colour(self, box: QRectF) -> None:
        """Fill the title with the user's colour; from afar, where nothing else fits, the face."""
        if self.look.collapsed or self.zoom < NUMBERS:
            self.painter.drawRoundedRect(box, CORNER, CORNER)
            return
        corner, title = 2.0 * CORNER, QPainterPath(QPointF(box.left(), HEADER))
        title.arcTo(QRectF(box.left(), box.top(), corner, corner), 180.0, -90.0)
        title.arcTo(QRectF(box.right() - corner, box.top(), corner, corner), 90.0, -90.0)
        title.lineTo(box.right(), HEADER)
        title.closeSubpath()
        self.painter.drawPath(title)

    def _folded(self, pen: QPen) -> None:
        """Draw an edge below a collapsed block, as of more behind it."""
        self.painter.setPen(pen)
        below = self.look.height + _FOLD
        self.painter.drawLine(
            QPointF(_FOLD_INSET, below), QPointF(self.look.width - _FOLD_INSET, below)
        )

    def _through(self, row: int) -> None:
        """Draw how the input in ``row`` goes through a bypassed block to its outputs."""
        self.painter.setPen(QPen(QColor(self.theme.wire), 1.4))
        start, bend = self.look.level(row, self.look.inputs), 0.5 * WIDTH
        for output in range(len(self.look.outputs)):
            end = self.look.level(output, self.look.outputs)
            path = QPainterPath(QPointF(0.0, start))
            path.cubicTo(bend, start, bend, end, WIDTH, end)
            self.painter.setBrush(Qt.BrushStyle.NoBrush)
            self.painter.drawPath(path)

    def _header(self) -> None:
        look, theme = self.look, self.theme
        wide = legible_width(look.symbol, self.zoom)
        place = QRectF(GUTTER - 2.0, 1.0, wide, HEADER)
        draw_symbol(self.painter, look.symbol, place, theme.symbol(look.family), self.zoom)
        left, bold = GUTTER + wide + 5.0, font(legible_size(BODY, self.zoom), bold=True)
        room = look.width - GUTTER - left
        place = QRectF(left, 0.0, room, HEADER)
        self._elided(place, look.name, bold, theme.ink, Qt.AlignmentFlag.AlignLeft)
        label = look.label
        room -= QFontMetricsF(bold).horizontalAdvance(look.name) + 8.0
        if label and room >= QFontMetricsF(self.small).horizontalAdvance(label):
            place = QRectF(look.width - GUTTER - room, 1.0, room, HEADER)
            ink = QColor(theme.ink_soft)
            self._text(place, label, self.small, ink, Qt.AlignmentFlag.AlignRight)

    def _expression(self) -> None:
        """Draw the expression of a Formula block in its last line."""
        top = HEADER + ROW * (self.look.lines - 1)
        place = QRectF(GUTTER, top, WIDTH - 2.0 * GUTTER, ROW)
        used = font(legible_size(BODY, self.zoom))
        self._elided(place, self.look.expression, used, self.theme.ink, Qt.AlignmentFlag.AlignLeft)

    def _summary(self) -> None:
        """Draw the name and one number, and the sign of the worst state inside a page."""
        state, end = self.look.inside, 0.0
        if state is not None:
            end = glyphs.width(self.look.sign or state.row.sign) * self.zoom * self.sign_scale + 2.0
            self._inside(state, self.look.height / 2.0)
        draw_summary(self.painter, self.look, self.theme, self.zoom, end)

    def _port_names(self) -> None:
        right_align, left_align = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignLeft
        metrics = QFontMetricsF(self.small)
        for port, side, place in port_texts(self.look, self.zoom):
            colour = self.theme.error if port.trouble else self.theme.ink_soft
            align = right_align if side else left_align
            text = _shortened(port.text, metrics, place.width() + 0.5)
            self._text(place.adjusted(0, 0, 1, 0), text, self.small, QColor(colour), align)

    def _dots(self) -> None:
        for x, ports in ((0.0, self.look.inputs), (WIDTH, self.look.outputs)):
            for row, port in enumerate(ports):
                self._dot(QPointF(x, self.look.level(row, ports)), port)

    def _dot(self, centre: QPointF, port: PortLook) -> None:
        theme = self.theme
        colour = QColor(theme.wire)
        if port.trouble or port.kind == "missing":
            colour = QColor(theme.error if port.trouble else theme.warning)
        pen = QPen(colour, 1.4)
        if port.kind == "free":
            pen.setStyle(Qt.PenStyle.DotLine)
        self.painter.setPen(pen)
        if port.kind == "owned":
            self._own_variable(centre)
            return
        self.painter.setBrush(colour if port.kind == "wired" else QColor(theme.canvas))
        self.painter.drawEllipse(centre, PORT_RADIUS - 0.5, PORT_RADIUS - 0.5)

    def _own_variable(self, centre: QPointF) -> None:
        """Draw the square of an own variable, in the colours of a Variable's face."""
        box = QRectF(-PORT_RADIUS, -PORT_RADIUS, 2.0 * PORT_RADIUS, 2.0 * PORT_RADIUS)
        self.painter.setPen(QPen(QColor(self.theme.symbol("sources")), 1.4))
        self.painter.setBrush(self.theme.face("sources"))
        self.painter.drawRoundedRect(box.translated(centre), 1.5, 1.5)

    def _inside(self, state: State, middle: float) -> None:
        """Draw the sign of the worst state inside a page, centred at the height ``middle``."""
        sign, scale = self.look.sign or state.row.sign, self.sign_scale
        wide = glyphs.width(sign)
        gutter = GUTTER if self.zoom >= NUMBERS else 0.4 * GUTTER
        with placed(self.painter, self.look.width - gutter, middle, scale):
            place = QRectF(-wide, -glyphs.SIZE / 2.0, wide, glyphs.SIZE)
            colour = self.theme.lane_name(state)
            if self.zoom >= NUMBERS:  # on the lower edge, which the sign must not seem to erase
                draw_pill(
                    self.painter, place.adjusted(-_RIM, -_RIM, _RIM, _RIM), colour, self.theme
                )
            glyphs.draw(self.painter, sign, place, colour)

    def _text(
        self, place: QRectF, text: str, used: QFont, colour: QColor, align: Qt.AlignmentFlag
    ) -> None:
        self.painter.setFont(used)
        self.painter.setPen(colour)
        flags = align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
        self.painter.drawText(place, int(flags), text)

    def _elided(
        self, place: QRectF, text: str, used: QFont, colour: str, align: Qt.AlignmentFlag
    ) -> None:
        metrics = QFontMetricsF(used)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width() + 0.5)
        self._text(place, shown, used, QColor(colour), align)


def _shortened(text: str, metrics: QFontMetricsF, room: float) -> str:
    """``text`` as far as it fits; of a path, such as ``encoder/weight``, the last part remains."""
    first, slash, last = text.rpartition("/")
    if slash and metrics.horizontalAdvance(text) > room:
        left = room - metrics.horizontalAdvance(f"/{last}")
        begin = metrics.elidedText(first, Qt.TextElideMode.ElideRight, left)
        if begin not in ("", "…"):
            return f"{begin}/{last}"
        return metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)


def _draw_badges(painter: QPainter, look: Look, theme: Theme, zoom: float) -> None:
    """Draw the badges of a look in scene units, with the face's top left at the origin."""
    scale = legible_scale(zoom) / zoom
    with placed(painter, GUTTER, look.height - 0.5, scale):
        draw_badges(painter, look.badges, QPointF(0.0, _LOWER), theme)
