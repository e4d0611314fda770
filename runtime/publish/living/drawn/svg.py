"""A still picture of a page, for readers without scripts: blocks, wires on their routes, lanes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeAlias, TypedDict

from gradwire.runtime.diagram.layout.measures import (
    FOOT,
    HEADER,
    WIDTH,
    collapsed_offset,
    port_offset,
)
from gradwire.runtime.diagram.paths import ROOT, PortName
from gradwire.runtime.publish.living.drawn.picture import VIEW_SIDE

XY: TypeAlias = tuple[float, float]
_MARGIN = 24.0
_LETTER = 6.1
"""About the width of a letter of a note."""
_LINE = 15.0
_CORNER = 14.0
"""Radius of the corners of wires."""
_LANE = 6.0
"""From a wire to its lane."""
_INSET = 9.0
"""From a port to the end of a lane."""
_WIRING = '<g class="wiring" fill="none" stroke="#848b93">'
"""This and the colours below are what viewers draw that don't read the style of the page."""
_GROUND = 'fill="#fff"'
_FACE = 'fill="#eee"'
_NOTE = 'fill="#ffe"'
_FRAME = 'fill="none" stroke="#ddd"'
_LANES = 'stroke="#0a5fc4"'
_SIGNS = 'fill="#5b636c" stroke="none"'

_Row: TypeAlias = Sequence[Any]
"""A block, a wire or a note: ``pictures`` says what stands in it."""


class _Page(TypedDict):
    blocks: Sequence[_Row]
    notes: Sequence[_Row]
    wires: Sequence[_Row]


class _State(TypedDict):
    form: str
    role: str
    title: str
    glyph: str
    passes: bool


