"""The legend: every state of a lane and every badge as it is drawn, with its name and threshold."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas.paint import glyphs, lanes
from app.canvas.paint.blocks import badges as pills
from app.canvas.paint.blocks.badges import Pill, pill_of
from app.canvas.paint.lane_labels import ORIGIN
from app.canvas.paint.lanes import Bundle
from app.canvas.state.codes import CODES
from app.canvas.state.formatting import number, power_of_ten
from app.services.theme import SMALL, Theme, font
from runtime.flow.badges import Mark
from runtime.flow.numbers.rules import THRESHOLDS
from runtime.flow.words.states import STATES, State

if TYPE_CHECKING:
    from app.canvas.state.annotations import Facts
    from runtime.flow import Thresholds

_ROW = 20.0
_SAMPLE = 74.0
_PAD = 12.0
_GAP = 10.0
_BETWEEN = 24.0
"""From the lanes to the badges."""
_ZEROS = "37 %"
"""Stands for a share of zeros."""
_LEAVES = "1/4"


@dataclass(frozen=True)
class Key:
    """What the legend tells of one result: thresholds, and the losses of lanes side by side."""

    thresholds: Thresholds = THRESHOLDS
    losses: tuple[str, ...] = ()


def key_of(facts: Facts) -> Key:
    """What the legend tells of what is shown."""
    flow = None if facts.result is None else facts.result.flow
    names = tuple(strand.name for strand in facts.strands) if len(facts.strands) > 1 else ()
    return Key(THRESHOLDS if flow is None else flow.thresholds, names)


def legend_size(key: Key) -> QSizeF:
    """Width and height of the legend, px at 100 %."""
    lines = max(len(STATES), len(_badges(key)) + len(_losses(key)))
    left, right = _widths(key)
    width = 2 * _PAD + 2 * (_SAMPLE + _GAP) + left + _BETWEEN + right
    return QSizeF(width, 2 * _PAD + _ROW * lines - 4.0)


def paint_legend(painter: QPainter, corner: QPointF, theme: Theme, key: Key) -> None:
    """Draw the legend with its top left at ``corner``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(corner)
    painter.setPen(QPen(QColor(theme.hairline), 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(QRectF(QPointF(0.5, 0.5), legend_size(key)), 5.0, 5.0)
    for row, state in enumerate(STATES):
        y = _PAD + _ROW * row + 4.0
        _paint_lane(painter, state, y, theme)
        _paint_words(painter, _PAD + _SAMPLE + _GAP, y, title(state, key.thresholds), theme)
    painter.translate(_PAD + _SAMPLE + _GAP + _widths(key)[0] + _BETWEEN, 0.0)
    _paint_badges(painter, theme, key)
    painter.restore()


def title(state: State, thresholds: Thresholds) -> str:
    """What a lane in that state means, with the thresholds that make it so."""
    values = {field.name: _limit(thresholds, field) for field in fields(thresholds)}
    return _tr(state.row.legend).format(**values)


def _limit(thresholds: Thresholds, field: Field[float]) -> str:
    """A threshold as the legend writes it: ``10 %`` or ``10⁻⁷``."""
    value: float = getattr(thresholds, field.name)
    return f"{number(100.0 * value, 3)} %" if field.metadata["percent"] else _power(value)


def _badges(key: Key) -> list[tuple[Pill | str, str]]:
    """Pills, and words on a lane, with what they mean."""
    cancels = _tr("the sum is below {0} of its largest term").format(_power(key.thresholds.cancels))
    return [
        (pill_of(Mark.CANCELS), cancels),
        (pill_of(Mark.UNOWNED), _tr("trained, and no optimiser updates it")),
        (pill_of(Mark.IDLE_STOP), _tr("a stop without effect")),
        (pill_of(Mark.OPEN_STOP), _tr("a stop that lets gradient through")),
        (pill_of(Mark.SURROGATE), _tr("its gradient is not the derivative, on purpose")),
        (Pill("✓"), _tr("a gradient check agrees")),
        (Pill("✗", grave=True), _tr("a gradient check does not agree")),
        (_LEAVES, _tr("leaves of a tree that carry gradient")),
        (ORIGIN, _tr("the first NaN or infinity is made here")),
        (pill_of(Mark.STALE), _tr("numbers of an older diagram")),
    ]


def _losses(key: Key) -> list[str]:
    """Which lane is which loss's; nothing where there is one lane beside a wire."""
    if not key.losses:
        return []
    told = [_tr("gradient of {0}").format(name) for name in key.losses]
    return [*told, _tr("left out: no path to that loss")]


def _widths(key: Key) -> tuple[float, float]:
    """Widths of the words about lanes, and of those about badges and losses."""
    measure = QFontMetricsF(font(SMALL)).horizontalAdvance
    left = max(measure(title(state, key.thresholds)) for state in STATES)
    return left, max(map(measure, [*(words for _, words in _badges(key)), *_losses(key)]))


def _paint_badges(painter: QPainter, theme: Theme, key: Key) -> None:
    """Pills with their meaning, then the losses of lanes side by side, at the origin's right."""
    badges = _badges(key)
    for row, (badge, words) in enumerate(badges):
        y = _PAD + _ROW * row + 4.0
        if isinstance(badge, Pill):
            start = QPointF(_SAMPLE - pills.pill_width(badge), y)
            pills.draw_pills(painter, [badge], start, theme)
        else:
            state = State.NONFINITE if badge == ORIGIN else State.CARRIES
            _paint_lane(painter, state, y, theme, badge)
        _paint_words(painter, _SAMPLE + _GAP, y - 1.0, words, theme, middle=True)
    for place, words in enumerate(_losses(key)):
        y = _PAD + _ROW * (len(badges) + place) + 4.0
        if place < len(key.losses):
            _paint_lane(painter, State.CARRIES, y, theme, str(place + 1))
        _paint_words(painter, _SAMPLE + _GAP, y - 1.0, words, theme, middle=True)


def _paint_lane(painter: QPainter, state: State, y: float, theme: Theme, words: str = "") -> None:
    """A lane in that state, with its wire and signs; with ``words`` alone, at ``y``."""
    row = state.row
    left, right = _PAD - 4.0, _PAD + _SAMPLE
    if words:
        left, right, y = 0.0, _SAMPLE + 6.0, y - lanes.GAP
    ends = np.array([[left, y, right, y]])
    bundle = Bundle(ends, np.array([CODES[state]], np.int8), np.array([2.4]))
    lanes.draw_curves(painter, bundle, theme, 1.0, bare=bool(words))
    colour = theme.lane(state).name()
    lane = y + lanes.GAP
    if sign := words or row.glyph or row.label_of(zeros=_ZEROS):
        width = glyphs.width(sign)
        box = QRectF((left + right - width) / 2.0, lane - glyphs.SIZE / 2.0, width, glyphs.SIZE)
        glyphs.draw(painter, sign, box, colour, theme.canvas)
    if row.cut:
        box = QRectF(right - 15.0, lane - glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
        halo = theme.canvas if row.cut in glyphs.ON_LANE else ""
        glyphs.draw(painter, row.cut, box, colour, halo)


def _paint_words(
    painter: QPainter, left: float, y: float, words: str, theme: Theme, *, middle: bool = False
) -> None:
    """Words beside a sample at ``y``: its wire, or its ``middle``."""
    painter.setFont(font(SMALL))
    painter.setPen(QColor(theme.ink))
    top = y - (_ROW / 2.0 - 1.0 if middle else 8.0)
    place = QRectF(left, top, 1.0, _ROW)
    align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    painter.drawText(place, int(align | Qt.TextFlag.TextDontClip), words)


def _power(value: float) -> str:
    """``10⁻⁷`` for a power of ten, else the number."""
    size = math.log10(value) if value > 0 else 0.5
    return power_of_ten(value) if abs(size - round(size)) < 1e-9 else number(value, 3)


def _tr(text: str) -> str:
    return QCoreApplication.translate("legend", text)
