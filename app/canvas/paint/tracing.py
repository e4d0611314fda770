"""A wire from end to end: what it leads from and to, also out of view and through pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas.paint import lanes
from app.canvas.scene.bezier import flatten
from app.canvas.scene.polylines import draw_lines, strokes
from app.canvas.state.formatting import dimensions
from app.services.theme import SMALL, font, shown
from blocks.library.pages import Page as PageBlock
from blocks.library.pages import PageInput, PageOutput
from runtime.diagram.model import MAIN, Diagram
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from app.canvas.scene.geometry import Indices, Scene
    from app.canvas.state.view_state import View
    from runtime.diagram.model import Page

MOST_NAMED = 3
"""Readers that are named; of more, their number is told."""
_PAD, _RISE = 6.0, 2.0
_ASIDE, _EDGE = 8.0, 6.0
_DEEPEST = 64


def net(scene: Scene, key: str) -> Indices:
    """The other wires from the port that the wire ``key`` comes from."""
    wire = scene.wire_index[key]
    same = scene.wire_ports[:, 0] == scene.wire_ports[wire, 0]
    same[wire] = False
    return np.flatnonzero(same)


def origin(diagram: Diagram, trail: Sequence[str], port: PortName) -> str | None:
    """Path of the output that ``port`` passes on: through uses of pages, in and out.

    ``trail`` names the page blocks that were entered. None where nothing drives it.
    """
    at, where = tuple(trail), port
    for _ in range(_DEEPEST):
        page = _page(diagram, at)
        block = None if page is None else page.blocks.get(where.block)
        if page is None or block is None:
            return None
        if isinstance(block, PageBlock):
            at, inner = (*at, where.block), PortName(where.port, "x")
        elif isinstance(block, PageInput) and at:
            at, inner = at[:-1], PortName(at[-1], where.block)
        else:
            return "/".join((*at, str(where)))
        there = _page(diagram, at)
        source = None if there is None else there.wires.get(inner)
        if source is None:
            return None
        where = source
    return None


def readers(diagram: Diagram, trail: Sequence[str], port: PortName) -> list[str]:
    """Paths of the inputs that what arrives at ``port`` comes to in the end."""
    return list(_readers(diagram, tuple(trail), port, 0))


def ends_told(view: View, key: str) -> tuple[str, str]:
    """Words for the source and for the target of a wire, and for what lies behind them.

    ``enc.y ← enc/mul1.out · 2 × 3 float32`` and ``dec.x → dec/mul1.a, dec/mul2.b``.
    """
    scene, facts = view.scene, view.facts
    target = PortName.parse(key)
    source = scene.page.wires[target]
    trail = tuple(facts.prefix.split("/")[:-1])
    behind = origin(scene.diagram, trail, source)
    head = str(source)
    if behind is not None and behind != facts.prefix + head:
        head = f"{head} ← {behind}"
    value = facts.value(source.block, source.port)
    if isinstance(value, np.ndarray):
        head = f"{head} · {dimensions(value.shape)} {value.dtype}"
    beyond = readers(scene.diagram, trail, target)
    if beyond == [f"{facts.prefix}{key}"]:
        return head, key
    named = ", ".join(beyond[:MOST_NAMED])
    if len(beyond) > MOST_NAMED:
        more = QCoreApplication.translate("tracing", "{0} and {1} more")
        named = more.format(named, len(beyond) - MOST_NAMED)
    return head, f"{key} → {named}" if named else key


def paint_net(painter: QPainter, view: View, key: str) -> None:
    """Draw the other wires of the port, thin and without their lanes."""
    painter.setPen(QPen(QColor(view.theme.wire), max(1.0, view.camera.unit)))
    for _, courses in view.scene.courses(net(view.scene, key)):
        draw_lines(painter, strokes(flatten(view.camera.ends(courses), lanes.STEPS)))


def paint_ends(painter: QPainter, view: View, key: str, area: QRectF) -> None:
    """Write what is at both ends, at the edge of ``area`` where an end lies out of it."""
    for words, box in labels(view, key, area):
        _paint_words(painter, view, words, box)


def labels(view: View, key: str, area: QRectF) -> tuple[tuple[str, QRectF], tuple[str, QRectF]]:
    """The words at source and target of a wire, each with its place in the widget."""
    ports = view.scene.wire_ports[view.scene.wire_index[key]]
    (x0, y0), (x1, y1) = view.camera.to_widget(view.scene.port_points(ports)).tolist()
    source, target = ends_told(view, key)
    above, below = _size(source), _size(target)
    first = QRectF(x0 + _ASIDE, y0 - _ASIDE - above.y(), above.x(), above.y())
    second = QRectF(x1 - _ASIDE - below.x(), y1 + 2 * _ASIDE, below.x(), below.y())
    first, second = _within(first, area), _within(second, area)
    if first.intersects(second):
        second.moveTop(first.bottom() + _RISE)
        too_low = max(0.0, second.bottom() - area.bottom() + _EDGE)
        first.translate(0.0, -too_low)
        second.translate(0.0, -too_low)
    return (source, first), (target, second)


def _readers(diagram: Diagram, trail: tuple[str, ...], port: PortName, depth: int) -> Iterator[str]:
    page = _page(diagram, trail)
    block = None if page is None else page.blocks.get(port.block)
    if isinstance(block, PageBlock):
        passed, within = PortName(port.port, "out"), (*trail, port.block)
    elif isinstance(block, PageOutput) and trail:
        passed, within = PortName(trail[-1], port.block), trail[:-1]
    else:
        yield "/".join((*trail, str(port)))
        return
    onward = _page(diagram, within)
    for target, source in onward.wires.items() if onward and depth < _DEEPEST else ():
        if source == passed:
            yield from _readers(diagram, within, target, depth + 1)


def _page(diagram: Diagram, trail: Sequence[str]) -> Page | None:
    page = diagram.pages.get(MAIN)
    for name in trail:
        block = None if page is None else page.blocks.get(name)
        if not isinstance(block, PageBlock):
            return None
        page = diagram.pages.get(block.page)
    return page


def _size(words: str) -> QPointF:
    metrics = QFontMetricsF(font(shown(SMALL)))
    return QPointF(metrics.horizontalAdvance(words) + 2 * _PAD, metrics.height() + 2 * _RISE)


def _within(box: QRectF, area: QRectF) -> QRectF:
    room = area.adjusted(_EDGE, _EDGE, -_EDGE, -_EDGE)
    box.moveLeft(max(min(box.left(), room.right() - box.width()), room.left()))
    box.moveTop(max(min(box.top(), room.bottom() - box.height()), room.top()))
    return box


def _paint_words(painter: QPainter, view: View, words: str, box: QRectF) -> None:
    painter.setPen(QPen(QColor(view.theme.hairline), 1.0))
    painter.setBrush(QColor(view.theme.field))
    painter.drawRoundedRect(box, 4.0, 4.0)
    painter.setPen(QColor(view.theme.ink))
    painter.setFont(font(shown(SMALL)))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), words)
