"""Paints notes and frames."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QTextLayout

from gradwire.app.canvas.paint.blocks.faces import CORNER
from gradwire.app.canvas.paint.drawing import draw_rects, legible_size, placed
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import BODY, font
from gradwire.runtime.lessons import asks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QFont

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.runtime.diagram import Note

_PAD, _RISE = 10.0, 7.0
_TIGHT = 1.2
"""Distance of lines relative to their letters, where these are larger than they should be."""
_FLAGS = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)


def paint_notes(
    painter: QPainter, view: ViewState, area: Floats, *, frames: bool, grips: bool
) -> None:
    """Paint the frames of the page, or its other notes, within ``area`` of the scene.

    With ``grips``, each has the corner by which it is resized. From afar notes are drawn together,
    as rectangles.
    """
    if view.annotations.hides_notes and not frames:
        return
    left, top, right, bottom = area.tolist()
    known = view.annotations.page.notes
    moved = {
        name: replace(note, text=known[name].text) if asks(note.text) else note
        for name, note in view.dragged_notes.items()
    }
    notes = {**known, **moved}
    plain: dict[tuple[str, bool], list[tuple[float, ...]]] = {}
    for name, note in notes.items():
        x, y = note.at
        if note.frame != frames or x >= right or x + note.width <= left or y >= bottom:
            continue
        height = note.height if frames else _height(view, notes, name)
        if y + height <= top:
            continue
        selected = name in view.selection.notes
        if frames or view.camera.zoom >= PLAIN:
            _paint_note(painter, view, note, height, selected=selected, grip=grips)
        else:
            plain.setdefault((note.colour, selected), []).append((x, y, note.width, height))
    for (colour, selected), boxes in plain.items():
        _set_colours(painter, view, colour, frame=False, selected=selected)
        draw_rects(painter, view.camera.rects_to_widget(np.array(boxes)))


def note_height(text: str, width: float) -> float:
    """The height a note of ``width`` needs for its text, scene units."""
    return math.ceil(_text_height(text, width - 2 * _PAD, font(BODY).key())) + 2 * _RISE


@lru_cache(maxsize=4096)
def _text_height(text: str, width: float, letters: str) -> float:
    """The height of a text in letters of a font, given by its key."""
    room = QRectF(0.0, 0.0, width, 1e5)
    return QFontMetricsF(font(BODY)).boundingRect(room, _FLAGS, text).height()


def heights_depend_on_blocks(view: ViewState) -> bool:
    """Whether notes may be higher where no block lies below."""
    zoom = view.camera.zoom
    is_enlarged = zoom >= NUMBERS and legible_size(BODY, zoom) != BODY
    return is_enlarged and not all(note.frame for note in view.annotations.page.notes.values())


def _height(view: ViewState, notes: Mapping[str, Note], name: str) -> float:
    """The height a note is drawn with: as much as its text needs, where letters are larger than
    they should be only if nothing lies below.
    """
    note, zoom = notes[name], view.camera.zoom
    height = max(note.height, note_height(note.text, note.width))
    letters = font(legible_size(BODY, zoom))
    if zoom < NUMBERS or letters.pixelSize() == BODY:
        return height
    lines = _broken(note.text, letters.pixelSize(), note.width - 2 * _PAD)
    grown = math.ceil(len(lines) * _pitch(letters)) + 2 * _RISE
    if grown <= height:
        return height
    x, y = note.at
    below = np.array([x, y + height, x + note.width, y + grown])
    return grown if _is_free(view, notes, name, below) else height


def _is_free(view: ViewState, notes: Mapping[str, Note], name: str, area: Floats) -> bool:
    """Whether no block and no other note lies in an area of the scene."""
    left, top, right, bottom = area.tolist()
    others = (note for other, note in notes.items() if other != name and not note.frame)
    return not len(view.scene.blocks_in(area)) and not any(
        note.at.x < right
        and note.at.x + note.width > left
        and note.at.y < bottom
        and note.at.y + note.height > top
        for note in others
    )


def _paint_note(
    painter: QPainter, view: ViewState, note: Note, height: float, *, selected: bool, grip: bool
) -> None:
    theme, zoom = view.theme, view.camera.zoom
    with placed(painter, view.camera.x + zoom * note.at.x, view.camera.y + zoom * note.at.y, zoom):
        box = QRectF(0.0, 0.0, note.width, height)
        _set_colours(painter, view, note.colour, frame=note.frame, selected=selected)
        painter.drawRoundedRect(box, CORNER, CORNER)
        if grip and zoom >= PLAIN:
            painter.setPen(QPen(QColor(theme.ink_faint), 1.0))
            for inset in (4.0, 8.0):
                painter.drawLine(
                    QPointF(box.right() - inset, box.bottom() - 2.0),
                    QPointF(box.right() - 2.0, box.bottom() - inset),
                )
        if note.frame:
            _paint_title(painter, view, note.text, box)
        else:
            _paint_text(painter, view, note.text, box.adjusted(_PAD, _RISE, -_PAD, -_RISE))


def _set_colours(
    painter: QPainter, view: ViewState, colour: str, *, frame: bool, selected: bool
) -> None:
    """Set the pen and the brush for a note or a frame of a colour."""
    theme = view.theme
    chosen = shades(theme, colour)
    edge = chosen.edge if chosen else QColor(theme.hairline)
    pen = QPen(QColor(theme.accent) if selected else edge, 1.5 if selected else 1.0)
    pen.setCosmetic(view.camera.zoom < 1.0)  # from afar the frame would fade
    painter.setPen(pen)
    if chosen is not None:
        painter.setBrush(chosen.wash if frame else chosen.ground)
    else:
        painter.setBrush(Qt.BrushStyle.NoBrush if frame else QColor(theme.note))


def _paint_title(painter: QPainter, view: ViewState, text: str, frame: QRectF) -> None:
    """Paint a frame's title inside it; above it from afar, where the blocks leave no room."""
    zoom = view.camera.zoom
    letters = font(legible_size(BODY, zoom), bold=True)
    painter.setPen(QColor(view.theme.ink_soft))
    painter.setFont(letters)
    if letters.pixelSize() == BODY:
        painter.drawText(frame.adjusted(_PAD, _RISE, -_PAD, -_RISE), _FLAGS, text)
        return
    metrics = QFontMetricsF(letters)
    high, pad = metrics.height(), 2.0 / zoom
    place = QRectF(pad, -high - pad, frame.width() - 2 * pad, high)
    if place.width() >= metrics.horizontalAdvance("123…"):
        line = " ".join(text.split())
        shown = metrics.elidedText(line, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft), shown)


