"""Wires without bends or routes lead around blocks that are in their way."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF

from gradwire.app.canvas import content
from gradwire.app.canvas.input.gestures.base import Pan
from gradwire.app.canvas.scene import detours
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.scene.hits import wire_at
from gradwire.app.canvas.scene.obstacles import CLEAR, Obstacles
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    BendWire,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    apply,
)
from tests.app.canvas.pages import block, diagram

KEY = "t.x"
PLACES = {"w": (0, 0), "t": (600, 0), "aside": (300, 400)}
ONTO = MoveBlocks({"aside": Point(300.0, 0.0)})
AWAY = MoveBlocks({"aside": Point(300.0, 400.0)})


@pytest.fixture
def shown():
    blocks = {"w": block("Variable"), "t": block("Tanh"), "aside": block("Variable")}
    return diagram(blocks, {KEY: "w.out"}, PLACES)


@pytest.fixture
def scene(shown) -> Scene:
    return Scene(shown, "main")


def edited(scene: Scene, *changes) -> Scene:
    scene.update(apply(scene.diagram, Batch("Edit", changes)).after)
    return scene


def behind(scene: Scene) -> set[tuple[str, str]]:
    """Wires and the blocks, not their ends, that they run behind."""
    found = set()
    for wires, courses in scene.courses(np.arange(len(scene.wire_keys))):
        for wire, points in zip(wires.tolist(), courses.flatten(96), strict=True):
            steps = np.linspace(0.0, 1.0, 40)[:, None, None]
            points = (points[:-1] + steps * np.diff(points, axis=0)).reshape(-1, 2)
            for number, (x, y, width, height) in enumerate(scene.rects.tolist()):
                inside = (points > (x + 3, y + 3)) & (points < (x + width - 3, y + height - 3))
                if inside.all(axis=1).any() and number not in scene.wire_blocks[wire]:
                    found.add((scene.wire_keys[wire], scene.names[number]))
    return found


def test_a_clear_wire_keeps_its_curve(scene):
    assert scene.course_of(KEY).radius is None
    assert scene.is_refined()


def test_a_wire_leads_around_a_block_that_was_moved_onto_it(scene):
    edited(scene, ONTO)
    course = scene.course_of(KEY)
    assert course.radius is not None
    assert not behind(scene)
    left, top, width, height = scene.rects[2].tolist()
    x, y = course.waypoints[0].reshape(-1, 2)[1:-1].T
    clear = CLEAR[sum(b"w") % 3]  # of the source
    assert ((x <= left - clear) | (x >= left + width + clear)).all()
    assert y[1] in {top - clear, top + height + clear}
    edited(scene, AWAY)
    assert scene.course_of(KEY).radius is None


def test_wires_of_several_sources_are_told_apart():
    names = {"w": "Variable", "v": "Variable", "t": "Tanh", "r": "Relu", "aside": "Neg"}
    places = {"w": (0, 0), "v": (0, 70), "t": (600, 300), "r": (600, 370), "aside": (300, 160)}
    wires = {"t.x": "w.out", "r.x": "v.out"}
    scene = Scene(
        diagram({name: block(kind) for name, kind in names.items()}, wires, places), "main"
    )
    one, other = (scene.course_of(key).waypoints[0].reshape(-1, 2)[1:-1] for key in wires)
    assert len(one) == len(other) >= 2
    assert not set(one[:, 0].tolist()) & set(other[:, 0].tolist())


def test_a_narrow_gap_is_used_where_there_is_no_other():
    ends, own = np.array([160.0, 37.0, 600.0, 37.0]), np.array([0, 1], np.int32)
    gap = [(220.0, -900.0, 340.0, 880.0), (220.0, -2.0, 340.0, 900.0)]
    rects = np.array([(0.0, 0.0, 160.0, 60.0), (600.0, 0.0, 160.0, 60.0), *gap])
    assert Obstacles(rects).way(ends, own)[1:2] == (-9.0,)
    rects[2, 3] += 10.0
    assert Obstacles(rects).way(ends, own) == ()


def test_it_is_hit_and_found_where_it_is_drawn(scene):
    edited(scene, ONTO)
    camera = Camera(1.0, 0.0, 0.0)
    level = float(scene.course_of(KEY).waypoints[0].reshape(-1, 2)[2, 1])
    assert wire_at(scene, camera, 380.0, level) == 0
    assert wire_at(scene, camera, 380.0, 37.0) is None
    left, top, right, bottom = scene.wire_bounds[0].tolist()
    assert top < level < bottom and left < 160.0 and right > 600.0


def test_what_the_user_or_arrange_decided_wins(scene):
    edited(scene, ONTO, BendWire(PortName.parse(KEY), (Point(380.0, 10.0),)))
    assert scene.course_of(KEY).radius is None
    assert behind(scene) == {(KEY, "aside")}
    edited(scene, BendWire(PortName.parse(KEY), ()))
    assert not behind(scene)


def test_nothing_is_stored(shown, scene):
    moved = apply(shown, ONTO).after
    scene.update(moved)
    assert moved.main.routes == {} and moved.main.bends == {}


def test_the_same_page_looks_the_same_whatever_led_there(shown, scene):
    edited(scene, ONTO)
    edited(scene, MoveBlocks({"t": Point(700.0, 90.0)}))
    fresh = Scene(scene.diagram, "main")
    assert np.array_equal(fresh.course_of(KEY).waypoints, scene.course_of(KEY).waypoints)
    edited(scene, RemoveBlocks(["aside"]))
    assert scene.course_of(KEY).radius is None


def test_it_looks_the_same_after_a_block_is_removed(shown, scene):
    more = AddBlock("first", block("Variable"), Point(0.0, 3000.0))
    edited(scene, ONTO, more)
    blocks = {"first": scene.page.blocks["first"], **shown.main.blocks}
    scene = Scene(scene.diagram.with_page("main", replace(scene.page, blocks=blocks)), "main")
    before = scene.course_of(KEY).waypoints.tolist()
    edited(scene, RemoveBlocks(["first"]))
    fresh = Scene(scene.diagram, "main")
    assert scene.course_of(KEY).waypoints.tolist() == fresh.course_of(KEY).waypoints.tolist()
    assert scene.course_of(KEY).waypoints.tolist() == before


def test_a_taller_face_is_in_the_way(scene):
    edited(scene, MoveBlocks({"aside": Point(300.0, -60.0)}))
    assert scene.course_of(KEY).radius is None
    rows = scene.rows.copy()
    rows[2] = 5
    scene.set_rows(rows)
    assert scene.course_of(KEY).radius is not None
    assert not behind(scene)


def test_wires_of_a_dragged_block_lead_around_others_on_the_way(scene):
    there, back = np.array([[600.0, 380.0]]), scene.rects[1:2, :2].copy()
    edited(scene, MoveBlocks({"w": Point(0.0, 380.0)}))
    scene.place(np.array([1]), there)
    assert scene.course_of(KEY).radius is not None
    assert not behind(scene)
    scene.place(np.array([1]), back)
    assert scene.course_of(KEY).radius is None


def test_both_ends_dragged_take_their_detour_along(scene, monkeypatch):
    edited(scene, ONTO)
    monkeypatch.setattr(detours, "LIVE", 0)
    before = scene.course_of(KEY).waypoints.copy()
    scene.place(np.array([0, 1]), scene.rects[:2, :2] + 5.0)
    assert np.allclose(scene.course_of(KEY).waypoints, before + 5.0)
    scene.place(np.array([1]), scene.rects[1:2, :2] + 5.0)
    assert scene.course_of(KEY).radius is None


def test_all_blocks_that_move_alike_take_their_detours_along_unchecked(scene, monkeypatch):
    edited(scene, ONTO)
    before = scene.course_of(KEY).waypoints.copy()
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    places = {name: Point(x + 30.0, y + 40.0) for name, (x, y) in scene.page.layout.items()}
    edited(scene, MoveBlocks(places))
    assert scene.is_refined()
    moved = (scene.course_of(KEY).waypoints - before).reshape(-1, 2)
    assert np.allclose(moved, (30.0, 40.0))
    edited(scene, MoveBlocks({"w": Point(0.0, 0.0)}))
    assert not scene.is_refined()


def test_many_wires_are_refined_step_by_step(shown, monkeypatch):
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    scene = Scene(apply(shown, ONTO).after, "main")
    assert not scene.is_refined()
    assert scene.course_of(KEY).radius is None
    assert scene.refine(1)
    assert scene.is_refined()
    assert scene.course_of(KEY).radius is not None
    assert not scene.refine(1)


def test_a_detour_is_lost_when_it_is_known_that_none_is_needed(scene, monkeypatch):
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    edited(scene, ONTO).refine()
    assert scene.course_of(KEY).radius is not None
    edited(scene, AWAY)
    assert scene.refine(1)
    assert scene.course_of(KEY).radius is None
    assert np.array_equal(scene.wire_bounds, Scene(scene.diagram, "main").wire_bounds)


def test_a_canvas_refines_until_all_is_known(canvas, shown, monkeypatch, qtbot):
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    canvas.set_diagram(apply(shown, ONTO).after)
    qtbot.waitUntil(canvas.view.scene.is_refined, timeout=5_000)
    assert canvas.view.scene.course_of(KEY).radius is not None


def test_wires_in_view_are_refined_first(shown, monkeypatch):
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    scene = Scene(apply(shown, ONTO).after, "main")
    left, top, right, bottom = scene.wire_bounds[scene.wire_index[KEY]].tolist()
    elsewhere = np.array([left - 900.0, top - 900.0, left - 800.0, top - 800.0])
    assert scene.is_refined(elsewhere) and not scene.refine(1, elsewhere)
    assert scene.course_of(KEY).radius is None
    assert scene.refine(None, np.array([left, top, right, bottom]))
    assert scene.course_of(KEY).radius is not None


def test_what_is_out_of_view_waits_for_a_gesture_to_end(canvas, shown, monkeypatch, qtbot):
    monkeypatch.setattr(detours, "AT_ONCE", 0)
    monkeypatch.setattr(content, "_WAIT", 5)
    canvas.set_camera(Camera(1.0, 5_000.0, 0.0))
    canvas.set_diagram(apply(shown, ONTO).after)
    mouse = canvas.context.mouse
    mouse.gesture = Pan(canvas.context, QPointF())
    qtbot.wait(100)
    assert not canvas.view.scene.is_refined()
    mouse.gesture = None
    qtbot.waitUntil(canvas.view.scene.is_refined, timeout=5_000)
    assert canvas.view.scene.course_of(KEY).radius is not None


@pytest.mark.night
@given(st.integers(0, 2**32 - 1))
def test_ways_are_clear_of_all_blocks(seed):
    random = np.random.default_rng(seed)
    count = 12
    cells = np.stack(np.meshgrid(np.arange(4), np.arange(3)), axis=-1).reshape(-1, 2)
    corners = cells * (280.0, 150.0) + random.integers(-40, 40, (count, 2))
    names = [f"b{i}" for i in range(count)]
    blocks = {name: block("Relu") for name in names}
    wires = {f"b{i}.x": f"b{random.integers(0, i)}.out" for i in range(1, count)}
    shown = diagram(blocks, wires, dict(zip(names, map(tuple, corners.tolist()), strict=True)))
    scene = Scene(shown, "main")
    square = {
        scene.wire_keys[wire]
        for wires, courses in scene.courses(np.arange(len(wires)))
        if courses.radius is not None
        for wire in wires.tolist()
    }
    assert not {wire for wire, _ in behind(scene)} & square
    obstacles = Obstacles(scene.rects)
    blocked = obstacles.blocked(scene.wire_ends, scene.wire_blocks)
    assert square <= {scene.wire_keys[i] for i in np.flatnonzero(blocked).tolist()}


WALLED = {
    "a": (10, 10),
    "b": (20, 90),
    "t": (200, 20),
    "c": (250, 80),
    "d": (460, -10),
    "w": (460, 90),
}
"""Blocks so close that no route of one or three stretches leads back from w to t."""


@pytest.fixture
def walled() -> Scene:
    blocks = {name: block("Variable" if name == "w" else "Tanh") for name in WALLED}
    return Scene(diagram(blocks, {KEY: "w.out"}, WALLED), "main")


def test_a_long_way_is_searched_for_when_idle_where_there_is_no_short_one(walled):
    assert walled.course_of(KEY).radius is None
    assert not walled.is_refined()
    assert walled.refine(1)
    assert walled.is_refined()
    assert walled.course_of(KEY).radius is not None
    assert not behind(walled)
    assert walled.course_of(KEY).waypoints.shape[1] == 2 * (5 + 3)


def test_a_long_way_moves_along_with_all_blocks_and_is_dropped_with_its_cause(walled):
    walled.refine()
    before = walled.course_of(KEY).waypoints.reshape(-1, 2)
    places = {name: Point(x + 30.0, y + 40.0) for name, (x, y) in WALLED.items()}
    edited(walled, MoveBlocks(places))
    assert walled.is_refined()
    assert np.allclose(walled.course_of(KEY).waypoints.reshape(-1, 2) - before, (30.0, 40.0))
    edited(walled, MoveBlocks({name: Point(0.0, 900.0) for name in "abcd"}))
    walled.refine()
    assert walled.course_of(KEY).radius is None


def test_a_drag_back_loses_no_long_way(walled):
    edited(walled, AddBlock("far", block("Tanh"), Point(5_000.0, 5_000.0))).refine()
    before = walled.course_of(KEY).waypoints
    assert before.shape[1] == 2 * (5 + 3)
    moved = np.array([walled.index["w"]])
    for shift in (500.0, -500.0):
        walled.place(moved, walled.rects[moved, :2] + (0.0, shift))
    edited(walled, MoveBlocks({"far": Point(6_000.0, 5_000.0)})).refine()
    assert np.array_equal(walled.course_of(KEY).waypoints, before)


def test_no_way_out_of_a_box_is_found():
    rects = np.array(
        [(0.0, 0.0, 160.0, 60.0), (600.0, 0.0, 160.0, 60.0), (162.0, -900.0, 90.0, 1_900.0)]
    )
    ends, own = np.array([160.0, 37.0, 600.0, 37.0]), np.array([0, 1], np.int32)
    assert Obstacles(rects).long_way(ends, own) == ()


@given(st.integers(0, 2**32 - 1))
def test_a_long_way_is_no_longer_than_a_short_one_and_clear(seed):
    random = np.random.default_rng(seed)
    corners = np.array([(x, y) for x in range(0, 1_400, 280) for y in range(0, 450, 150)], float)
    rects = np.column_stack([corners + random.integers(-40, 40, corners.shape),
                             np.full((len(corners), 2), (160.0, 80.0))])  # fmt: skip
    own = np.array([0, len(rects) - 1], np.int32)
    ends = np.concatenate([rects[0, :2] + (160.0, 37.0), rects[-1, :2] + (0.0, 37.0)])
    found = Obstacles(rects)
    short, long = found.way(ends, own), found.long_way(ends, own)
    assert not short or long
    xs, ys = [ends[0], *long[::2], ends[2]], [ends[1], *long[1::2], ends[3]]
    for x, y, next_x, next_y in zip(xs, ys, xs[1:], [*ys[1:], ys[-1]], strict=False):
        for left, top, width, height in rects[1:-1].tolist() if long else ():
            level = (
                top < y < top + height and min(x, next_x) < left + width and max(x, next_x) > left
            )
            upright = (left < next_x < left + width and min(y, next_y) < top + height
                       and max(y, next_y) > top)  # fmt: skip
            assert not (level or upright)


def test_a_page_without_blocks_has_no_detours():
    scene = Scene(diagram({}), "main")
    assert scene.is_refined() and not scene.refine()
