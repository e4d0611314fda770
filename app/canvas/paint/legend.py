"""Paints the legend: every state of a lane and every badge, with its meaning and threshold."""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas.paint import glyphs, lanes
from app.canvas.paint.blocks.badges import badge_width, draw_badges
from app.canvas.paint.lane_labels import ORIGIN
from app.canvas.paint.lanes import Bundle
from app.canvas.scene.bezier import Courses
from app.canvas.scene.lane_paths import GAP
from app.canvas.state.badge_labels import BadgeLabel, badge_label
from app.canvas.state.codes import CODES
from app.canvas.state.formatting import number, power_of_ten
from app.services.theme import SMALL, Theme, font
from app.services.translation import editor
from runtime.flow.badges import Mark
from runtime.flow.numbers.rules import THRESHOLDS
from runtime.flow.words.states import STATES, State

if TYPE_CHECKING:
    from app.canvas.state.annotations import Annotations
    from runtime.flow import Thresholds

_ROW = 20.0
_SAMPLE = 74.0
_PAD = 12.0
_GAP = 10.0
_BETWEEN = 24.0
"""From the lanes to the badges."""
_ZEROS = "37 %"
"""Sample of a share of zeros."""
_LEAVES = "1/4"


@dataclass(frozen=True)
class LegendContent:
    """The variable content of the legend: thresholds, and the losses of lanes side by side."""

    thresholds: Thresholds = THRESHOLDS
    losses: tuple[str, ...] = ()


def legend_content(annotations: Annotations) -> LegendContent:
    """The content of the legend for a page and its result."""
    result, lanes = annotations.page.result, annotations.lanes
    flow = None if result is None else result.flow
    names = tuple(loss.name for loss in lanes) if len(lanes) > 1 else ()
    return LegendContent(THRESHOLDS if flow is None else flow.thresholds, names)


def legend_size(content: LegendContent) -> QSizeF:
    """Width and height of the legend, px at 100 %."""
    lines = max(len(STATES), len(_badges(content)) + len(_losses(content)))
    left, right = _widths(content)
    width = 2 * _PAD + 2 * (_SAMPLE + _GAP) + left + _BETWEEN + right
    return QSizeF(width, 2 * _PAD + _ROW * lines - 4.0)


