"""Figures as SVG: panels side by side, with axes, lines, their spread, and one legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.publish.printable import xml_text

if TYPE_CHECKING:
    from gradwire.runtime.views.axes import Axis, Floats
    from gradwire.runtime.views.colours import Colour

_INK, _PALE, _GRID = "#24292f", "#59636e", "#e4e7eb"
_WIDTH, _HEIGHT = 330.0, 230.0
"""Of the frame of a panel, px."""
_LEFT, _TOP, _BELOW, _GAP = 62.0, 34.0, 46.0, 24.0
_COLUMNS = 2
"""Panels beside each other."""
_SIZE, _LETTER = 12, 6.6
"""Of text, and the width of a letter on average, px."""
_ROW, _SWATCH = 18.0, 26.0
_MOST_LETTERS = 60
"""Of an entry of the legend."""
_FEW = 4
"""Lines whose bands may be strong."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARKS = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True, eq=False)
class DrawnCurve:
    """A line through points (n,), with how far their numbers spread; NaN breaks it."""

    x: Floats
    middle: Floats
    low: Floats
    high: Floats
    colour: Colour
    mark: int | None = None
    """Which mark its points have; None for none."""
    dots: tuple[tuple[float, float], ...] = ()
    """The single numbers."""
    missing: tuple[float, ...] = ()
    """Where there is no number, for none of the seeds or some."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over one pair of axes."""

    title: str
    across: str
    """What the axis from left to right is of."""
    x: Axis
    y: Axis
    lines: tuple[DrawnCurve, ...]
    ticks: tuple[float, ...] | None = None
    """Where the axis from left to right is marked; None for round numbers."""


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels with one legend, whose entries have the colours and marks of lines."""

    title: str
    panels: tuple[Panel, ...]
    legend: tuple[tuple[str, DrawnCurve], ...] = ()
    caption: tuple[str, ...] = field(default=())


def drawing(figure: Figure) -> str:
    """An SVG document of a figure, on a white ground."""
    columns = min(len(figure.panels), _COLUMNS)
    rows = math.ceil(len(figure.panels) / columns)
    entries = [_shortened(text) for text, _ in figure.legend]
    beside = _SWATCH + 30.0 + _LETTER * max(map(len, entries)) if entries else 16.0
    frames = columns * (_LEFT + _WIDTH) + (columns - 1) * _GAP
    width = max(frames + beside, _LEFT + _LETTER * max(map(len, (*figure.caption, ""))) + 16.0)
    above = 26.0 if figure.title else 6.0
    below = above + rows * (_TOP + _HEIGHT + _BELOW)
    height = max(below, above + _TOP + _ROW * len(entries)) + 17.0 * len(figure.caption) + 6.0
    parts = [f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>']
    if figure.title:
        parts.append(_text(_LEFT, 22.0, figure.title, weight="600", size=14))
    for place, panel in enumerate(figure.panels):
        row, column = divmod(place, columns)
        left = _LEFT + column * (_LEFT + _WIDTH + _GAP)
        parts += _panel(panel, left, above + _TOP + row * (_TOP + _HEIGHT + _BELOW))
    parts += _legend(figure, frames + 16.0, above + _TOP)
    for place, line in enumerate(reversed(figure.caption)):
        parts.append(_text(_LEFT, height - 8.0 - 17.0 * place, line, colour=_PALE))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="{_SIZE}"><title>{_escaped(figure.title)}</title>{"".join(parts)}</svg>\n'
    )


def _panel(panel: Panel, left: float, top: float) -> Iterator[str]:
    yield _text(left, top - 9.0, panel.title, weight="600")
    yield from _grid(panel, left, top)
    for line in panel.lines:
        yield from _band(panel, line, left, top)
    for line in panel.lines:
        yield from _line(panel, line, left, top)
    yield (
        f'<path d="M{left:.1f} {top:.1f}v{_HEIGHT:.1f}h{_WIDTH:.1f}" fill="none" '
        f'stroke="{_INK}" stroke-width="1"/>'
    )
    yield from _ticks(panel, left, top)
    middle = left + _WIDTH / 2
    yield _text(middle, top + _HEIGHT + 36.0, panel.across, anchor="middle")


def _grid(panel: Panel, left: float, top: float) -> Iterator[str]:
    for tick in _inside(panel.y, panel.y.ticks(6)):
        down = top + _HEIGHT * (1.0 - float(panel.y.shares(tick)))
        yield (f'<path d="M{left:.1f} {down:.1f}h{_WIDTH:.1f}" stroke="{_GRID}" stroke-width="1"/>')


def _ticks(panel: Panel, left: float, top: float) -> Iterator[str]:
    bottom = top + _HEIGHT
    for tick in _inside(panel.y, panel.y.ticks(6)):
        down = top + _HEIGHT * (1.0 - float(panel.y.shares(tick)))
        yield f'<path d="M{left - 4:.1f} {down:.1f}h4" stroke="{_INK}"/>'
        yield _text(left - 8.0, down + 4.0, _label(tick, panel.y), anchor="end")
    for tick in _fitting(panel):
        right = left + _WIDTH * float(panel.x.shares(tick))
        yield f'<path d="M{right:.1f} {bottom:.1f}v4" stroke="{_INK}"/>'
        yield _text(right, bottom + 18.0, _label(tick, panel.x), anchor="middle")
    for axis, is_across in ((panel.x, True), (panel.y, False)):
        yield from _small_ticks(axis, is_across, left, bottom)


def _small_ticks(axis: Axis, is_across: bool, left: float, bottom: float) -> Iterator[str]:
    """On a logarithmic axis of a few decades, ticks at 2, 3, …, 9 times each power of ten."""
    first, last = (math.floor(math.log10(end)) if axis.log else 0 for end in (axis.low, axis.high))
    if not axis.log or last - first > 6:
        return
    for power in range(first, last + 1):
        for factor in range(2, 10):
            share = float(axis.shares(factor * 10.0**power))
            if not 0.0 <= share <= 1.0:
                continue
            at = (
                f"M{left + _WIDTH * share:.1f} {bottom:.1f}v2.5"
                if is_across
                else f"M{left - 2.5:.1f} {bottom - _HEIGHT * share:.1f}h2.5"
            )
            yield f'<path d="{at}" stroke="{_INK}" stroke-width=".7"/>'


def _inside(axis: Axis, ticks: Iterable[float]) -> list[float]:
    return [tick for tick in ticks if -1e-6 <= float(axis.shares(tick)) <= 1 + 1e-6]


def _fitting(panel: Panel) -> list[float]:
    """The ticks from left to right whose labels don't touch each other."""
    wanted = _inside(panel.x, panel.x.ticks(5) if panel.ticks is None else panel.ticks)
    found: list[float] = []
    end = -math.inf
    for tick in wanted:
        at = _WIDTH * float(panel.x.shares(tick))
        half = _LETTER * len(_label(tick, panel.x)) / 2 + 3.0
        if at - half >= end:
            found.append(tick)
            end = at + half
    return found


