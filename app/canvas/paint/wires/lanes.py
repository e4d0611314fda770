"""Draws wires: a thin curve for the value, and beside it the lane of the gradient.

A lane runs from the target back to the source. The table of states defines the form and glyphs of
each state's lane, so that states differ by more than colour.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen

from gradwire.app.canvas.paint.drawing import draw_lines
from gradwire.app.canvas.scene.arrays import distinct
from gradwire.app.canvas.scene.curves import Courses, Polylines, offset, strokes, touching
from gradwire.app.canvas.scene.lane_paths import INSET, STEPS, lane_offset, lane_points
from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import Form, State

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Flags, Floats
    from gradwire.app.canvas.state.view_state import ViewState
    from gradwire.app.services.theme import Theme

_FEW, _SOME = 12, 24
"""Segments of a section of a wire from afar."""
_LONG = 240.0
"""Length of a section, widget px, that needs more than a few segments."""
_CHEVRONS = 34.0
"""From one chevron to the next, px at 100 %."""
_LAST = 11.0
"""From the last arrowhead to the end of its lane, px at 100 %, at least."""
_ECHO = 5.0
"""From one head of an arrow to the next, px at 100 %, where a lane has several."""
_REACH = 40.0
"""How far from the middle of its lane anything is drawn, or begins, px at 100 %, at most."""
_SQUARE = Qt.PenCapStyle.SquareCap


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """Wires with courses of one kind: these, in widget px, their codes (m,), and their lane widths
    (m,) in px at 100 %.

    ``forks`` (m,) are how far they run with others of their port, in widget px; not at all by
    default.
    """

    courses: Courses
    codes: NDArray[np.int8]
    widths: Floats
    forks: Floats | None = None

    def only(self, chosen: Flags) -> Bundle:
        """The chosen wires (m,)."""
        forks = None if self.forks is None else self.forks[chosen]
        return Bundle(self.courses.only(chosen), self.codes[chosen], self.widths[chosen], forks)


def draw_plain(painter: QPainter, bundle: Bundle, theme: Theme) -> None:
    """Draw wires from afar: straight from bend to bend, in the colour of their state."""
    for code in distinct(bundle.codes):
        state = STATE_OF.get(int(code), State.NOTHING_TO_TRAIN)
        colour = theme.lane(state) if state.row.passes else QColor(theme.wire)
        painter.setPen(QPen(colour, 1.0))
        draw_lines(painter, bundle.courses.only(bundle.codes == code).lines())


def draw_curves(
    painter: QPainter,
    bundle: Bundle,
    theme: Theme,
    unit: float,
    *,
    faded: bool = False,
    phase: float = 0.0,
    position: int = 0,
    bare: bool = False,
    loss: int | None = None,
    area: Floats | None = None,
) -> None:
    """Draw wires as curves with their lanes; ``unit`` is widget px per px of style.

    ``phase`` 0 … 1 is how far each chevron has moved to the place of the next. ``position`` is the
    number of lanes between these and the wires; ``bare`` lanes are drawn without the wires. The
    lanes of one of several losses, numbered from 0, have its colour and that many more arrowheads.
    What lies outside ``area`` (4,: left, top, right, bottom; widget px) is left out.
    """
    if not len(bundle.courses):
        return
    steps = _steps(bundle.courses.waypoints, unit)
    first, *more = distinct(steps).tolist()
    for count in more:
        draw_curves(
            painter, bundle.only(steps == count), theme, unit,
            faded=faded, phase=phase, position=position, bare=bare, loss=loss, area=area,
        )  # fmt: skip
    bundle = bundle.only(steps == first) if more else bundle
    points = bundle.courses.flatten(first)
    if area is not None:
        reach = (lane_offset(position) + _REACH) * unit
        area = np.add(area, (-reach, -reach, reach, reach))
        seen: Flags = np.any(touching(points, area), axis=1)
        bundle, points = bundle.only(seen), points[seen]
    if not bare:
        pen = _Pen(painter, QColor(theme.wire), unit, area)
        pen.set_width(1.0)
        pen.stroke(points)
    for code in distinct(bundle.codes):
        state = STATE_OF.get(int(code))
        if state is None or state.row.form is Form.NONE:
            continue
        chosen = bundle.codes == code
        colour = theme.lane(state, loss)
        if faded:
            colour = mixed(colour, QColor(theme.canvas), 0.5)
        pen = _Pen(painter, colour, unit, area, heads=1 + (loss or 0))
        lane = lane_points(points[chosen], unit, position)
        parts = np.zeros(len(lane)) if bundle.forks is None else bundle.forks[chosen]
        _draw_lane(pen, lane, bundle.widths[chosen], parts, state, phase)


@dataclass(frozen=True, slots=True, eq=False)
class _Pen:
    """Draws in the colour of one state. Sizes are px of style, of ``unit`` widget px each."""

    painter: QPainter
    colour: QColor
    unit: float
    area: Floats | None
    """Lines outside it are left out: left, top, right, bottom, widget px."""
    heads: int = 1
    """Arrowheads behind each other at each place."""

    def set_width(self, width: float, cap: Qt.PenCapStyle = Qt.PenCapStyle.FlatCap) -> None:
        """Set the width of the lines that follow, at least one widget px."""
        pen = QPen(self.colour, max(1.0, width * self.unit))
        pen.setCapStyle(cap)
        self.painter.setPen(pen)

    def along(self, lane: Floats) -> Polylines:
        """Lanes (m, k, 2) with marks where they are seen."""
        return Polylines(lane, self.area)

    def draw(self, lines: Floats) -> None:
        draw_lines(self.painter, lines)

    def stroke(self, points: Floats) -> None:
        """Draw the curves ``points`` (m, k, 2)."""
        lines = strokes(points)
        if self.area is not None:
            lines = lines[touching(lines.reshape(-1, 2, 2), self.area)[:, 0]]
        self.draw(lines)

    def arrows(self, path: Polylines, widths: Floats, every: float, first: Floats) -> None:
        """Draw arrowheads ``every`` px of style, from ``first`` (m,) widget px on."""
        self.set_width(1.5, _SQUARE)
        for head in range(self.heads):
            after = first + _ECHO * head * self.unit
            self.draw(_chevrons(path, widths, self.unit, every, after))

    def dash(self, path: Polylines, *pattern: float) -> None:
        """Draw a dash pattern: lengths on, off, on, off, …."""
        self.draw(path.dashes([length * self.unit for length in pattern]))


def _steps(waypoints: Floats, unit: float) -> NDArray[np.intp]:
    """Segments (m,) for each section of the wires with ``waypoints`` (m, 2 p).

    Few from afar, except for long sections, where they would show as kinks.
    """
    if unit > 0.7:
        return np.full(len(waypoints), STEPS if unit > 1.2 else _SOME)
    lengths = np.abs(waypoints[:, 2:] - waypoints[:, :-2]).max(axis=1)
    return np.where(lengths > _LONG, _SOME, _FEW)


def _draw_lane(
    pen: _Pen, lane: Floats, widths: Floats, forks: Floats, state: State, phase: float
) -> None:
    path, unit, form = pen.along(lane), pen.unit, state.row.form
    first = np.clip(forks - INSET * unit, 0.0, np.maximum(path.lengths - _LAST * unit, 0.0))
    if form in (Form.SOLID, Form.LONG_DASH):
        for width in distinct(widths):
            chosen = widths == width
            pen.set_width(float(width))
            if form is Form.SOLID:
                pen.stroke(lane[chosen])
            else:
                pen.dash(pen.along(lane[chosen]), 11.0, 5.0)
        every = _CHEVRONS * max(1.0, 0.85 / unit)
        pen.arrows(path, widths, every, first + (1.0 - phase) * every * unit)
    else:
        _draw_form(pen, lane, path, form)
    if state.row.passes:
        pen.arrows(path, widths, 1e6, first)


def _draw_form(pen: _Pen, lane: Floats, path: Polylines, form: Form) -> None:
    pen.set_width(1.7)
    if form is Form.DASH:
        pen.dash(path, 5.0, 4.0)
    elif form is Form.DASH_DOT:
        pen.dash(path, 9.0, 4.0, 2.0, 4.0)
    elif form in (Form.BEADS, Form.DOTS):
        width, gap = (2.6, 6.0) if form is Form.BEADS else (1.7, 4.5)
        pen.set_width(width, _SQUARE)
        pen.dash(path, 0.1, gap)
    else:
        pen.set_width(1.2)
        unit = pen.unit
        if form is Form.HOLLOW:
            for side in (-1.5, 1.5):
                pen.stroke(offset(lane, side * unit))
        elif form is Form.SAW:
            pen.draw(_teeth(path, (0.0, 6.0, 6.0), (2.8, -2.0, 2.8), unit))
        elif form is Form.ZIGZAG:
            pen.draw(_teeth(path, (0.0, 4.0, 8.0), (2.6, -2.6, 2.6), unit))
        elif form is Form.HATCH:
            pen.draw(_hatch(path, unit))


def _teeth(
    path: Polylines, places: tuple[float, ...], heights: tuple[float, ...], unit: float
) -> Floats:
    """A zigzag of lines: ``heights`` at ``places`` of each period, px of style."""
    period = places[-1] * unit
    curve, start = path.marks(period, 0.0, period)
    corners = []
    for place, height in zip(places, heights, strict=True):
        at = start + place * unit
        along = path.direction(curve, at)
        side = np.column_stack([-along[:, 1], along[:, 0]])
        corners.append(path.at(curve, at) + height * unit * side)
    return np.concatenate([np.column_stack(pair) for pair in pairwise(corners)])


def _hatch(path: Polylines, unit: float) -> Floats:
    """Short slanted lines across the lane."""
    curve, at = path.marks(5 * unit, 2 * unit, 2 * unit)
    along = path.direction(curve, at)
    side = np.column_stack([-along[:, 1], along[:, 0]])
    centre = path.at(curve, at)
    slant = 2.4 * unit * side + 1.6 * unit * along
    return np.column_stack([centre - slant, centre + slant])


def _chevrons(path: Polylines, widths: Floats, unit: float, every: float, first: Floats) -> Floats:
    """Lines (n, 4) of arrowheads that point back to the source, spaced by ``every`` px of style.

    The first is ``first`` (m,) widget px from the source's end of each lane.
    """
    curve, at = path.marks(every * unit, first + 0.5 * unit, 10.0 * unit)
    tip = path.at(curve, at)
    along = path.direction(curve, np.maximum(at, 2.0))
    side = np.column_stack([-along[:, 1], along[:, 0]])
    size = (3.0 + 0.8 * widths[curve])[:, None] * unit
    tail = tip + 1.15 * size * along
    arms = [np.column_stack([tip, tail + spread * size * side]) for spread in (0.85, -0.85)]
    return np.concatenate(arms)


def mixed(one: QColor, other: QColor, share: float) -> QColor:
    """``one`` with a ``share`` of ``other``; opaque, so that overlapping segments don't show."""
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


def open_wire(view: ViewState, port: int, end: Floats) -> Courses:
    """The course, in widget px, of a wire between ``port`` and the widget point ``end``."""
    fixed = view.camera.to_widget(view.scene.port_points(np.array([port])))[0]
    pair = (end, fixed) if view.scene.port_is_input[port] else (fixed, end)
    return Courses(np.concatenate(pair)[None, :], scale=view.camera.zoom)


def draw_open_wire(
    painter: QPainter, view: ViewState, port: int, end: Floats, colour: str = "accent"
) -> None:
    """Draw the wire in a colour of the theme, by its name."""
    painter.setPen(QPen(QColor(getattr(view.theme, colour)), 2.0))
    draw_lines(painter, strokes(open_wire(view, port, end).flatten(STEPS)))
