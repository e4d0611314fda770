"""Paints questions and guesses: a chip below each block, and one on each wire."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint.drawing import draw_frame, draw_tag, widget_rect
from gradwire.app.canvas.paint.legible import apart
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.lane_paths import STEPS
from gradwire.app.canvas.state.marks.guesses import GuessLabel, GuessMarks, GuessStage
from gradwire.app.services.theme import SMALL, font, scaled

if TYPE_CHECKING:
    from collections.abc import Collection

    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.services.theme import Theme

_ROOM = 8.0
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
        _paint_frame(painter, view, marks.place)
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
    return max(metrics.horizontalAdvance(words) + 2.0 * _ROOM, height), height


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


def _paint_frame(painter: QPainter, view: ViewState, name: str) -> None:
    """Frame the block that feedback points at."""
    box = widget_rect(view, view.scene.rects[view.scene.index[name]])
    draw_frame(painter, box, QPen(QColor(view.theme.error), 3.0), 6.0)
