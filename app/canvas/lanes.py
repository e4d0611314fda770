"""Wires: the value's thin forward curve, and beside it the lane of the gradient, by state.

A lane runs from the reader back to the source. What tells the states apart besides colour is
the form of the lane; glyphs and marks on it say the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.curves import Tracks, beside, draw_lines, flatten, strokes

if TYPE_CHECKING:
    from app.canvas.geometry import Floats
    from app.theme import Theme

GAP = 6.0
"""From the forward curve to the lane, px at 100 %."""
STEPS = 32
"""Lines a curve is flattened into; fewer from afar."""
_INSET = 9.0
_SQUARE = Qt.PenCapStyle.SquareCap


class Form(Enum):
    """How a lane is drawn."""

    NONE = auto()
    SOLID = auto()
    LONG_DASH = auto()
    HOLLOW = auto()
    BEADS = auto()
    SAW = auto()
    ZIGZAG = auto()
    DASH = auto()
    DASH_DOT = auto()
    DOTS = auto()
    HATCH = auto()


@dataclass(frozen=True, slots=True)
class Style:
    """A state's lane: form, glyph in its middle, glyph where the gradient is cut, and its name."""

    form: Form
    title: str
    glyph: str = ""
    cut: str = ""

    @property
    def flows(self) -> bool:
        """Gradient passes: the lane has chevrons."""
        return self.form in _FLOWING


_FLOWING = frozenset({Form.SOLID, Form.LONG_DASH, Form.HOLLOW, Form.BEADS, Form.SAW, Form.ZIGZAG})

STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "CARRIES": Style(Form.SOLID, "carries gradient; width: its size"),
        "PARTIAL": Style(Form.LONG_DASH, "carries, partly zero"),
        "ZERO": Style(Form.HOLLOW, "connected, but zero"),
        "FAINT": Style(Form.BEADS, "carries, vanishing"),
        "FLOOD": Style(Form.SAW, "carries, exploding"),
        "NONFINITE": Style(Form.ZIGZAG, "NaN or infinite"),
        "STOPPED": Style(Form.DASH, "stopped by StopGradient", cut="⊣"),
        "NO_RULE": Style(Form.DASH_DOT, "cut: not differentiable", cut="∅"),
        "OFF_ROUTE": Style(Form.DOTS, "no path to the loss", glyph="↛"),
        "FROZEN": Style(Form.NONE, "only frozen variables behind it", glyph="❄"),
        "NOTHING_TO_TRAIN": Style(Form.NONE, "no variable behind it"),
        "UNKNOWN": Style(Form.HATCH, "not computed", glyph="?"),
    }
)
"""Looks of all states, by the name of the State."""

NOT_READ = 0
"""Code of a wire no reading speaks of; drawn plain."""
CODES: Mapping[str, int] = MappingProxyType({name: i for i, name in enumerate(STYLES, start=1)})
"""The int8 that stands for each state."""
NAMES: Mapping[int, str] = MappingProxyType({code: name for name, code in CODES.items()})
ZERO, FAINT, FLOOD, NONFINITE = (CODES[n] for n in ("ZERO", "FAINT", "FLOOD", "NONFINITE"))