def _label(tick: float, axis: Axis) -> str:
    """``0.01``; on a logarithmic axis that reaches far, powers of ten as ``10⁻⁴``."""
    if axis.log and not (axis.low > 4e-4 and axis.high < 2e4):
        power = math.log10(tick)
        if abs(power - round(power)) < 1e-9:
            return "10" + str(round(power)).translate(_SUPERSCRIPTS)
    return number(tick, 3)


def _places(panel: Panel, x: Floats, y: Floats, left: float, top: float) -> Floats:
    """Points (n, 2) in px."""
    return np.column_stack(
        [left + _WIDTH * panel.x.shares(x), top + _HEIGHT * (1.0 - panel.y.shares(y))]
    )


def _band(panel: Panel, line: DrawnCurve, left: float, top: float) -> Iterator[str]:
    """The area from the least numbers to the largest, in the pieces that are known."""
    low = _places(panel, line.x, line.low, left, top)
    high = _places(panel, line.x, line.high, left, top)
    for piece in _pieces(low, high):
        if len(piece) > 1 and np.any(high[piece, 1] < low[piece, 1] - 0.5):
            edge = [*high[piece].tolist(), *low[piece][::-1].tolist()]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in edge)
            opacity = ".16" if len(panel.lines) <= _FEW else ".09"
            yield f'<path d="M{path}Z" fill="{_hex(line.colour)}" fill-opacity="{opacity}"/>'


def _line(panel: Panel, line: DrawnCurve, left: float, top: float) -> Iterator[str]:
    colour = _hex(line.colour)
    places = _places(panel, line.x, line.middle, left, top)
    for piece in _pieces(places):
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places[piece].tolist())
        yield (
            f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.8" '
            f'stroke-linejoin="round"/>'
        )
    for x, y in line.dots:
        ((across, down),) = _places(panel, np.array([x]), np.array([y]), left, top).tolist()
        if math.isfinite(across + down):
            yield (
                f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2" fill="{colour}" '
                f'fill-opacity=".45"/>'
            )
    if line.mark is not None:
        known = places[np.isfinite(places[:, 1])].tolist()
        yield from (_mark(line, across, down) for across, down in known)
    for x in line.missing:
        across = left + _WIDTH * float(panel.x.shares(x))
        yield (
            f'<path d="M{across - 4:.1f} {top + 1:.1f}l8 8m-8 0l8 -8" stroke="{colour}" '
            f'stroke-width="1.6"/>'
        )


def _mark(line: DrawnCurve, x: float, y: float) -> str:
    shape = {
        "circle": f"M{x - 3.6:.1f} {y:.1f}a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z",
        "square": f"M{x - 3.3:.1f} {y - 3.3:.1f}h6.6v6.6h-6.6Z",
        "triangle": f"M{x:.1f} {y - 4.4:.1f}l4.2 7.4h-8.4Z",
        "diamond": f"M{x:.1f} {y - 4.6:.1f}l4.4 4.6l-4.4 4.6l-4.4 -4.6Z",
    }[_MARKS[(line.mark or 0) % len(_MARKS)]]
    return f'<path d="{shape}" fill="{_hex(line.colour)}" stroke="#ffffff" stroke-width="1"/>'


def _legend(figure: Figure, left: float, top: float) -> Iterator[str]:
    for place, (text, line) in enumerate(figure.legend):
        down = top + 6.0 + _ROW * place
        yield (
            f'<path d="M{left:.1f} {down:.1f}h{_SWATCH - 6:.1f}" stroke="{_hex(line.colour)}" '
            f'stroke-width="1.8"/>'
        )
        if line.mark is not None:
            yield _mark(line, left + (_SWATCH - 6.0) / 2, down)
        yield _text(left + _SWATCH, down + 4.0, _shortened(text))


def _pieces(*places: Floats) -> Iterator[list[int]]:
    """Runs of rows in which all coordinates are known."""
    piece: list[int] = []
    for place, row in enumerate(np.column_stack(places).tolist()):
        if all(map(math.isfinite, row)):
            piece.append(place)
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "400",
    colour: str = _INK,
    size: int = _SIZE,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'font-size="{size}" fill="{colour}">{_escaped(text)}</text>'
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _escaped(text: str) -> str:
    return xml_text(escape(text))


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)
