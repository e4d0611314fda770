from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.app.canvas.scene.arrays import overlapping
from gradwire.app.canvas.scene.curves import offset
from gradwire.app.canvas.scene.geometry import Bend, Scene
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.blocks.block import Opaque
from gradwire.runtime.diagram import (
    AddBlock,
    BendWire,
    Connect,
    Diagram,
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    SetNote,
    apply,
)
from gradwire.runtime.diagram.layout.measures import HEADER, ROW, WIDTH
from tests.app.canvas.pages import block, diagram, page, seed

places = st.tuples(st.integers(-2000, 2000), st.integers(-2000, 2000))


@st.composite
def scattered(draw, most_bends=3):
    """Blocks anywhere, wires from any to any later one, and a part of the plane."""
    corners = draw(st.lists(places, min_size=2, max_size=12))
    blocks = {f"b{i}": block("Mul") for i in range(len(corners))}
    wires = {}
    for i in range(1, len(corners)):
        for port in "ab":
            if draw(st.booleans()):
                wires[f"b{i}.{port}"] = f"b{draw(st.integers(0, i - 1))}.out"
    layout = {f"b{i}": corner for i, corner in enumerate(corners)}
    x, y = draw(places)
    w, h = draw(st.tuples(st.integers(1, 1500), st.integers(1, 1500)))
    bends = {target: draw(st.lists(places, max_size=most_bends)) for target in wires}
    return diagram(blocks, wires, layout, bends=bends), np.array([x, y, x + w, y + h], float)


class TestCulling:
    @given(scattered())
    def test_no_block_and_no_wire_in_sight_is_missed(self, drawn):
        scene, area = Scene(drawn[0], "main"), drawn[1]
        left, top, right, bottom = area
        touching = {
            i
            for i, (x, y, w, h) in enumerate(scene.rects)
            if x < right and x + w > left and y < bottom and y + h > top
        }
        assert touching <= set(scene.blocks_in(area).tolist())
        for wires, courses in scene.courses(np.arange(len(scene.wire_keys))):
            points = courses.flatten(60)
            both = np.concatenate([points, offset(points, GAP)], axis=1)
            inside = ((both > (left, top)) & (both < (right, bottom))).all(axis=2).any(axis=1)
            assert set(wires[inside].tolist()) <= set(scene.wires_in(area).tolist())

    def test_what_is_far_is_left_out(self):
        scene = Scene(seed(), "main")
        area = np.array([0.0, 0.0, 100.0, 40.0])
        assert [scene.names[i] for i in scene.blocks_in(area)] == ["b"]
        assert len(scene.wires_in(area + 5000.0)) == 0

    def test_overlapping_rectangles(self):
        rects = np.array([[0.0, 0.0, 10.0, 10.0], [20.0, 0.0, 10.0, 10.0]])
        assert overlapping(rects, np.array([5.0, 5.0, 15.0, 15.0])).tolist() == [0]


