"""Routes of wires move along with their blocks, and are dropped where they would be wrong."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gradwire.blocks.errors import ChangeError, FileError
from gradwire.runtime.diagram import (
    AddBlock,
    Arrange,
    Batch,
    BendWire,
    Connect,
    Diagram,
    Disconnect,
    MoveBlocks,
    Page,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    apply,
    check,
    dumps,
    group,
    loads,
    ungroup,
)
from gradwire.runtime.diagram.edits.clipboard import copied, pasted
from gradwire.runtime.diagram.files import writing
from tests.runtime.diagram.drawing import make, page

P = PortName.parse
WIRE = P("t.x")
"""It runs from the right of ``w`` (160, 37) to x = 300, down to 337, and on to ``t`` (500, 337)."""


@pytest.fixture
def diagram() -> Diagram:
    made = page(
        {"w": make("Variable"), "t": make("Tanh"), "aside": make("Variable")}, {"t.x": "w.out"}
    )
    layout = {"w": Point(0.0, 0.0), "t": Point(500.0, 300.0), "aside": Point(0.0, 900.0)}
    return Diagram({"main": Page(made.blocks, made.wires, layout, routes={WIRE: (300.0,)})})


def route(diagram, *changes, wire=WIRE):
    for change in changes:
        diagram = apply(diagram, change).after
    return diagram.main.routes.get(wire)


def test_a_route_moves_with_both_ends(diagram):
    both = MoveBlocks({"w": Point(10.0, 5.0), "t": Point(510.0, 305.0)})
    assert route(diagram, both) == (310.0,)


def test_it_is_dropped_when_one_end_moves(diagram):
    assert route(diagram, MoveBlocks({"w": Point(0.0, 1.0)})) is None
    assert route(diagram, MoveBlocks({"t": Point(501.0, 300.0)})) is None


@pytest.mark.parametrize(
    ("at", "stays"),
    [
        ((220, 100), False),  # on the vertical stretch
        ((130, 0), False),  # on the first horizontal one
        ((320, 300), False),  # on the last one
        ((320, 100), True),
        ((130, 80), True),
    ],
)
def test_it_is_dropped_when_a_block_comes_to_lie_on_it(diagram, at, stays):
    for change in (MoveBlocks({"aside": Point(*at)}), AddBlock("n", make("Variable"), Point(*at))):
        assert (route(diagram, change) is not None) is stays


def test_it_is_dropped_when_it_comes_to_lie_on_a_block(diagram):
    away = {"w": Point(0.0, 750.0), "t": Point(500.0, 1050.0)}
    assert route(diagram, MoveBlocks({**away, "aside": Point(220.0, 900.0)})) is None
    aside = MoveBlocks({"aside": Point(220.0, 900.0)})
    assert route(diagram, aside, MoveBlocks(away)) is None
    assert route(diagram, aside, MoveBlocks({"w": Point(0.0, 50.0), "t": Point(500.0, 350.0)}))


def test_bends_of_the_user_replace_it(diagram):
    assert route(diagram, BendWire(WIRE, (Point(250.0, 150.0),))) is None


def test_another_wire_has_no_route(diagram):
    assert route(diagram, Connect(P("aside.out"), WIRE)) is None
    assert route(diagram, Connect(P("w.out"), WIRE)) == (300.0,)
    assert route(diagram, Disconnect(WIRE), Connect(P("w.out"), WIRE)) is None
    assert route(diagram, RemoveBlocks(["t"])) is None


def test_it_is_renamed_with_its_block(diagram):
    assert route(diagram, RenameBlock("t", "u"), wire=P("u.x")) == (300.0,)
    assert route(diagram, RenameBlock("w", "v")) == (300.0,)


def test_arrange_writes_positions_and_routes_as_one_edit(diagram):
    edit = apply(diagram, Arrange())
    assert edit.before is diagram
    assert edit.after.main.routes == {}  # the wire is straight
    added = apply(diagram, AddBlock("u", make("Tanh"))).after
    forked = apply(added, Connect(P("w.out"), P("u.x"))).after
    assert apply(forked, Arrange()).after.main.routes.keys() <= {WIRE, P("u.x")}
    assert apply(forked, Arrange()).after.main.routes


def test_a_route_of_a_wire_that_is_not_there_does_no_harm(diagram):
    content = diagram.main
    stray = Page(content.blocks, {}, content.layout, routes={P("no.x"): (1.0,), WIRE: (2.0,)})
    moved = apply(Diagram({"main": stray}), MoveBlocks({"w": Point(5.0, 5.0)})).after
    assert moved.main.routes == {}


class TestFiles:
    def test_the_golden_file_is_read_and_written(self):
        golden = Path(__file__).parents[1] / "files" / "golden" / "routes.gradwire.json"
        text = golden.read_text(encoding="utf-8")
        diagram = loads(text)
        assert dumps(diagram) == text
        assert diagram.main.routes[P("all.parts.0")] == (220.0, -80.5, 400.0)

    def test_a_wire_with_bends_is_read_without_its_route(self, diagram):
        text = dumps(diagram).replace('"w": [0, 0],', '"w": [0, 0], "t.x": [[9, 9]],')
        assert loads(text).main.routes == {}
        assert loads(text).main.bends == {WIRE: (Point(9.0, 9.0),)}

    @pytest.mark.parametrize("route", [(), (1.0, 2.0), (float("nan"),), (1e12,), (0.0,) * 101])
    def test_a_route_that_no_file_can_have_is_left_out(self, diagram, route):
        wrong = diagram.with_page("main", replace(diagram.main, routes={WIRE: route}))
        assert loads(dumps(wrong)).main.routes == {}

    def test_too_many_are_refused_in_both_directions(self, diagram, monkeypatch):
        text = dumps(diagram)
        monkeypatch.setattr(writing, "MAX_STRETCHES", 0)
        with pytest.raises(FileError, match="Too many stretches of routes for one file"):
            dumps(diagram)
        monkeypatch.setattr("gradwire.runtime.diagram.files.reading.MAX_STRETCHES", 0)
        with pytest.raises(FileError, match=r"Too many stretches of routes\. Expected at most 0"):
            loads(text)

    def test_a_route_of_no_wire_is_reported_and_arranged_away(self, diagram):
        stray = diagram.with_page("main", replace(diagram.main, routes={P("no.x"): (1.0,)}))
        (found,) = [problem for problem in check(stray) if problem.code == "stray-layout"]
        assert found.what == "There is a route for a wire that does not exist."
        assert apply(stray, Arrange()).after.main.routes == {}


class TestCopies:
    def test_a_copy_takes_the_routes_of_inner_wires_along(self, diagram):
        text = copied(diagram, "main", ["w", "t"])
        paste = pasted(diagram, "main", text, Point(2000.0, 50.0))
        made = apply(diagram, paste.change).after.main
        shift = made.layout["t2"].x - diagram.main.layout["t"].x
        assert made.routes == {WIRE: (300.0,), P("t2.x"): (300.0 + shift,)}

    def test_a_copy_that_is_moved_in_the_same_edit_keeps_them(self, diagram):
        paste = pasted(diagram, "main", copied(diagram, "main", ["w", "t"]))
        away = MoveBlocks({"w2": Point(1000.0, 7.0), "t2": Point(1500.0, 307.0)})
        made = apply(diagram, Batch("Paste", (paste.change, away))).after.main
        assert made.routes[P("t2.x")] == (1300.0,)
        apart = MoveBlocks({"w2": Point(1000.0, 8.0), "t2": Point(1500.0, 307.0)})
        made = apply(diagram, Batch("Paste", (paste.change, apart))).after.main
        assert P("t2.x") not in made.routes

    def test_a_copy_that_would_run_behind_a_block_is_not_square(self, diagram):
        text = copied(diagram, "main", ["w", "t"])
        crowded = apply(diagram, MoveBlocks({"aside": Point(2230.0, 200.0)})).after
        at = Point(2330.0, 200.0)
        assert (
            P("t2.x") in apply(diagram, pasted(diagram, "main", text, at).change).after.main.routes
        )
        made = apply(crowded, pasted(crowded, "main", text, at).change).after.main
        assert made.routes.keys() == {WIRE}

    def test_a_part_of_a_file_may_have_routes(self, diagram):
        main = json.loads(copied(diagram, "main", ["w", "t"]))["pages"]["main"]
        paste = pasted(diagram, "main", json.dumps(main), Point(2000.0, 50.0))
        assert P("t2.x") in apply(diagram, paste.change).after.main.routes


class TestPages:
    def test_a_group_takes_the_routes_of_inner_wires_along_and_gives_them_back(self, diagram):
        grouped = apply(diagram, group(diagram, "main", ["w", "t"])).after
        assert grouped.pages["group1"].routes == {WIRE: (300.0,)}
        assert grouped.main.routes == {}
        back = apply(grouped, ungroup(grouped, "main", "group1")).after.main
        assert back.routes == {WIRE: (300.0 + back.layout["w"].x,)}

    def test_a_route_through_a_port_of_the_page_is_dropped(self, diagram):
        grouped = apply(diagram, group(diagram, "main", ["t"])).after
        assert grouped.main.routes == grouped.pages["group1"].routes == {}
        back = apply(grouped, ungroup(grouped, "main", "group1")).after.main
        assert back.routes == {}


@pytest.mark.parametrize("given", [(1.0, 2.0), (float("nan"),)])
def test_what_is_not_a_route_is_refused(diagram, given):
    with pytest.raises(ChangeError, match="This is not a route"):
        apply(diagram, BendWire(WIRE, (), route=given))