def _paint_text(painter: QPainter, view: ViewState, text: str, room: QRectF) -> None:
    """Paint as many lines of a note as fit in ``room``."""
    letters = font(legible_size(BODY, view.camera.zoom))
    painter.setPen(QColor(view.theme.ink))
    painter.setFont(letters)
    if letters.pixelSize() == BODY:
        painter.drawText(room, _FLAGS, text)
        return
    metrics, pitch = QFontMetricsF(letters), _pitch(letters)
    top = 0.0
    for start, length in _broken(text, letters.pixelSize(), room.width()):
        if top + pitch > room.height() + 1.0:
            break
        place = QRectF(room.left(), room.top() + top, room.width(), pitch)
        top += pitch
        words = text[start : start + length].strip()
        if top + pitch > room.height() + 1.0:  # the last one shows that more follows
            words = " ".join(text[start:].split())
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room.width())
        flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextDontClip
        painter.drawText(place, int(flags), shown)


def _pitch(letters: QFont) -> float:
    """Distance of lines of letters that are larger than they should be."""
    return min(_TIGHT * letters.pixelSize(), QFontMetricsF(letters).height())


@lru_cache(maxsize=256)
def _broken(text: str, size: int, width: float) -> tuple[tuple[int, int], ...]:
    """Start and length of each line of ``text``, in letters of a size, within ``width``."""
    layout = QTextLayout(text.replace("\n", "\u2028"), font(size))
    lines: list[tuple[int, int]] = []
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        lines.append((line.textStart(), line.textLength()))
    layout.endLayout()
    return tuple(lines)