class TestArrays:
    def test_ports_stand_on_the_edges_row_by_row(self):
        scene = Scene(seed(), "main")
        x, y, _, _ = scene.rects[scene.index["mul1"]]
        for port, at in {
            "a": (x, y + HEADER + 0.5 * ROW),
            "b": (x, y + HEADER + 1.5 * ROW),
            "out": (x + WIDTH, y + HEADER + 0.5 * ROW),
        }.items():
            number = scene.port("mul1", port)
            assert tuple(scene.port_points(np.array([number]))[0]) == at
            assert scene.port_name(number) == PortName("mul1", port)
        assert scene.port("mul1", "c") is None
        assert scene.port("nobody", "a") is None
        assert scene.port("mul1", "a", is_input=False) is None

    def test_wires_join_their_ports(self):
        scene = Scene(seed(), "main")
        assert scene.wire_keys == ["mul1.b", "stop1.x", "add1.a", "add1.b", "loss.x"]
        wire = scene.wire_index["add1.b"]
        source, target = scene.wire_ports[wire]
        assert scene.port_name(source) == PortName("a", "out")
        assert scene.port_name(target) == PortName("add1", "b")
        assert np.array_equal(
            scene.wire_ends[wire].reshape(2, 2), scene.port_points(np.array([source, target]))
        )

    def test_a_variable_has_a_line_for_its_gradient(self):
        scene = Scene(seed(), "main")
        heights = dict(zip(scene.names, scene.rects[:, 3].tolist(), strict=True))
        assert heights["a"] == heights["stop1"] + ROW

    def test_blocks_without_a_place_lie_apart(self):
        blocks = {f"b{i}": block("Mul") for i in range(20)}
        scene = Scene(diagram(blocks, layout={"b3": (100, 100)}), "main")
        assert tuple(scene.rects[3, :2]) == (100, 100)
        for i, (x, y, w, h) in enumerate(scene.rects):
            area = np.array([x, y, x + w, y + h])
            assert overlapping(scene.rects, area).tolist() == [i]

    def test_the_bounds_follow_moves_and_notes(self):
        blocks = {"a": block("Tanh"), "b": block("Tanh")}
        shown = diagram(blocks, {"b.x": "a.out"}, layout={"a": (0, 0), "b": (300, 0)})
        scene = Scene(shown, "main")
        assert scene.bounds()[:3].tolist() == [0, 0, 300 + WIDTH]
        scene.place(np.array([1]), np.array([[500.0, -80.0]]))
        assert scene.bounds()[:3].tolist() == [0, -80, 500 + WIDTH]
        scene.update(apply(shown, SetNote("n", Note("", Point(-40, 0)))).after)
        assert scene.bounds()[0] == -40

    def test_the_bounds_hold_blocks_and_notes(self):
        shown = diagram(
            {"m": block("Mul")}, layout={"m": (10, 20)}, notes={"n": Note("", Point(-50, 300))}
        )
        scene = Scene(shown, "main")
        assert scene.bounds().tolist() == [-50, 20, 10 + WIDTH, 360]
        assert scene.bounds(np.array([0])).tolist()[:2] == [10, 20]
        assert Scene(Diagram(), "main").bounds() is None

    def test_a_page_that_is_not_there_is_empty(self):
        assert Scene(seed(), "nowhere").names == []


class TestPorts:
    def test_a_repeating_port_shows_the_next_one(self):
        shown = diagram(
            {"a": block("Variable", value=[1.0]), "cat": block("Concat")}, {"cat.xs.0": "a.out"}
        )
        name = block("Concat").inputs[0].name
        if name != "xs":
            wires = {PortName("cat", f"{name}.0"): PortName("a", "out")}
            shown = Diagram({"main": Page(shown.main.blocks, wires)})
        slots = Scene(shown, "main").slots[1]
        assert slots.inputs == (f"{name}.0", f"{name}.1")
        assert slots.free == {f"{name}.1"}

    def test_a_page_block_has_the_ports_of_its_page(self):
        inner = page({"x": block("PageInput"), "y": block("PageOutput")})
        shown = Diagram({"main": page({"enc": block("Page", page="inner")}), "inner": inner})
        scene = Scene(shown, "main")
        assert (scene.slots[0].inputs, scene.slots[0].outputs) == (("x",), ("y",))
        edit = apply(shown, AddBlock("z", block("PageInput"), page="inner"))
        assert scene.update(edit.after) is False
        assert scene.slots[0].inputs == ("x", "z")

    def test_wires_at_unknown_ports_are_drawn(self):
        odd = Opaque(original_type="Gone")
        shown = diagram(
            {"o": odd, "m": block("Mul"), "t": block("Tanh")},
            {"o.in": "t.out", "m.a": "o.left", "t.extra": "m.out", "m.b": "t.second"},
        )
        scene = Scene(shown, "main")
        assert len(scene.wire_keys) == 4
        assert scene.port("o", "left", is_input=False) is not None
        assert scene.port("t", "extra") is not None
        assert scene.port("t", "second") is not None

    def test_wires_at_blocks_that_are_not_there_are_left_out(self):
        shown = diagram({"m": block("Mul")}, {"m.a": "gone.out", "gone.x": "m.out"})
        assert Scene(shown, "main").wire_keys == []