def paint_legend(painter: QPainter, corner: QPointF, theme: Theme, content: LegendContent) -> None:
    """Paint the legend with its top left at ``corner``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(corner)
    painter.setPen(QPen(QColor(theme.hairline), 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(QRectF(QPointF(0.5, 0.5), legend_size(content)), 5.0, 5.0)
    for row, state in enumerate(STATES):
        y = _PAD + _ROW * row + 4.0
        _paint_lane(painter, state, y, theme)
        _paint_text(painter, _PAD + _SAMPLE + _GAP, y, title(state, content.thresholds), theme)
    painter.translate(_PAD + _SAMPLE + _GAP + _widths(content)[0] + _BETWEEN, 0.0)
    _paint_badges(painter, theme, content)
    painter.restore()


def title(state: State, thresholds: Thresholds) -> str:
    """What a state means, with the thresholds that define it."""
    values = {field.name: _limit(thresholds, field) for field in fields(thresholds)}
    return editor.tr(state.row.legend).format(**values)


def _limit(thresholds: Thresholds, field: Field[float]) -> str:
    """A threshold as ``10 %`` or ``10⁻⁷``."""
    value: float = getattr(thresholds, field.name)
    return f"{number(100.0 * value, 3)} %" if field.metadata["percent"] else _power(value)


def _badges(content: LegendContent) -> list[tuple[BadgeLabel | str, str]]:
    """Badges, and labels of lanes, with their meanings."""
    cancels = editor.tr("the sum is below {0} of its largest term").format(
        _power(content.thresholds.cancels)
    )
    return [
        (badge_label(Mark.VALUE), editor.tr("the first value that is NaN or infinite")),
        (badge_label(Mark.CANCELS), cancels),
        (badge_label(Mark.UNOWNED), editor.tr("trained, and no optimiser updates it")),
        (badge_label(Mark.IDLE_STOP), editor.tr("a stop without effect")),
        (badge_label(Mark.OPEN_STOP), editor.tr("a stop that lets gradient through")),
        (badge_label(Mark.SURROGATE), editor.tr("its gradient is not the derivative, on purpose")),
        (BadgeLabel("✓"), editor.tr("a gradient check agrees")),
        (BadgeLabel("✗", serious=True), editor.tr("a gradient check does not agree")),
        (_LEAVES, editor.tr("leaves of a tree that carry gradient")),
        (ORIGIN, editor.tr("the first NaN or infinity appears here")),
        (badge_label(Mark.STALE), editor.tr("numbers of an older diagram")),
    ]


def _losses(content: LegendContent) -> list[str]:
    """The loss of each lane; none if there is one lane beside a wire."""
    if not content.losses:
        return []
    found = [editor.tr("gradient of {0}").format(name) for name in content.losses]
    return [*found, editor.tr("left out: no path to that loss")]


def _widths(content: LegendContent) -> tuple[float, float]:
    """Widths of the text about lanes, and of that about badges and losses."""
    measure = QFontMetricsF(font(SMALL)).horizontalAdvance
    left = max(measure(title(state, content.thresholds)) for state in STATES)
    return left, max(
        map(measure, [*(meaning for _, meaning in _badges(content)), *_losses(content)])
    )


def _paint_badges(painter: QPainter, theme: Theme, content: LegendContent) -> None:
    """Paint badges with their meaning, then the losses of lanes side by side."""
    badges = _badges(content)
    for row, (badge, meaning) in enumerate(badges):
        y = _PAD + _ROW * row + 4.0
        if isinstance(badge, BadgeLabel):
            start = QPointF(_SAMPLE - badge_width(badge), y)
            draw_badges(painter, [badge], start, theme)
        else:
            state = State.NONFINITE if badge == ORIGIN else State.CARRIES
            _paint_lane(painter, state, y, theme, badge)
        _paint_text(painter, _SAMPLE + _GAP, y - 1.0, meaning, theme, middle=True)
    for place, loss in enumerate(_losses(content)):
        y = _PAD + _ROW * (len(badges) + place) + 4.0
        if place < len(content.losses):
            _paint_lane(painter, State.CARRIES, y, theme, str(place + 1))
        _paint_text(painter, _SAMPLE + _GAP, y - 1.0, loss, theme, middle=True)


def _paint_lane(painter: QPainter, state: State, y: float, theme: Theme, text: str = "") -> None:
    """Paint a lane in a state, with wire and glyphs; with ``text``, the lane alone, at ``y``."""
    row = state.row
    left, right = _PAD - 4.0, _PAD + _SAMPLE
    if text:
        left, right, y = 0.0, _SAMPLE + 6.0, y - GAP
    ends = np.array([[left, y, right, y]])
    bundle = Bundle(Courses(ends), np.array([CODES[state]], np.int8), np.array([2.4]))
    lanes.draw_curves(painter, bundle, theme, 1.0, bare=bool(text))
    colour = theme.lane(state).name()
    lane = y + GAP
    if glyph := text or row.glyph or row.label_of(zeros=_ZEROS):
        width = glyphs.width(glyph)
        box = QRectF((left + right - width) / 2.0, lane - glyphs.SIZE / 2.0, width, glyphs.SIZE)
        glyphs.draw(painter, glyph, box, colour, theme.canvas)
    if row.cut:
        box = QRectF(right - 15.0, lane - glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
        ground = theme.canvas if row.cut in glyphs.ON_LANE else ""
        glyphs.draw(painter, row.cut, box, colour, ground)


def _paint_text(
    painter: QPainter, left: float, y: float, text: str, theme: Theme, *, middle: bool = False
) -> None:
    """Paint text beside a sample whose wire, or ``middle``, is at ``y``."""
    painter.setFont(font(SMALL))
    painter.setPen(QColor(theme.ink))
    top = y - (_ROW / 2.0 - 1.0 if middle else 8.0)
    place = QRectF(left, top, 1.0, _ROW)
    align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    painter.drawText(place, int(align | Qt.TextFlag.TextDontClip), text)


def _power(value: float) -> str:
    """``10⁻⁷`` for a power of ten, else the number."""
    size = math.log10(value) if value > 0 else 0.5
    return power_of_ten(value) if abs(size - round(size)) < 1e-9 else number(value, 3)
