"""Ports that other blocks hide are found, marked and spoken of."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.paint.painter import paint
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene import obstacles
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.obstacles import cover_of, covered_ports
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.tooltips import describe, port_tip
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram.layout.measures import HEADER, ROW, WIDTH
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.paint.recording import recorder

corners = st.tuples(st.integers(0, 500), st.integers(0, 300))


def scene_of(*places) -> Scene:
    blocks = {f"t{i}": block("Tanh") for i in range(len(places))}
    layout = {f"t{i}": tuple(map(float, at)) for i, at in enumerate(places)}
    return Scene(diagram(blocks, {}, layout=layout), "main")


def view_of(scene: Scene) -> ViewState:
    return ViewState(scene, resolve(scene, None), Camera(1.0, 20.0, 20.0), LIGHT)


@given(st.lists(corners, min_size=2, max_size=9), st.sampled_from([0, 10**6]))
def test_a_port_is_covered_by_what_is_drawn_on_it(places, few):
    scene = scene_of(*places)
    with patch.object(obstacles, "_FEW_PAIRS", few):
        found = covered_ports(scene, np.arange(len(places)))
    for port, (x, y) in enumerate(scene.port_points().tolist()):
        own = int(scene.port_block[port])
        over = [
            i
            for i, (left, top, width, height) in enumerate(scene.rects.tolist())
            if i > own and left + 2 < x < left + width - 2 and top + 2 < y < top + height - 2
        ]
        assert found.get(port) == (max(over) if over else None)
        assert cover_of(scene, port) == (scene.names[max(over)] if over else "")


def test_blocks_side_by_side_hide_nothing():
    scene = scene_of((0, 0), (WIDTH, 0), (0, 200))
    assert covered_ports(scene, np.arange(3)) == {}
    assert covered_ports(scene, np.arange(0)) == {}


def test_a_covered_port_is_ringed_on_top(qapp, monkeypatch):
    scene = scene_of((0, 0), (100, 10))
    found = recorder(monkeypatch, lanes, painter)
    cache = FaceCache()
    cache.begin(1.0, 1.0, LIGHT, 1 << 30)
    paint(found, view_of(scene), QRectF(0, 0, 800, 400), cache)
    rings = [c for c in found.drawn("drawEllipse") if c.pen.color() == QColor(LIGHT.warning)]
    ((centre, radius, _),) = {(c.arguments[0].toTuple(), *c.arguments[1:]) for c in rings}
    assert centre == (20 + WIDTH, 20 + HEADER + ROW / 2)
    assert radius > 0


@pytest.mark.parametrize(("kind", "port"), [(FocusKind.OUTPUT, "out"), (FocusKind.INPUT, "x")])
def test_pointer_and_screen_reader_learn_by_what_it_is_hidden(qapp, kind, port):
    scene = scene_of((0, 0), (100 if port == "out" else -100, 10))
    annotations = resolve(scene, None)
    number = scene.port("t0", port)
    tip = port_tip(annotations.page, number)
    assert "Hidden by t1: move one of the two blocks." in tip
    assert describe(annotations, Focus(kind, f"t0.{port}")).endswith("hidden by t1")
    assert "hidden" not in describe(annotations, Focus(kind, f"t1.{port}"))
