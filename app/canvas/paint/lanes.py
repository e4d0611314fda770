"""Wires: the value's thin forward curve, and beside it the lane of the gradient, by state.

A lane runs from the reader back to the source. The table of states gives each its form, which
tells it apart besides colour, and its glyphs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.scene.bezier import flatten
from app.canvas.scene.polylines import Tracks, beside, draw_lines, strokes
from app.canvas.state.codes import STATE_OF
from runtime.flow.words.states import Form, State

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Floats
    from app.services.theme import Theme

GAP = 6.0
"""From the forward curve to the lane, px at 100 %."""
PITCH = 9.0
"""From one lane to the next beside it, px at 100 %."""
STEPS = 32
"""Lines a curve is flattened into; fewer from afar."""
_FEW, _SOME = 12, 24
_LONG = 240.0
"""Way from bend to bend, widget px, that a few lines are too few for."""
_INSET = 9.0
_CHEVRONS = 34.0
"""From one chevron to the next, px at 100 %."""
_SQUARE = Qt.PenCapStyle.SquareCap


def lane_width(rms: Floats) -> Floats:
    """Width of a lane in px at 100 %: 1.2 … 4.4 by the logarithm of the rms, 2.4 at 1."""
    size = np.log10(np.maximum(rms, 1e-30))
    width = np.clip(2.4 + 0.45 * np.where(np.isfinite(size), size, 4.0), 1.2, 4.4)
    return np.asarray(np.round(width * 2.5) / 2.5)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Wires of as many bends to draw: courses in widget px (m, 2 p), codes (m,), and lane widths
    (m,) in px at 100 %.
    """

    courses: Floats
    codes: NDArray[np.int8]
    widths: Floats

    def only(self, chosen: NDArray[np.bool_]) -> Bundle:
        """No more than the chosen ones (m,)."""
        return Bundle(self.courses[chosen], self.codes[chosen], self.widths[chosen])


def draw_plain(painter: QPainter, bundle: Bundle, theme: Theme) -> None:
    """Wires from afar: straight from bend to bend, in the colour of their state."""
    for code in np.unique(bundle.codes):
        state = STATE_OF.get(int(code), State.NOTHING_TO_TRAIN)
        colour = theme.lane(state) if state.row.passes else QColor(theme.wire)
        painter.setPen(QPen(colour, 1.0))
        draw_lines(painter, legs(bundle.courses[bundle.codes == code]))


def legs(courses: Floats) -> Floats:
    """Straight lines (n, 4) from point to point of ``courses`` (m, 2 p)."""
    count = courses.shape[1]
    return np.concatenate([courses[:, i : i + 4] for i in range(0, count - 2, 2)])


def draw_curves(
    painter: QPainter,
    bundle: Bundle,
    theme: Theme,
    unit: float,
    *,
    faded: bool = False,
    phase: float = 0.0,
    place: int = 0,
    bare: bool = False,
) -> None:
    """Wires as curves with their lanes; ``unit`` is widget px per px of style.

    ``phase`` 0 … 1 is how far the chevrons have moved towards the place of the next. ``place`` is
    how many lanes lie between these and the wires; ``bare`` lanes come without the wires.
    """
    if not len(bundle.courses):
        return
    steps = _steps(bundle.courses, unit)
    first, *more = np.unique(steps).tolist()
    for count in more:
        draw_curves(
            painter, bundle.only(steps == count), theme, unit,
            faded=faded, phase=phase, place=place, bare=bare,
        )  # fmt: skip
    bundle = bundle.only(steps == first) if more else bundle
    points = flatten(bundle.courses, first)
    if not bare:
        _Pencil(painter, QColor(theme.wire), unit).sharpen(1.0)
        draw_lines(painter, strokes(points))
    for code in np.unique(bundle.codes):
        state = STATE_OF.get(int(code))
        if state is None or state.row.form is Form.NONE:
            continue
        chosen = bundle.codes == code
        colour = theme.lane(state)
        if faded:
            colour = mixed(colour, QColor(theme.canvas), 0.5)
        pencil = _Pencil(painter, colour, unit)
        lane = _lane(points[chosen], unit, place)
        _draw_lane(pencil, lane, bundle.widths[chosen], state, phase)


@dataclass(frozen=True, slots=True)
class _Pencil:
    """A painter with the colour of one state; sizes are px of style, ``unit`` widget px each."""

    painter: QPainter
    colour: QColor
    unit: float

    def sharpen(self, width: float, cap: Qt.PenCapStyle = Qt.PenCapStyle.FlatCap) -> None:
        """Draw so wide from now on, at least one widget px."""
        pen = QPen(self.colour, max(1.0, width * self.unit))
        pen.setCapStyle(cap)
        self.painter.setPen(pen)

    def draw(self, lines: Floats) -> None:
        draw_lines(self.painter, lines)

    def dash(self, tracks: Tracks, *pattern: float) -> None:
        """Draw a pattern of lengths on, off, on, off, …."""
        self.draw(tracks.dashes([length * self.unit for length in pattern]))


