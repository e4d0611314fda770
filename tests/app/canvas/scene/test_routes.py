"""Square wires: drawn along their routes, hit there, and let go of while their ends move apart."""

import numpy as np
import pytest
from hypothesis import given

from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.curves import CORNER, Courses, Polylines
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.hits import wire_at
from gradwire.runtime.diagram import Diagram, Page, Point, PortName
from gradwire.runtime.diagram.layout.graph import LayoutGraph
from tests.runtime.diagram.drawing import make, page
from tests.strategies import diagrams

KEY = "t.x"
SQUARE = [160, 37, 300, 37, 300, 337, 500, 337]


@pytest.fixture
def scene() -> Scene:
    made = page({"w": make("Variable"), "t": make("Tanh")}, {KEY: "w.out"})
    layout = {"w": Point(0.0, 0.0), "t": Point(500.0, 300.0)}
    routes = {PortName.parse(KEY): (300.0,)}
    return Scene(Diagram({"main": Page(made.blocks, made.wires, layout, routes=routes)}), "main")


def test_waypoints_are_the_corners(scene):
    course = scene.course_of(KEY)
    assert course.waypoints.tolist() == [SQUARE]
    assert course.radius == CORNER


def test_points_follow_the_corners_closely_and_never_cut_them_by_more_than_the_radius(scene):
    points = scene.course_of(KEY).flatten(32)[0]
    assert points[[0, -1]].tolist() == [SQUARE[:2], SQUARE[-2:]]
    on_line = (points[:, 1] == 37) | (points[:, 0] == 300) | (points[:, 1] == 337)
    corners = np.array(SQUARE).reshape(-1, 2)[1:-1]
    away = np.abs(points[:, None] - corners).max(axis=2).min(axis=1)
    assert (on_line | (away <= CORNER)).all()
    assert not on_line.all()


def test_short_stretches_have_smaller_corners():
    course = Courses(np.array([[0.0, 0.0, 10.0, 0.0, 10.0, 4.0, 30.0, 4.0]]), CORNER)
    points = course.flatten(24)[0]
    assert np.isfinite(points).all()
    assert (np.diff(points, axis=0) >= -1e-9).all()


def test_all_ways_to_draw_it_agree_at_any_zoom(scene):
    camera = Camera(0.5, 20.0, 10.0)
    shown = scene.course_of(KEY).to_widget(camera)
    assert np.allclose(shown.flatten(32), camera.to_widget(scene.course_of(KEY).flatten(32)))
    assert shown.lines().tolist() == [[100, 28.5, 170, 28.5], [170, 28.5, 170, 178.5],
                                      [170, 178.5, 270, 178.5]]  # fmt: skip


def test_it_is_hit_where_it_is_drawn(scene):
    camera = Camera(1.0, 0.0, 0.0)
    assert wire_at(scene, camera, 300.0, 180.0) == 0
    assert wire_at(scene, camera, 330.0, 187.0) is None
    assert scene.wires_in(np.array([295.0, 100.0, 305.0, 110.0])).tolist() == [0]


def test_a_lane_keeps_to_the_corners(scene):
    lane = Polylines(scene.course_of(KEY).flatten(32)).trimmed(9.0)[0]
    assert np.allclose(lane[[0, -1]], [[169, 37], [491, 337]], atol=0.3)
    assert ((lane[:, 0] == 300) & (lane[:, 1] > 37 + CORNER - 1)).any()


def test_it_moves_with_both_ends_and_is_let_go_while_they_part(scene):
    blocks, corners = np.array([0, 1]), np.array([[0.0, 0.0], [500.0, 300.0]])
    scene.place(blocks, corners + 7.0)
    assert scene.course_of(KEY).waypoints.tolist() == [[at + 7 for at in SQUARE]]
    scene.place(blocks[:1], corners[:1])
    assert scene.course_of(KEY).radius is None
    scene.place(blocks, corners)
    assert scene.course_of(KEY).waypoints.tolist() == [SQUARE]


def test_a_page_is_as_large_as_its_routes_reach(scene):
    content = scene.diagram.main
    far = {PortName.parse(KEY): (300.0, -90.0, -200.0)}
    wide = Page(content.blocks, content.wires, content.layout, routes=far)
    assert Scene(Diagram({"main": wide}), "main").bounds()[:2].tolist() == [-200, -90]


def test_bends_of_the_user_win(scene):
    content = scene.diagram.main
    bent = Page(content.blocks, content.wires, content.layout,
                bends={PortName.parse(KEY): (Point(9.0, 9.0),)}, routes=content.routes)  # fmt: skip
    assert Scene(Diagram({"main": bent}), "main").course_of(KEY).radius is None


@pytest.mark.night
@given(diagrams())
def test_the_layout_has_ports_where_the_canvas_shows_them(diagram):
    for name in diagram.pages:
        scene, graph = Scene(diagram, name), LayoutGraph.of(diagram, name)
        assert graph.names == scene.names
        assert (
            np.array([node.height for node in graph.nodes]).reshape(-1) >= scene.rects[:, 3]
        ).all()
        offsets = scene.wire_ends[:, 1::2] - scene.rects[scene.wire_blocks, 1]
        known = dict(zip(scene.wire_keys, offsets.tolist(), strict=True))
        for target, line in zip(graph.targets, graph.lines, strict=True):
            assert known[str(target)] == pytest.approx([line.leaves, line.enters])