def svg(
    title: str,
    drawn: Mapping[str, Any],
    states: Mapping[str, str],
    numbers: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> str:
    """The main page of what ``pictures`` gives, each wire with a lane in the form of its state.

    ``numbers`` are lines of text on the faces of blocks.
    """
    page: _Page = drawn["pages"][drawn["uses"][""]]
    left, top, right, bottom = _bounds(page)
    width, height = right - left, bottom - top
    carrying = {wire: state for wire, state in states.items() if wire not in drawn["shown"]}
    ground = f'x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" {_GROUND}'
    parts = [f'<rect class="ground" {ground}/>', *map(_note, page["notes"])]
    parts += _wiring(page, carrying, drawn["states"])
    parts += [_block(block, numbers.get(block[0], ())) for block in page["blocks"]]
    return (
        f'<svg class="still" xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" '
        f'height="{height:g}" viewBox="{left:g} {top:g} {width:g} {height:g}">'
        f"<title>{_escaped(title)}</title>{''.join(parts)}</svg>"
    )


def _bounds(page: _Page) -> tuple[float, float, float, float]:
    boxes = [(b[4], b[5], _width(b), b[6]) for b in page["blocks"]]
    boxes += [(n[1], n[2] - 18.0 * n[5], n[3], n[4] + 18.0 * n[5]) for n in page["notes"]]
    points = [point for wire in page["wires"] for point in _points(page, wire)]
    boxes += [(x, y, 0.0, 0.0) for x, y in points] or ([] if boxes else [(0.0, 0.0, 1.0, 1.0)])
    return (
        min(x for x, _, _, _ in boxes) - _MARGIN,
        min(y for _, y, _, _ in boxes) - _MARGIN,
        max(x + w for x, _, w, _ in boxes) + _MARGIN,
        max(y + h for _, y, _, h in boxes) + _MARGIN,
    )


# ---- blocks and notes ---------------------------------------------------------------------------


def _block(block: _Row, numbers: Sequence[str]) -> str:
    name, _, family, symbol, x, y, height, inputs, outputs, _, more = block
    width = _width(block)
    start = x + 9 + (9.5 * len(symbol) + 8 if len(symbol) > 1 else 19)
    rows = [
        f'<text class="symbol" x="{x + 9:g}" y="{y + 19:g}">{_escaped(symbol)}</text>',
        f'<text class="name" x="{start:g}" y="{y + 18:g}">{_escaped(name)}</text>',
    ]
    if more.get("view"):
        rows.append(_view(block))
    elif not more.get("small"):
        several = [port if len(inputs) > 1 else "" for port in inputs]
        names = [port if isinstance(port, str) else port[1] for port in several]
        rows += [_row(x + 9, y, k, text, "soft") for k, text in enumerate(names) if text]
        texts = numbers if len(outputs) == 1 else outputs
        rows += [_row(x + width - 9, y, k, text, "end") for k, text in enumerate(texts)]
    box = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"'
    face = f'<rect class="face" {box} {_FACE}/>'
    kind = f"block{' head' if more.get('head') else ''} f-{more.get('colour') or family}"
    return f'<g class="{_escaped(kind)}">{face}{"".join(rows)}</g>'


def _width(block: _Row) -> float:
    return float(block[10].get("width") or WIDTH)


def _view(block: _Row) -> str:
    """What a view shows, below its title."""
    *_, x, y, height, _, _, _, more = block
    wide, high = _width(block) - 2 * VIEW_SIDE, height - HEADER - FOOT
    return (
        f'<image x="{x + VIEW_SIDE:g}" y="{y + HEADER:g}" width="{wide:g}" height="{high:g}" '
        f'href="{_escaped(more["view"])}"/>'
    )


def _row(x: float, top: float, row: int, text: str, kind: str) -> str:
    y = top + port_offset(row) + 4.0
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{_escaped(text)}</text>'


def _note(note: _Row) -> str:
    text, x, y, width, height, is_frame, _ = note
    kind = "frame" if is_frame else "note"
    colours = _FRAME if is_frame else _NOTE
    box = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" {colours}/>'
    lines = [text] if is_frame else _lines(text, int(width / _LETTER) - 2)
    first = (x + 2.0, y - 7.0) if is_frame else (x + 8.0, y + 18.0)
    rows = [
        f'<text x="{first[0]:g}" y="{first[1] + _LINE * row:g}">{_escaped(line)}</text>'
        for row, line in enumerate(lines[: max(1, int((height - 10.0) / _LINE))])
    ]
    return f'<g class="{kind}">{box}{"".join(rows)}</g>'


def _lines(text: str, letters: int) -> list[str]:
    """The text in lines of about so many letters."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


# ---- wires --------------------------------------------------------------------------------------


def _wiring(page: _Page, states: Mapping[str, str], rows: Mapping[str, _State]) -> Iterator[str]:
    """All wires as one path, then the lanes of each state as one, with their signs."""
    courses, lanes = [], defaultdict[str, list[Sequence[XY]]](list)
    for wire in page["wires"]:
        points = _points(page, wire)
        courses.append(_path(points))
        state = states.get(_name(page, wire))
        if state is not None and rows[state]["form"] != "none":
            lanes[state].append(_lane(points))
    if courses:
        yield f'{_WIRING}<path class="wire" d="{"".join(courses)}"/>'
        yield from (_lanes(rows[state], found) for state, found in lanes.items())
        yield "</g>"


def _name(page: _Page, wire: _Row) -> str:
    target = page["blocks"][wire[2]]
    port = target[7][wire[3]]
    return ROOT.wire_inside(PortName(target[0], port if isinstance(port, str) else port[0]))


def _lanes(row: _State, lanes: Sequence[Sequence[XY]]) -> str:
    path = "".join(_path(lane) + (_head(lane) if row["passes"] else "") for lane in lanes)
    look = f'class="lane form-{row["form"]} role-{row["role"]}" {_LANES}'
    drawn = f'<path {look} d="{path}"><title>{_escaped(row["title"])}</title></path>'
    if not row["glyph"]:
        return drawn
    signs = []
    for lane in lanes:
        (x, y), (right, low) = lane[-2:]
        place = f'x="{(x + right) / 2:g}" y="{(y + low) / 2 + 4:g}"'
        signs.append(f"<tspan {place}>{_escaped(row['glyph'])}</tspan>")
    return f'{drawn}<text class="sign role-{row["role"]}" {_SIGNS}>{"".join(signs)}</text>'


def _points(page: _Page, wire: _Row) -> list[XY]:
    """The corners of a wire; its course is that of a route, or a list of points."""
    source, output, target, port, *course = wire
    x, y = _port(page["blocks"][source], 8, output)
    end, low = _port(page["blocks"][target], 7, port)
    if not course:
        turn = (x + end) / 2.0
        return [(x, y), (end, low)] if y == low else [(x, y), (turn, y), (turn, low), (end, low)]
    if isinstance(course[0][0], list | tuple):
        return [(x, y), *((a, b) for a, b in course[0]), (end, low)]
    ys = [y, *course[0][1::2], low]
    turns = [(at, level) for k, at in enumerate(course[0][::2]) for level in ys[k : k + 2]]
    return [(x, y), *turns, (end, low)]


def _port(block: _Row, side: int, row: int) -> XY:
    is_small = block[10].get("small")
    down = collapsed_offset(row, len(block[side])) if is_small else port_offset(row)
    return block[4] + (_width(block) if side == 8 else 0.0), block[5] + min(
        down, max(block[6], HEADER)
    )


def _toward(one: XY, other: XY) -> XY:
    length = math.dist(one, other) or 1.0
    return (other[0] - one[0]) / length, (other[1] - one[1]) / length


def _moved(point: XY, along: XY, by: float) -> XY:
    return point[0] + by * along[0], point[1] + by * along[1]


def _lane(points: Sequence[XY]) -> list[XY]:
    """The line beside a wire, from its target back to its source, clear of the ports."""
    sides = [(-dy, dx) for dx, dy in (_toward(a, b) for a, b in pairwise(points))]
    lane = []
    for k, (x, y) in enumerate(points):
        (a, b), (c, d) = sides[max(0, k - 1)], sides[min(k, len(sides) - 1)]
        share = _LANE / max(1.0 + a * c + b * d, 0.2)
        lane.append((x + share * (a + c), y + share * (b + d)))
    for end, following in ((0, 1), (-1, -2)):
        room = min(_INSET, math.dist(lane[end], lane[following]) / 4.0)
        lane[end] = _moved(lane[end], _toward(lane[end], lane[following]), room)
    return lane[::-1]


def _path(points: Sequence[XY]) -> str:
    """A path through points with round corners."""
    path, last = f"M{_at(points[0])}", points[0]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        room = min(_CORNER, math.dist(before, here) / 2.0, math.dist(here, after) / 2.0)
        begin, end = (_moved(here, _toward(here, other), room) for other in (before, after))
        path += f"{_line(last, begin)}Q{_at(here)} {_at(end)}"
        last = end
    return path + _line(last, points[-1])


def _line(start: XY, end: XY) -> str:
    """A line to a point, as short as it can be written."""
    (x, y), (right, low) = ((round(a, 1), round(b, 1)) for a, b in (start, end))
    if y == low:
        return f"H{right:g}"
    return f"V{low:g}" if x == right else f"L{_at(end)}"


def _head(lane: Sequence[XY]) -> str:
    """An arrowhead at the end of a lane."""
    tip, back = lane[-1], _toward(lane[-1], lane[-2])
    root, side = _moved(tip, back, 5.0), (-back[1], back[0])
    return f"M{_at(_moved(root, side, 4.0))}L{_at(tip)}L{_at(_moved(root, side, -4.0))}"


def _at(point: XY) -> str:
    return f"{round(point[0], 1):g} {round(point[1], 1):g}"


def _escaped(text: str) -> str:
    """A text for content and for attributes in double quotes; views have hundreds of single ones,
    which need no escapes.
    """
    return escape(text, quote=False).replace('"', "&quot;")
