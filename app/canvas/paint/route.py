"""The route of a verdict on the canvas: numbered from the loss, with what cuts it marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.canvas.paint import glyphs
from app.canvas.scene.camera import PLAIN
from app.services.theme import BODY, font
from runtime.flow.lazy import MANY

if TYPE_CHECKING:
    from app.canvas.scene.geometry import Indices, Scene
    from app.canvas.state.view_state import View
    from runtime.diagram.model import Page
    from runtime.flow import Verdict

SIGNS = {"stop": "⊣", "no rule": "∅"}
"""Signs of what cuts, by kind of the cutter."""
_RADIUS = 9.0


@dataclass(frozen=True)
class Route:
    """What of a verdict lies on one page; blocks and wires are named as on the page."""

    wire: str
    """Key of the wire that is asked about."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Places of blocks on the way from the loss: ``3``, or ``3–5`` for a page with several."""
    wires: tuple[str, ...] = ()
    """Keys of the wires of the route."""
    cutters: Mapping[str, str] = field(default_factory=dict)
    """Signs by input port ``block.port`` that cuts."""

    def parts(self, scene: Scene) -> tuple[Indices, Indices]:
        """The wires and blocks of ``scene`` that belong to the route."""
        keys = dict.fromkeys([*self.wires, self.wire])
        wires = [scene.wire_index[key] for key in keys if key in scene.wire_index]
        names = [*self.numbers, *(port.partition(".")[0] for port in self.cutters)]
        blocks = [scene.index[name] for name in names if name in scene.index]
        ends = scene.wire_blocks[wires].ravel().tolist() if wires else []
        return np.array(wires, np.intp), np.array(sorted({*blocks, *ends}), np.intp)


def route_of(verdict: Verdict, wire: str, page: Page, prefix: str = "") -> Route:
    """The route of a wire of ``page``, which is used at the path ``prefix``.

    Of very many cutters it has those nearest to the loss.
    """
    steps = [(i, _here(path, prefix)) for i, path in enumerate(verdict.witness, start=1)]
    places: dict[str, list[int]] = {}
    for number, name in steps:
        if name in page.blocks:
            places.setdefault(name, []).append(number)
    cutters = {
        f"{name}.{cutter.port}": SIGNS.get(cutter.kind, "∅")
        for cutter in verdict.cutters[:MANY]
        if (name := _here(cutter.block, prefix)) in page.blocks
    }
    return Route(
        wire,
        {name: _span(numbers) for name, numbers in places.items()},
        tuple(dict.fromkeys([*_between(list(places), page), wire])),
        cutters,
    )


def paint_route(painter: QPainter, view: View) -> None:
    """Draw the numbers on the blocks, and the signs where it is cut."""
    route = view.route
    if route is None or view.camera.zoom < PLAIN:
        return
    for name, text in route.numbers.items():
        if name in view.scene.index:
            left, top = view.scene.rects[view.scene.index[name], :2].tolist()
            _paint_number(painter, view, left, top, text)
    for port, sign in route.cutters.items():
        _paint_cutter(painter, view, port, sign)


def _here(path: str, prefix: str) -> str:
    """The block of the page at ``prefix`` that a path leads to or into; empty for none."""
    return path.removeprefix(prefix).partition("/")[0] if path.startswith(prefix) else ""


def _span(numbers: Sequence[int]) -> str:
    first, last = min(numbers), max(numbers)
    return str(first) if first == last else f"{first}–{last}"


def _between(names: Sequence[str], page: Page) -> list[str]:
    """Keys of wires that lead from each block of the route to the one before it."""
    steps = set(zip(names[1:], names, strict=False))
    return [str(t) for t, source in page.wires.items() if (source.block, t.block) in steps]


def _paint_number(painter: QPainter, view: View, left: float, top: float, text: str) -> None:
    unit, theme = view.camera.unit, view.theme
    x, y = view.camera.to_widget(np.array([left, top])).tolist()
    letters = font(BODY, bold=True)
    width = max(2 * _RADIUS, QFontMetricsF(letters).horizontalAdvance(text) + _RADIUS)
    painter.save()
    painter.translate(x, y)
    painter.scale(unit, unit)
    box = QRectF(-width / 2.0, -_RADIUS, width, 2 * _RADIUS)
    painter.setPen(QPen(QColor(theme.canvas), 1.5))
    painter.setBrush(QColor(theme.accent))
    painter.drawRoundedRect(box, _RADIUS, _RADIUS)
    painter.setPen(QColor(theme.on_accent))
    painter.setFont(letters)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)
    painter.restore()


def _paint_cutter(painter: QPainter, view: View, port: str, sign: str) -> None:
    block, _, slot = port.partition(".")
    number = view.scene.port(block, slot)
    if number is None:
        return
    x, y = view.camera.to_widget(view.scene.port_points(np.array([number])))[0].tolist()
    painter.save()
    painter.translate(x, y)
    painter.scale(view.camera.unit, view.camera.unit)
    painter.setPen(QPen(QColor(view.theme.error), 1.5))
    painter.setBrush(QColor(view.theme.canvas))
    painter.drawEllipse(QPointF(0.0, 0.0), _RADIUS, _RADIUS)
    box = QRectF(-glyphs.SIZE / 2.0, -glyphs.SIZE / 2.0, glyphs.SIZE, glyphs.SIZE)
    glyphs.draw(painter, sign, box, view.theme.error)
    painter.restore()
