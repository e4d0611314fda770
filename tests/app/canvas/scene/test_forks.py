"""Wires of one port part somewhere; their arrowheads stand there, each on its own wire."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.curves import CORNER, Courses
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.lane_paths import fork_points, walks
from gradwire.runtime.diagram import BendWire, MoveBlocks, Point, PortName, apply
from tests.app.canvas.pages import block, diagram


def fork(count: int = 3):
    """A variable and its readers, one below the other, on square wires that share a track."""
    readers = {f"t{i}": block("Tanh") for i in range(count)}
    places = {"w": (0, 0)} | {name: (500, 150 * i) for i, name in enumerate(readers)}
    wires = {f"{name}.x": "w.out" for name in readers}
    shown = diagram({"w": block("Variable")} | readers, wires, places)
    for name in list(readers)[1:]:
        shown = apply(shown, BendWire(PortName(name, "x"), (), route=(300.0,))).after
    return shown


def tips(scene: Scene) -> np.ndarray:
    """Where the wires part from others (m, 2)."""
    wires = np.arange(len(scene.wire_keys))
    found = np.empty((len(wires), 2))
    for alike, courses in scene.courses(wires):
        step = np.round(scene.fork_points(alike) / 8.0).astype(int)
        found[alike] = walks(courses)[np.arange(len(alike)), step]
    return found


def test_wires_part_where_they_leave_the_shared_track():
    scene = Scene(fork(), "main")
    straight, near, far = scene.fork_points(np.arange(3)).tolist()
    assert 130 <= straight <= 170  # the others turn off 140 from the port
    assert 270 <= near == far <= 310  # and one of them turns again 150 further down
    tip = tips(scene)
    away = np.hypot(*(tip[:, None] - tip[None]).transpose(2, 0, 1)) + 1e9 * np.eye(3)
    assert away.min() > 9.0


def test_a_wire_alone_has_its_arrowhead_at_its_port():
    scene = Scene(fork(1), "main")
    assert scene.fork_points(np.arange(1)).tolist() == [0.0]


def test_it_is_followed_when_a_reader_moves():
    scene = Scene(fork(2), "main")
    before = scene.fork_points(np.arange(2)).tolist()
    corner = scene.rects[1:2, :2].copy()
    scene.place(np.array([1]), corner - (0.0, 400.0))
    assert (scene.fork_points(np.arange(2)) < before).all()
    scene.place(np.array([1]), corner)
    assert scene.fork_points(np.arange(2)).tolist() == before
    scene.update(apply(scene.diagram, MoveBlocks({"t0": Point(500.0, -400.0)})).after)
    assert (scene.fork_points(np.arange(2)) < before).all()


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_order_makes_no_difference(count, seed):
    random = np.random.default_rng(seed)
    ports = random.integers(0, 2, count).astype(np.int32)
    xs, ys = random.integers(2, 6, count) * 40.0, random.integers(-4, 5, count) * 60.0
    zero, end = np.zeros(count), np.full(count, 300.0)
    courses = Courses(np.column_stack([zero, zero, xs, zero, xs, ys, end, ys]), CORNER)
    found = fork_points(ports, walks(courses))
    order = random.permutation(count)
    assert np.array_equal(fork_points(ports[order], walks(courses.only(order))), found[order])
    alone = np.bincount(ports, minlength=2)[ports] == 1
    assert (found[alone] == 0.0).all() and (found[~alone] > 0.0).all()
