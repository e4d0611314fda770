"""Paints what lies over a page: questions and guesses, and a trial with its effect."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.blocks.faces import paint_badges_over
from gradwire.app.canvas.paint.drawing import apart, draw_frame, draw_lines, draw_tag, widget_rect
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.curves import strokes
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.state.marks import GuessLabel, GuessMarks, GuessStage
from gradwire.app.services.theme import BODY, SMALL, font, scaled

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.curves import Courses
    from gradwire.app.canvas.state.marks import TrialMarks
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.services.theme import Theme

_CHIP_ROOM = 8.0
_BELOW = 4.0
"""From a block to its chip, px."""
_SIGNS = {GuessStage.RIGHT: "✓ ", GuessStage.WRONG: "✗ "}


def paint_guesses(
    painter: QPainter, view: ViewState, marks: GuessMarks, below: Collection[str] = ()
) -> None:
    """Paint the questions of the page; texts don't shrink with it.

    Another chip is below the blocks ``below``, so that theirs are a line lower. Below
    :data:`NUMBERS`, of chips that would lie on each other one is painted.
    """
    if marks.place in view.scene.index:
        _frame_place(painter, view, marks.place)
    chips = []
    for key, guess in marks.wires.items():
        if key in view.scene.wire_index and _words(guess):
            chips.append((guess, wire_chip(view, key, guess)))
    for name, guess in marks.blocks.items():
        if name in view.scene.index and _words(guess):
            box = block_chip(view, name, guess)
            box.translate(0.0, box.height() + 6.0 if name in below else 0.0)
            chips.append((guess, box))
    if view.camera.zoom < NUMBERS:
        chips = [chips[number] for number in apart([box for _, box in chips])]
    for guess, box in chips:
        _paint_chip(painter, box, guess, view.theme)


def block_chip(view: ViewState, name: str, guess: GuessLabel) -> QRectF:
    """The place of the chip of a block, widget px."""
    face, box = widget_rect(view, view.scene.rects[view.scene.index[name]]), _size(guess)
    box.moveTo(face.center().x() - box.width() / 2.0, face.bottom() + _BELOW)
    return box


def wire_chip(view: ViewState, key: str, guess: GuessLabel) -> QRectF:
    """The place of the chip of a wire, above its middle, widget px."""
    points = view.scene.course_of(key).to_widget(view.camera).flatten(STEPS)[0]
    box = _size(guess)
    x, y = points[len(points) // 2].tolist()
    box.moveCenter(QPointF(x, y - box.height() / 2.0 - _BELOW))
    return box


def _size(guess: GuessLabel) -> QRectF:
    return QRectF(0.0, 0.0, *_room(_words(guess), scaled(SMALL)))


@lru_cache(maxsize=1024)
def _room(words: str, size: int) -> tuple[float, float]:
    """Width and height of a chip with letters of a size."""
    metrics = QFontMetricsF(font(size, bold=True))
    height = metrics.height() + 5.0
    return max(metrics.horizontalAdvance(words) + 2.0 * _CHIP_ROOM, height), height


def _words(guess: GuessLabel) -> str:
    return (_SIGNS.get(guess.stage, "") + guess.text).strip()


def _paint_chip(painter: QPainter, box: QRectF, guess: GuessLabel, theme: Theme) -> None:
    """Dashed while it is open, and with a sign once it is judged: colour is never alone."""
    colour = theme.error if guess.stage is GuessStage.WRONG else theme.accent
    is_open = guess.stage is GuessStage.OPEN
    line = Qt.PenStyle.DashLine if is_open else Qt.PenStyle.SolidLine
    letters, rim = font(scaled(SMALL), bold=True), QPen(QColor(colour), 1.5, line)
    colours = colour if is_open else theme.ink, theme.canvas
    draw_tag(painter, box, _words(guess), letters, colours, rim, box.height() / 2.0)


def _frame_place(painter: QPainter, view: ViewState, name: str) -> None:
    """Frame the block that feedback points at."""
    box = widget_rect(view, view.scene.rects[view.scene.index[name]])
    draw_frame(painter, box, QPen(QColor(view.theme.error), 3.0), 6.0)


_ROOM = 6.0
_GAP = 9.0
"""Between a block and what is written beside it, px."""


def paint_trial(painter: QPainter, view: ViewState, marks: TrialMarks) -> None:
    """Paint a trial over the page."""
    scene = view.scene
    for key in marks.cuts:
        if key in scene.wire_index:
            _paint_cut(painter, view, scene.course_of(key).to_widget(view.camera))
    for name in marks.opened:
        if name in scene.index:
            _paint_frame(painter, view, scene.rects[scene.index[name]], Qt.PenStyle.DashLine)
    if marks.current in scene.index:
        rect = scene.rects[scene.index[marks.current]]
        _paint_frame(painter, view, rect, Qt.PenStyle.SolidLine)
    framed = (name for name in (*marks.opened, marks.current) if name in scene.index)
    paint_badges_over(painter, view, (scene.index[name] for name in framed))
    _paint_changes(painter, view, marks.changes)


def _paint_cut(painter: QPainter, view: ViewState, course: Courses) -> None:
    theme, unit = view.theme, view.camera.unit
    points = course.flatten(STEPS)
    pen = QPen(QColor(theme.accent), 2.2 * unit, Qt.PenStyle.DashLine)
    painter.setPen(pen)
    draw_lines(painter, strokes(points))
    middle = QPointF(*points[0, points.shape[1] // 2].tolist())
    pen = QPen(QColor(theme.accent), 1.5, Qt.PenStyle.DashLine)
    glyphs.draw_round(painter, "⊣", middle, unit, pen, theme.canvas)


def _paint_frame(painter: QPainter, view: ViewState, rect: Floats, style: Qt.PenStyle) -> None:
    """Paint a frame around a block: a stop that is opened, or where the timeline is."""
    pen = QPen(QColor(view.theme.accent), 2.0, style)
    draw_frame(painter, widget_rect(view, rect), pen, 4.0)


def _paint_changes(painter: QPainter, view: ViewState, changes: Mapping[str, str]) -> None:
    """Paint changes beside their blocks; texts do not shrink with the page. Below :data:`NUMBERS`,
    of texts that would lie on each other one is painted.
    """
    scene, theme, letters = view.scene, view.theme, font(scaled(BODY), bold=True)
    metrics, within = QFontMetricsF(letters), QRectF(painter.window())
    area = view.camera.area(within.x(), within.y(), within.width(), within.height())
    seen = scene.blocks_in(area).tolist()
    texts = ((scene.rects[i], changes.get(scene.names[i])) for i in seen)
    here = [(rect, text) for rect, text in texts if text is not None]
    boxes = [change_box(view, rect, metrics, text, within) for rect, text in here]
    is_near = view.camera.zoom >= NUMBERS
    for number in range(len(boxes)) if is_near else apart(boxes):
        colours, rim = (theme.ink, theme.canvas), QPen(QColor(theme.accent), 1.0)
        draw_tag(painter, boxes[number], here[number][1], letters, colours, rim, 5.0)


def change_box(
    view: ViewState, rect: Floats, metrics: QFontMetricsF, text: str, within: QRectF
) -> QRectF:
    """Where a change is written: below its block, or above it where there is no room below, and
    moved sideways so that none of it is cut off.
    """
    face, size = widget_rect(view, rect), metrics.horizontalAdvance(text) + 2 * _ROOM
    left = face.center().x() - size / 2.0
    box = QRectF(left, face.bottom() + _GAP, size, metrics.height() + 4.0)
    if box.bottom() > within.bottom():
        box.moveBottom(face.top() - _GAP)
    box.moveRight(min(box.right(), within.right() - _ROOM))
    box.moveLeft(max(box.left(), within.left() + _ROOM))
    return box