def lane_width(rms: Floats) -> Floats:
    """Width of a lane in px at 100 %: 1.2 … 4.4 by the logarithm of the rms, 2.4 at 1."""
    size = np.log10(np.maximum(rms, 1e-30))
    width = np.clip(2.4 + 0.45 * np.where(np.isfinite(size), size, 4.0), 1.2, 4.4)
    return np.asarray(np.round(width * 2.5) / 2.5)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Wires to draw: ends in widget px (m, 4), codes (m,), lane widths (m,) in px at 100 %."""

    ends: Floats
    codes: NDArray[np.int8]
    widths: Floats


def draw_plain(painter: QPainter, bundle: Bundle, theme: Theme) -> None:
    """Wires from afar: straight, in the colour of their state."""
    for code in np.unique(bundle.codes):
        name = NAMES.get(int(code), "NOTHING_TO_TRAIN")
        flows = STYLES[name].flows
        colour = theme.lane(name) if flows else QColor(theme.wire)
        painter.setPen(QPen(colour, 1.0))
        draw_lines(painter, bundle.ends[bundle.codes == code])


def draw_curves(
    painter: QPainter, bundle: Bundle, theme: Theme, unit: float, *, faded: bool = False
) -> None:
    """Wires as curves with their lanes; ``unit`` is widget px per px of style."""
    if not len(bundle.ends):
        return
    points = flatten(bundle.ends, _steps(unit))
    painter.setPen(_pen(QColor(theme.wire), unit))
    draw_lines(painter, strokes(points))
    for code in np.unique(bundle.codes):
        name = NAMES.get(int(code))
        if name is None or STYLES[name].form is Form.NONE:
            continue
        chosen = bundle.codes == code
        colour = theme.lane(name)
        if faded:
            colour = mixed(colour, QColor(theme.canvas), 0.5)
        lane = _lane(points[chosen], unit)
        _draw_lane(painter, lane, bundle.widths[chosen], STYLES[name], colour, unit)


def _steps(unit: float) -> int:
    return STEPS if unit > 1.2 else 24 if unit > 0.7 else 12


def lane_points(ends: Floats, unit: float) -> Tracks:
    """The lanes of ``ends`` (m, 4), to place things on them."""
    return Tracks(_lane(flatten(ends, STEPS), unit))


def _lane(points: Floats, unit: float) -> Floats:
    """The curves beside ``points``, clear of the ports, evenly stepped."""
    tracks = Tracks(beside(points, GAP * unit))
    m, k, _ = points.shape
    inset = np.minimum(_INSET * unit, 0.25 * tracks.lengths)
    share = np.linspace(0.0, 1.0, k)
    along = inset[:, None] + (tracks.lengths - 2.0 * inset)[:, None] * share
    return tracks.at(np.repeat(np.arange(m), k), along.ravel()).reshape(m, k, 2)


def _draw_lane(
    painter: QPainter, lane: Floats, widths: Floats, style: Style, colour: QColor, unit: float
) -> None:
    tracks = Tracks(lane)
    if style.form in (Form.SOLID, Form.LONG_DASH):
        for width in np.unique(widths):
            chosen = widths == width
            if style.form is Form.SOLID:
                painter.setPen(_pen(colour, width * unit))
                draw_lines(painter, strokes(lane[chosen]))
            else:
                painter.setPen(_pen(colour, width * unit))
                draw_lines(painter, Tracks(lane[chosen]).dashes((11 * unit, 5 * unit)))
    else:
        _draw_form(painter, lane, tracks, style.form, colour, unit)
    if style.flows:
        often = style.form in (Form.SOLID, Form.LONG_DASH)
        _draw_chevrons(painter, tracks, widths, colour, unit, 30.0 if often else 1e6)


def _draw_form(
    painter: QPainter, lane: Floats, tracks: Tracks, form: Form, colour: QColor, unit: float
) -> None:
    painter.setPen(_pen(colour, 1.2 * unit))
    if form is Form.HOLLOW:
        for side in (-1.5, 1.5):
            draw_lines(painter, strokes(beside(lane, side * unit)))
    elif form is Form.BEADS:
        painter.setPen(_pen(colour, 2.6 * unit, _SQUARE))
        draw_lines(painter, tracks.dashes((0.1 * unit, 6 * unit)))
    elif form is Form.SAW:
        draw_lines(painter, _teeth(tracks, (0.0, 6.0, 6.0), (2.8, -2.0, 2.8), unit))
    elif form is Form.ZIGZAG:
        draw_lines(painter, _teeth(tracks, (0.0, 4.0, 8.0), (2.6, -2.6, 2.6), unit))
    elif form is Form.DASH:
        painter.setPen(_pen(colour, 1.7 * unit))
        draw_lines(painter, tracks.dashes((5 * unit, 4 * unit)))
    elif form is Form.DASH_DOT:
        painter.setPen(_pen(colour, 1.7 * unit))
        pattern = (9 * unit, 4 * unit, 2 * unit, 4 * unit)
        draw_lines(painter, tracks.dashes(pattern))
    elif form is Form.DOTS:
        painter.setPen(_pen(colour, 1.7 * unit, _SQUARE))
        draw_lines(painter, tracks.dashes((0.1 * unit, 4.5 * unit)))
    elif form is Form.HATCH:
        draw_lines(painter, _hatch(tracks, unit))


def _teeth(
    tracks: Tracks, places: tuple[float, ...], heights: tuple[float, ...], unit: float
) -> Floats:
    """A zigzag of lines: at ``places`` of each period (px of style) as high as ``heights``."""
    period = places[-1] * unit
    curve, start = tracks.marks(period, 0.0, period)
    corners = []
    for place, height in zip(places, heights, strict=True):
        at = start + place * unit
        along = tracks.direction(curve, at)
        side = np.column_stack([-along[:, 1], along[:, 0]])
        corners.append(tracks.at(curve, at) + height * unit * side)
    return np.concatenate([np.column_stack(pair) for pair in pairwise(corners)])


def _hatch(tracks: Tracks, unit: float) -> Floats:
    """Short slanted strokes across the lane."""
    curve, at = tracks.marks(5 * unit, 2 * unit, 2 * unit)
    along = tracks.direction(curve, at)
    side = np.column_stack([-along[:, 1], along[:, 0]])
    centre = tracks.at(curve, at)
    slant = 2.4 * unit * side + 1.6 * unit * along
    return np.column_stack([centre - slant, centre + slant])


def _draw_chevrons(
    painter: QPainter, tracks: Tracks, widths: Floats, colour: QColor, unit: float, every: float
) -> None:
    """Arrowheads along the lanes, pointing back to the source; the first at its port."""
    curve, at = tracks.marks(every * unit, 0.5 * unit, 4 * unit)
    tip = tracks.at(curve, at)
    along = tracks.direction(curve, np.maximum(at, 2.0))
    side = np.column_stack([-along[:, 1], along[:, 0]])
    size = (3.0 + 0.8 * widths[curve])[:, None] * unit
    back = tip + 1.15 * size * along
    painter.setPen(_pen(colour, 1.5 * unit, _SQUARE))
    for hand in (0.85, -0.85):
        draw_lines(painter, np.column_stack([tip, back + hand * size * side]))


def _pen(colour: QColor, width: float, cap: Qt.PenCapStyle = Qt.PenCapStyle.FlatCap) -> QPen:
    pen = QPen(colour, width)
    pen.setCapStyle(cap)
    return pen


def mixed(one: QColor, other: QColor, share: float) -> QColor:
    """``one`` with ``share`` of ``other``, opaque: where strokes of it overlap, nothing shows."""
    return QColor(
        *(
            round(a * (1.0 - share) + b * share)
            for a, b in (
                (one.red(), other.red()),
                (one.green(), other.green()),
                (one.blue(), other.blue()),
            )
        )
    )
