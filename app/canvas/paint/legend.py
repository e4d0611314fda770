"""Paints the legend: states of lanes and badges, with their meanings and thresholds."""

from __future__ import annotations

import math
from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gradwire.app.canvas.paint import glyphs
from gradwire.app.canvas.paint.blocks.badges import badge_width, draw_badges
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.paint.wires.lane_labels import ORIGIN
from gradwire.app.canvas.paint.wires.lanes import Bundle
from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.curves import Courses
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.app.canvas.state.badge_labels import (
    BadgeLabel,
    NumberStatus,
    badge_label,
    status_label,
)
from gradwire.app.canvas.state.formatting import power_of_ten
from gradwire.app.canvas.state.lanes import CODES
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import SMALL, Theme, font
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import STATES, THRESHOLDS, BadgeKind, Form, State, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradwire.app.canvas.state.annotations import Annotations
    from gradwire.runtime.flow import Thresholds

_ROW = 20.0
SAMPLE = 74.0
"""Width of the sample of a lane, px."""
_PAD = 12.0
_GAP = 10.0
_BETWEEN = 24.0
"""From the lanes to the badges."""
_ZEROS = "37 %"
"""Sample of a share of zeros."""
_LEAVES = "1/4"


@dataclass(frozen=True)
class LegendContent:
    """What a legend explains: states and badges, with thresholds; losses of lanes side by side."""

    thresholds: Thresholds = THRESHOLDS
    losses: tuple[str, ...] = ()
    colours: tuple[str, ...] = ()
    """The colours that the user gave these losses, empty for none."""
    states: tuple[State, ...] = tuple(STATES)
    badges: frozenset[str] | None = None
    """Texts of the badges to explain; None for all."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to explain."""
        return bool(self.states or self.losses or self.badges)


def legend_content(annotations: Annotations) -> LegendContent:
    """The content of the legend for a page and its result."""
    result, lanes = annotations.page.result, annotations.lanes
    flow = None if result is None else result.flow
    names = tuple(loss.name for loss in lanes) if len(lanes) > 1 else ()
    colours = tuple(loss.colour for loss in lanes) if names else ()
    return LegendContent(THRESHOLDS if flow is None else flow.thresholds, names, colours)


def occurring_content(annotations: Annotations) -> LegendContent:
    """The content of a legend with only the states and badges that the page shows."""
    codes = {int(code) for loss in annotations.lanes for code in distinct(loss.drawn)}
    return replace(
        legend_content(annotations),
        states=tuple(s for s in STATES if CODES[s] in codes and _is_visible(s)),
        badges=frozenset(_occurring_badges(annotations)),
    )


def _is_visible(state: State) -> bool:
    row = state.row
    return row.form is not Form.NONE or bool(row.glyph or row.cut)


def _occurring_badges(annotations: Annotations) -> Iterator[str]:
    """The texts of badges on faces and lanes; that of a port comes without its name."""
    known = [badge.text for badge, _ in _badges(LegendContent()) if isinstance(badge, BadgeLabel)]
    for block in range(len(annotations.scene.names)):
        for badge in annotations.look(block).badges:
            yield from (text for text in known if f"{badge.text} ".startswith(f"{text} "))
    for loss in annotations.lanes:
        wires = range(len(loss.keys))
        if any(map(loss.is_origin, wires)):
            yield ORIGIN
        if any(loss.leaves(wire) is not None for wire in wires):
            yield _LEAVES


def legend_size(content: LegendContent) -> QSizeF:
    """Width and height of the legend, px at 100 %."""
    lines = max(len(content.states), len(_badges(content)) + len(_losses(content)))
    columns = [_PAD + SAMPLE + _GAP + width for width in _widths(content) if width]
    width = sum(columns) + _PAD + (_BETWEEN - _PAD) * (len(columns) - 1)
    return QSizeF(width, 2 * _PAD + _ROW * lines - 4.0)


