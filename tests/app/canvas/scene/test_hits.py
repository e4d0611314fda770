from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.curves import flatten
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.hits import (
    WIRE_HIT_DISTANCE,
    block_at,
    distances,
    note_at,
    port_at,
    wire_at,
)
from gradwire.runtime.diagram import Note, Point
from gradwire.runtime.diagram.layout.measures import HEADER, ROW, WIDTH
from tests.app.canvas.pages import block, diagram, seed

NEAR = Camera(1.0, 0.0, 0.0)


@pytest.fixture
def scene() -> Scene:
    return Scene(seed(), "main")


def test_a_port_is_hit_within_its_reach(scene):
    x, y = 240, HEADER + 0.5 * ROW
    port = scene.port("mul1", "a")
    assert port_at(scene, NEAR, x, y) == port
    assert port_at(scene, NEAR, x - 8, y) == port
    assert port_at(scene, NEAR, x - 14, y) is None
    assert port_at(scene, NEAR, x - 14, y, radius=20) == port


def test_of_two_ports_the_nearer_is_hit(scene):
    x, y = 240, HEADER + ROW
    assert port_at(scene, NEAR, x, y - 2) == scene.port("mul1", "a")
    assert port_at(scene, NEAR, x, y + 2) == scene.port("mul1", "b")


def test_no_port_is_hit_from_afar(scene):
    camera = Camera(0.1, 0.0, 0.0)
    assert port_at(scene, camera, 24, 0.1 * (HEADER + 9)) is None


def test_nothing_is_hit_on_an_empty_page():
    empty = Scene(diagram({}), "main")
    assert port_at(empty, NEAR, 0, 0) is None
    assert block_at(empty, NEAR, 0, 0) is None
    assert wire_at(empty, NEAR, 0, 0) is None
    assert note_at(empty, NEAR, 0, 0) is None


def test_the_upper_block_is_hit():
    blocks = {"under": block("Mul"), "over": block("Mul")}
    scene = Scene(diagram(blocks, layout={"under": (0, 0), "over": (50, 10)}), "main")
    assert scene.names[block_at(scene, NEAR, 60, 20)] == "over"
    assert scene.names[block_at(scene, NEAR, 10, 5)] == "under"
    assert block_at(scene, NEAR, WIDTH + 80, 5) is None


@given(st.integers(0, 1200), st.integers(0, 200), st.sampled_from([0.4, 1.0, 2.5]))
def test_a_wire_is_hit_iff_it_or_its_lane_is_near(x, y, zoom):
    scene, camera = Scene(seed(), "main"), Camera(zoom, 13.0, -7.0)
    found = wire_at(scene, camera, x, y)
    points = flatten(camera.rows_to_widget(scene.wire_ends), 400)
    away = np.hypot(*(points - (x, y)).transpose(2, 0, 1)).min(axis=1)
    if away.min() <= WIRE_HIT_DISTANCE - 0.5:
        assert found is not None
    if found is not None:
        assert away[found] <= WIRE_HIT_DISTANCE + 6.0 * camera.unit + 1.0


def test_a_bent_wire_is_hit_where_it_runs_and_not_where_it_would():
    bent = Scene(
        diagram(
            {"a": block("Variable"), "t": block("Tanh"), "u": block("Tanh")},
            {"t.x": "a.out", "u.x": "a.out"},
            {"a": (0, 0), "t": (600, 0), "u": (600, 900)},
            bends={"t.x": [(400, 200)]},
        ),
        "main",
    )
    assert bent.wire_keys[wire_at(bent, NEAR, 400, 203)] == "t.x"
    assert wire_at(bent, NEAR, 400, HEADER + 0.5 * ROW) is None
    assert bent.wire_keys[wire_at(bent, NEAR, 590, 900 + HEADER + 0.5 * ROW)] == "u.x"


def test_the_lane_counts(scene):
    wire = scene.wire_index["loss.x"]
    x0, y0, x1, y1 = scene.wire_ends[wire]
    assert y0 == y1
    assert wire_at(scene, NEAR, (x0 + x1) / 2, y0 + 11) == wire
    assert wire_at(scene, NEAR, (x0 + x1) / 2, y0 - 5) == wire
    assert wire_at(scene, NEAR, (x0 + x1) / 2, y0 - 11) is None


def test_distances_are_to_the_segments():
    curve = np.array([[[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]]])
    assert distances(curve, 5.0, 3.0) == pytest.approx([3.0])
    assert distances(curve, -3.0, -4.0) == pytest.approx([5.0])
    assert distances(curve, 14.0, 5.0) == pytest.approx([4.0])


def test_of_a_frame_only_the_title_is_hit():
    notes = {
        "f": Note("frame", Point(0, 0), 300, 200, frame=True),
        "n": Note("note", Point(20, 60), 100, 50),
    }
    scene = Scene(diagram({}, notes=notes), "main")
    assert note_at(scene, NEAR, 150, 10) == "f"
    assert note_at(scene, NEAR, 200, 150) is None
    assert note_at(scene, NEAR, 60, 80) == "n"