class TestBends:
    def shown(self) -> Scene:
        return Scene(
            diagram(
                {"a": block("Variable"), "m": block("Mul"), "t": block("Tanh")},
                {"m.a": "a.out", "t.x": "m.out", "m.b": "a.out"},
                {"a": (0, 0), "m": (300, 0), "t": (600, 0)},
                bends={"m.b": [(180, 90)], "gone.x": [(0, 0)], "m.a": [(150, -50), (200, -50)]},
            ),
            "main",
        )

    def test_wires_are_grouped_by_how_many_they_have(self):
        scene = self.shown()
        groups = {
            courses.waypoints.shape[1]: [scene.wire_keys[i] for i in wires]
            for wires, courses in scene.courses(np.arange(3))
        }
        assert groups == {4: ["t.x"], 6: ["m.b"], 8: ["m.a"]}
        x0, y0, x1, y1 = scene.wire_ends[scene.wire_index["m.a"]]
        assert scene.course_of("m.a").waypoints.tolist() == [[x0, y0, 150, -50, 200, -50, x1, y1]]

    def test_each_has_a_name_and_a_number(self):
        scene = self.shown()
        names = [scene.bend_name(i) for i in range(len(scene.bends))]
        assert names == [Bend("m.a", 0), Bend("m.a", 1), Bend("m.b", 0)]
        assert [scene.bend(name) for name in names] == [0, 1, 2]
        assert scene.bend(Bend("m.a", 2)) is None
        assert scene.bend(Bend("m.b", -1)) is None
        assert scene.bend(Bend("gone.x", 0)) is None

    def test_a_page_is_as_large_as_its_bends_reach(self):
        assert self.shown().bounds()[1] == -50

    def test_without_bends_the_ends_are_used_as_they_are(self):
        scene = Scene(seed(), "main")
        ((wires, courses),) = scene.courses(np.arange(5))
        assert wires.tolist() == [0, 1, 2, 3, 4]
        assert np.array_equal(courses.waypoints, scene.wire_ends)

    def test_a_changed_bend_only_moves(self):
        before = seed()
        scene = Scene(before, "main")
        after = apply(before, BendWire(PortName("loss", "x"), (Point(900, 200),))).after
        assert scene.update(after) is True
        assert scene.course_of("loss.x").waypoints.shape == (1, 6)
        assert scene.update(before) is True
        assert scene.course_of("loss.x").waypoints.shape == (1, 4)