def _steps(courses: Floats, unit: float) -> NDArray[np.intp]:
    """Lines to draw each of ``courses`` (m, 2 p) with, from bend to bend (m,): few from afar, but
    not on a long way, where they would show as kinks.
    """
    if unit > 0.7:
        return np.full(len(courses), STEPS if unit > 1.2 else _SOME)
    ways = np.abs(courses[:, 2:] - courses[:, :-2]).max(axis=1)
    return np.where(ways > _LONG, _SOME, _FEW)


def lane_points(courses: Floats, unit: float, place: int = 0) -> Tracks:
    """The lanes of ``courses`` (m, 2 p), to put things on them; ``place`` as ``draw_curves``."""
    return Tracks(_lane(flatten(courses, STEPS), unit, place))


def _lane(points: Floats, unit: float, place: int) -> Floats:
    """The curves beside ``points``, clear of the ports, evenly stepped."""
    tracks = Tracks(beside(points, (GAP + PITCH * place) * unit))
    m, k, _ = points.shape
    inset = np.minimum(_INSET * unit, 0.25 * tracks.lengths)
    share = np.linspace(0.0, 1.0, k)
    along = inset[:, None] + (tracks.lengths - 2.0 * inset)[:, None] * share
    return tracks.at(np.repeat(np.arange(m), k), along.ravel()).reshape(m, k, 2)


def _draw_lane(pencil: _Pencil, lane: Floats, widths: Floats, state: State, phase: float) -> None:
    tracks, unit, form = Tracks(lane), pencil.unit, state.row.form
    if form in (Form.SOLID, Form.LONG_DASH):
        for width in np.unique(widths):
            chosen = widths == width
            pencil.sharpen(float(width))
            if form is Form.SOLID:
                pencil.draw(strokes(lane[chosen]))
            else:
                pencil.dash(Tracks(lane[chosen]), 11.0, 5.0)
        pencil.sharpen(1.5, _SQUARE)
        every = _CHEVRONS * max(1.0, 0.85 / unit)
        pencil.draw(_chevrons(tracks, widths, unit, every, 1.0 - phase))
    else:
        _draw_form(pencil, lane, tracks, form)
    if state.row.passes:
        pencil.sharpen(1.5, _SQUARE)
        pencil.draw(_chevrons(tracks, widths, unit, 1e6))


def _draw_form(pencil: _Pencil, lane: Floats, tracks: Tracks, form: Form) -> None:
    pencil.sharpen(1.7)
    if form is Form.DASH:
        pencil.dash(tracks, 5.0, 4.0)
    elif form is Form.DASH_DOT:
        pencil.dash(tracks, 9.0, 4.0, 2.0, 4.0)
    elif form in (Form.BEADS, Form.DOTS):
        width, gap = (2.6, 6.0) if form is Form.BEADS else (1.7, 4.5)
        pencil.sharpen(width, _SQUARE)
        pencil.dash(tracks, 0.1, gap)
    else:
        pencil.sharpen(1.2)
        unit = pencil.unit
        if form is Form.HOLLOW:
            for side in (-1.5, 1.5):
                pencil.draw(strokes(beside(lane, side * unit)))
        elif form is Form.SAW:
            pencil.draw(_teeth(tracks, (0.0, 6.0, 6.0), (2.8, -2.0, 2.8), unit))
        elif form is Form.ZIGZAG:
            pencil.draw(_teeth(tracks, (0.0, 4.0, 8.0), (2.6, -2.6, 2.6), unit))
        elif form is Form.HATCH:
            pencil.draw(_hatch(tracks, unit))


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


def _chevrons(
    tracks: Tracks, widths: Floats, unit: float, every: float, skipped: float = 0.0
) -> Floats:
    """Lines of arrowheads that point back to the source, ``every`` so many px of style.

    The first stands at the source's port, or ``skipped`` (a share of ``every``) further on.
    """
    first = (0.5 + skipped * every) * unit
    curve, at = tracks.marks(every * unit, first, 10.0 * unit)
    tip = tracks.at(curve, at)
    along = tracks.direction(curve, np.maximum(at, 2.0))
    side = np.column_stack([-along[:, 1], along[:, 0]])
    size = (3.0 + 0.8 * widths[curve])[:, None] * unit
    back = tip + 1.15 * size * along
    arms = [np.column_stack([tip, back + hand * size * side]) for hand in (0.85, -0.85)]
    return np.concatenate(arms)


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
