"""Bends of wires: which lie near, what adds, moves and takes them away, and how they look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.canvas.paint.lanes import GAP, STEPS
from app.canvas.scene.bezier import flatten
from app.canvas.scene.geometry import NONE, Bend
from app.canvas.scene.hits import WIRE_REACH, distances
from app.canvas.scene.polylines import draw_lines
from runtime.diagram import BendWire
from runtime.diagram.model import Point
from runtime.diagram.paths import PortName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from app.canvas.scene.geometry import Floats, Indices, Scene
    from app.canvas.state.view_state import View
    from runtime.diagram import Page

GRID = 10.0
"""A new bend is put on a multiple of this, in scene units."""
_SIZE = 7.0
"""Across a bend's dot, px of style."""


def leg_near(scene: Scene, key: str, at: Floats) -> int:
    """Which part of a wire is nearest to the scene point ``at`` (2,): 0 up to its first bend."""
    return int(distances(_legs(scene, key), *at.tolist()).argmin())


def bent(view: View, key: str, pressed: Floats | None) -> tuple[BendWire, Bend]:
    """Lead a wire through one more point on the grid; and the bend that it gets.

    That lies at the widget point ``pressed`` (2,) if the wire runs there, else in the middle of
    the wire's longest part.
    """
    scene, camera, legs = view.scene, view.camera, _legs(view.scene, key)
    lengths = np.hypot(*np.moveaxis(np.diff(legs, axis=1), 2, 0)).sum(axis=1)
    at = legs[lengths.argmax(), STEPS // 2]
    if pressed is not None:
        away = distances(camera.to_widget(legs), *pressed.tolist())
        if away.min() <= WIRE_REACH + GAP * view.strands * camera.unit:
            at = camera.to_scene(pressed)
    target, number = PortName.parse(key), leg_near(scene, key, at)
    bends = list(scene.page.bends.get(target, ()))
    bends.insert(number, Point(*(np.round(at / GRID) * GRID).tolist()))
    return BendWire(target, tuple(bends), page=scene.page_name), Bend(key, number)


def without(scene: Scene, gone: Collection[Bend]) -> Iterator[BendWire]:
    """Lead each wire through the bends that are not ``gone``."""
    for key in sorted({bend.wire for bend in gone}):
        target = PortName.parse(key)
        bends = enumerate(scene.page.bends[target])
        kept = tuple(point for i, point in bends if Bend(key, i) not in gone)
        yield BendWire(target, kept, page=scene.page_name)


def steady(bends: Collection[Bend], before: Page, after: Page) -> Iterator[Bend]:
    """Those of ``bends`` that are the same bends still: their wires have as many as before."""
    for bend in bends:
        target = PortName.parse(bend.wire)
        if len(before.bends.get(target, ())) == len(after.bends.get(target, ())):
            yield bend


def between(scene: Scene, blocks: Indices, picked: Collection[Bend]) -> Indices:
    """The bends that move with ``blocks``: those of wires among them, and those picked."""
    if not len(scene.bends):
        return NONE
    chosen = np.zeros(len(scene.names), bool)
    chosen[blocks] = True
    inner = np.flatnonzero(chosen[scene.wire_blocks[scene.bend_wire]].all(axis=1))
    own = [number for bend in picked if (number := scene.bend(bend)) is not None]
    return np.union1d(inner, own).astype(np.intp)


def led(scene: Scene, bends: Indices, shift: Floats) -> dict[PortName, tuple[Point, ...]]:
    """All bends of the wires of ``bends`` (b,), by target, those moved by ``shift`` (2,)."""
    places = scene.bends.copy()
    places[bends] += shift
    return {
        PortName.parse(scene.wire_keys[wire]): tuple(
            Point(*point) for point in places[scene.bend_wire == wire].tolist()
        )
        for wire in np.unique(scene.bend_wire[bends]).tolist()
    }


def paint_bends(painter: QPainter, view: View, shown: Floats) -> None:
    """A dot on each bend in sight; one that is selected or has the focus stands out."""
    scene, theme, unit = view.scene, view.theme, view.camera.unit
    if not len(scene.bends):
        return
    inside = ((scene.bends > shown[:2]) & (scene.bends < shown[2:])).all(axis=1)
    hidden = scene.wire_index.get(view.hidden_wire or "", -1)
    picked = [number for bend in view.bends if (number := scene.bend(bend)) is not None]
    _dots(painter, view, np.array(picked, np.intp), theme.accent, (_SIZE + 5.0) * unit)
    rest = np.flatnonzero(inside & (scene.bend_wire != hidden))
    _dots(painter, view, rest, theme.canvas, (_SIZE + 2.0) * unit)
    _dots(painter, view, rest, theme.wire, _SIZE * unit)


def _dots(painter: QPainter, view: View, bends: Indices, colour: str, size: float) -> None:
    pen = QPen(QColor(colour), size)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    painter.setPen(pen)
    lines = np.tile(view.camera.to_widget(view.scene.bends[bends]), 2)
    lines[:, 2] += 0.01
    draw_lines(painter, lines)


def _legs(scene: Scene, key: str) -> Floats:
    """Points (p - 1, STEPS + 1, 2) along the parts of one wire."""
    points = flatten(scene.course(key), STEPS)[0]
    starts = range(0, len(points) - 1, STEPS)
    return np.stack([points[start : start + STEPS + 1] for start in starts])