class TestUpdating:
    def test_a_move_only_moves(self):
        scene, before = Scene(seed(), "main"), seed()
        scene = Scene(before, "main")
        after = apply(before, MoveBlocks({"a": Point(7, 9)})).after
        assert scene.update(after) is True
        assert tuple(scene.rects[scene.index["a"], :2]) == (7, 9)
        fresh = Scene(after, "main")
        for ours, theirs in (
            (scene.rects, fresh.rects),
            (scene.wire_ends, fresh.wire_ends),
            (scene.wire_bounds, fresh.wire_bounds),
            (scene.port_points(), fresh.port_points()),
        ):
            assert np.array_equal(ours, theirs)

    def test_a_note_changes_nothing_else(self):
        before = seed()
        scene = Scene(before, "main")
        rects = scene.rects
        assert scene.update(apply(before, SetNote("n", Note("hello"))).after) is True
        assert scene.rects is rects
        assert "n" in scene.page.notes

    def test_a_new_block_is_there_and_the_others_keep_their_lines(self):
        before = seed()
        scene = Scene(before, "main")
        scene.set_rows(np.full(6, 4, np.int32))
        edit = apply(before, AddBlock("m", block("Mul"), Point(0, 500)))
        assert scene.update(edit.after) is False
        assert dict(zip(scene.names, scene.rows.tolist(), strict=True))["a"] == 4
        assert scene.rows[scene.index["m"]] == 1
        connect = Connect(PortName("a", "out"), PortName("m", "a"))
        scene.update(apply(edit.after, connect).after)
        assert "m.a" in scene.wire_index

    @given(st.lists(places, min_size=1, max_size=4))
    def test_a_drag_gives_what_a_new_scene_has(self, corners):
        before = seed()
        scene = Scene(before, "main")
        names = list(before.main.blocks)[: len(corners)]
        indices = np.array([scene.index[name] for name in names])
        scene.place(indices, np.array(corners, float))
        moved = MoveBlocks({n: Point(*at) for n, at in zip(names, corners, strict=True)})
        fresh = Scene(apply(before, moved).after, "main")
        assert np.array_equal(scene.wire_ends, fresh.wire_ends)
        assert np.array_equal(scene.wire_bounds, fresh.wire_bounds)
        assert np.array_equal(scene.port_points(), fresh.port_points())

    @pytest.mark.parametrize("left", [1.0, -179.0, -180.0])
    def test_a_block_dropped_where_it_was_dragged_to_takes_its_routes_along(self, left):
        wires = {"b1.a": "b0.out", "b1.b": "b0.out", "b2.b": "b0.out"}
        places = {"b0": (0, 0), "b1": (0, -37), "b2": (0, 0)}
        shown = diagram(dict.fromkeys(places, block("Mul")), wires, places)
        routes = {PortName("b1", "a"): (0.0, 0.0, 0.0)}
        shown = Diagram({"main": replace(shown.main, routes=routes)})
        scene = Scene(shown, "main")
        scene.place(np.array([scene.index["b0"]]), np.array([[left, 0.0]]))
        layout = {**shown.main.layout, "b0": Point(left, 0.0)}
        after = Diagram({"main": replace(shown.main, layout=layout)})
        assert scene.update(after) is True
        fresh = Scene(after, "main")
        assert fresh.course_of("b1.a").radius is not None
        numbers = np.arange(len(wires))
        assert np.array_equal(scene.fork_points(numbers), fresh.fork_points(numbers))
        assert np.array_equal(scene.wire_bounds, fresh.wire_bounds)
        for key in wires:
            ours, theirs = scene.course_of(key), fresh.course_of(key)
            assert np.array_equal(ours.waypoints, theirs.waypoints)

    @pytest.mark.night
    @given(st.data())
    def test_moves_and_lost_routes_give_what_a_new_scene_has(self, data):
        before, _ = data.draw(scattered(most_bends=0))
        main = before.main
        routes = {
            target: tuple(map(float, data.draw(st.lists(st.integers(-900, 900), min_size=3,
                                                        max_size=3))))
            for target in main.wires
            if data.draw(st.booleans())
        }  # fmt: skip
        before = Diagram({"main": replace(main, routes=routes, bends={})})
        scene = Scene(before, "main")
        scene.refine()
        for _ in range(data.draw(st.integers(1, 3))):
            name = data.draw(st.sampled_from(list(main.blocks)))
            if data.draw(st.booleans()):  # dropped elsewhere than it was dragged to
                scene.place(np.array([scene.index[name]]), np.array([data.draw(places)], float))
            moved = {name: Point(*data.draw(places))}
            page = before.main
            kept = {t: r for t, r in page.routes.items() if data.draw(st.booleans())}
            layout = {**page.layout, **moved}
            before = Diagram({"main": replace(page, layout=layout, routes=kept)})
            assert scene.update(before) is True
            fresh = Scene(before, "main")
            assert np.array_equal(scene.rects, fresh.rects)
            assert np.array_equal(scene.wire_ends, fresh.wire_ends)
            for one in (scene, fresh):
                while not one.is_refined():
                    one.refine()
            assert np.array_equal(scene.wire_bounds, fresh.wire_bounds)
            assert np.array_equal(scene.bounds(), fresh.bounds())
            assert np.array_equal(scene.port_points(), fresh.port_points())
            wires = np.arange(len(scene.wire_keys))
            assert np.array_equal(
                scene.fork_points(wires), fresh.fork_points(wires), equal_nan=True
            )
            for key in scene.wire_keys:
                ours, theirs = scene.course_of(key), fresh.course_of(key)
                assert np.array_equal(ours.waypoints, theirs.waypoints)

    @given(places, places)
    def test_a_dragged_bend_gives_what_a_new_scene_has(self, corner, point):
        before = diagram(
            {"a": block("Variable"), "m": block("Mul", b=2), "t": block("Tanh")},
            {"m.a": "a.out", "t.x": "m.out"},
            {"a": (0, 0), "m": (240, 0), "t": (480, 0)},
            bends={"t.x": [(5, 5)], "m.a": [(1, 1), (2, 2)]},
        )
        scene = Scene(before, "main")
        held = np.array([scene.bend(Bend("m.a", 1))])
        scene.place(np.array([0]), np.array([corner], float), held, np.array([point], float))
        led = {PortName("m", "a"): (Point(1, 1), Point(*point))}
        fresh = Scene(apply(before, MoveBlocks({"a": Point(*corner)}, bends=led)).after, "main")
        assert np.array_equal(scene.wire_bounds, fresh.wire_bounds)
        assert np.array_equal(scene.course_of("m.a").waypoints, fresh.course_of("m.a").waypoints)
        assert np.array_equal(scene.course_of("t.x").waypoints, fresh.course_of("t.x").waypoints)

    def test_rows_of_numbers_make_a_face_taller(self):
        scene = Scene(seed(), "main")
        rows = scene.rows.copy()
        assert scene.set_rows(rows) is False
        rows[scene.index["loss"]] = 3
        before = scene.rects[scene.index["loss"], 3]
        assert scene.set_rows(rows) is True
        assert scene.rects[scene.index["loss"], 3] == before + 2 * ROW