def paint_legend(painter: QPainter, corner: QPointF, theme: Theme, content: LegendContent) -> None:
    """Paint the legend with its top left at ``corner``."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(corner)
    painter.setPen(QPen(QColor(theme.hairline), 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(QRectF(QPointF(0.5, 0.5), legend_size(content)), 5.0, 5.0)
    for row, state in enumerate(content.states):
        y = _PAD + _ROW * row + 4.0
        paint_lane(painter, state, y, theme)
        _paint_text(painter, _PAD + SAMPLE + _GAP, y, title(state, content.thresholds), theme)
    left = _widths(content)[0]
    painter.translate(_PAD + SAMPLE + _GAP + left + _BETWEEN if left else _PAD, 0.0)
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
    found: list[tuple[BadgeLabel | str, str]] = [
        (badge_label(BadgeKind.VALUE), editor.tr("the first value that is NaN or infinite")),
        (badge_label(BadgeKind.CANCELS), cancels),
        (badge_label(BadgeKind.UNOWNED), editor.tr("trained, and no optimiser updates it")),
        (badge_label(BadgeKind.IDLE_STOP), editor.tr("a stop without effect")),
        (badge_label(BadgeKind.OPEN_STOP), editor.tr("a stop that lets gradient through")),
        (
            badge_label(BadgeKind.SURROGATE),
            editor.tr("by its rule the gradient is not the derivative"),
        ),
        (BadgeLabel("✓"), editor.tr("a gradient check agrees")),
        (BadgeLabel("✗", serious=True), editor.tr("a gradient check does not agree")),
        (_LEAVES, editor.tr("leaves of a tree that carry gradient")),
        (ORIGIN, editor.tr("the first NaN or infinity appears here")),
        (badge_label(BadgeKind.STALE), editor.tr("numbers of an older diagram")),
        (status_label(NumberStatus.COMPUTING), editor.tr("numbers that are being computed")),
    ]
    if content.badges is None:
        return found
    return [
        (badge, meaning)
        for badge, meaning in found
        if (badge.text if isinstance(badge, BadgeLabel) else badge) in content.badges
    ]


def _losses(content: LegendContent) -> list[str]:
    """The loss of each lane; none if there is one lane beside a wire."""
    if not content.losses:
        return []
    found = [editor.tr("gradient of {0}").format(name) for name in content.losses]
    return [*found, editor.tr("left out: no path to that loss")]


def _widths(content: LegendContent) -> tuple[float, float]:
    """Widths of the text about lanes, and of that about badges and losses; 0 without any."""
    measure = QFontMetricsF(font(SMALL)).horizontalAdvance
    titles = [title(state, content.thresholds) for state in content.states]
    meanings = [*(meaning for _, meaning in _badges(content)), *_losses(content)]
    return max(map(measure, titles), default=0.0), max(map(measure, meanings), default=0.0)


def _paint_badges(painter: QPainter, theme: Theme, content: LegendContent) -> None:
    """Paint badges with their meaning, then the losses of lanes side by side."""
    badges = _badges(content)
    for row, (badge, meaning) in enumerate(badges):
        y = _PAD + _ROW * row + 4.0
        if isinstance(badge, BadgeLabel):
            start = QPointF(SAMPLE - badge_width(badge), y)
            draw_badges(painter, [badge], start, theme)
        else:
            state = State.NONFINITE if badge == ORIGIN else State.CARRIES
            paint_lane(painter, state, y, theme, badge)
        _paint_text(painter, SAMPLE + _GAP, y - 1.0, meaning, theme, middle=True)
    for place, loss in enumerate(_losses(content)):
        y = _PAD + _ROW * (len(badges) + place) + 4.0
        if place < len(content.losses):
            chosen = shades(theme, content.colours[place]) if content.colours else None
            ground = chosen.ground.name() if chosen else ""
            paint_lane(painter, State.CARRIES, y, theme, str(place + 1), ground, loss=place)
        _paint_text(painter, SAMPLE + _GAP, y - 1.0, loss, theme, middle=True)


def paint_lane(
    painter: QPainter,
    state: State,
    y: float,
    theme: Theme,
    text: str = "",
    ground: str = "",
    loss: int | None = None,
) -> None:
    """Paint a lane in a state, with wire and glyphs; with ``text``, the lane alone, at ``y``.

    ``ground`` is the colour behind the text where the user chose one, ``loss`` the number of the
    loss whose lane it is.
    """
    row = state.row
    left, right = _PAD - 4.0, _PAD + SAMPLE
    if text:
        left, right, y = 0.0, SAMPLE + 6.0, y - GAP
    ends = np.array([[left, y, right, y]])
    bundle = Bundle(Courses(ends), np.array([CODES[state]], np.int8), np.array([2.4]))
    lanes.draw_curves(painter, bundle, theme, 1.0, bare=bool(text), loss=loss)
    colour = theme.lane_name(state, loss)
    lane = y + GAP
    if glyph := text or row.glyph or row.label_of(zeros=_ZEROS):
        width = glyphs.width(glyph)
        box = QRectF((left + right - width) / 2.0, lane - glyphs.SIZE / 2.0, width, glyphs.SIZE)
        ink = theme.ink if ground else colour
        glyphs.draw(painter, glyph, box, ink, ground or theme.canvas)
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
