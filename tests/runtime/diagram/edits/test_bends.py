"""The bends of wires through changes, files, copies and pages: layout, and apart from meaning."""

import difflib
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import ChangeError, FileError
from gradwire.runtime.diagram import (
    AddBlock,
    BendWire,
    Connect,
    Disconnect,
    MoveBlocks,
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
from gradwire.runtime.diagram.edits.clipboard import STEP, copied, pasted
from gradwire.runtime.diagram.files import writing as writing_module
from gradwire.runtime.engine import Session
from tests.runtime.diagram.drawing import draw, make, page, seed
from tests.strategies import changes, diagrams

GOLDEN = Path(__file__).parents[1] / "files" / "golden" / "bends.gradwire.json"
P = PortName.parse
ADD_A = P("add.a")
TWO = (Point(10.0, -40.0), Point(80.0, -40.0))


def after(diagram, *made):
    for change in made:
        diagram = apply(diagram, change).after
    return diagram


def bends(diagram, page="main"):
    return {str(target): points for target, points in diagram.pages[page].bends.items()}


def bent():
    """The seed with the wire from the stop to the sum led through two points."""
    return after(seed(), BendWire(ADD_A, TWO))


def concat():
    """cat reads a, b and a again; each wire has a bend at its number."""
    diagram = draw(
        {"a": make("Variable"), "b": make("Variable"), "cat": make("Concat")},
        {"cat.parts.0": "a.out", "cat.parts.1": "b.out", "cat.parts.2": "a.out"},
    )
    led = {P(f"cat.parts.{i}"): (Point(i, 0.0),) for i in range(3)}
    return after(diagram, MoveBlocks({}, bends=led))


class TestChanges:
    def test_a_wire_is_led_through_points_and_straight_again(self):
        edit = apply(seed(), BendWire(ADD_A, TWO))
        assert bends(edit.after) == {"add.a": TWO}
        assert edit.label == "Bend the wire to add.a"
        assert bends(after(edit.after, BendWire(ADD_A, ()))) == {}
        assert edit.before == seed()

    def test_bends_move_with_blocks_as_one(self):
        move = MoveBlocks({"a": Point(5.0, 5.0)}, bends={ADD_A: (Point(0.0, 0.0),)})
        assert bends(after(bent(), move)) == {"add.a": (Point(0.0, 0.0),)}
        assert apply(bent(), MoveBlocks({}, bends={ADD_A: TWO[:1]})).label == "Move bends"

    @pytest.mark.parametrize(
        "change", [BendWire(P("mul.a"), TWO), MoveBlocks({}, bends={P("no.a"): TWO})]
    )
    def test_only_a_wire_has_bends(self, change):
        with pytest.raises(ChangeError, match="No wire ends here"):
            apply(seed(), change)

    def test_bends_are_finite(self):
        with pytest.raises(ChangeError, match=r"add\.a: A position must be finite"):
            apply(seed(), BendWire(ADD_A, (Point(0.0, math.inf),)))

    @pytest.mark.parametrize("gone", [Disconnect(ADD_A), RemoveBlocks(["stop"])])
    def test_they_go_with_their_wire(self, gone):
        assert bends(after(bent(), gone)) == {}

    def test_another_source_runs_straight_and_the_same_one_stays_bent(self):
        assert bends(after(bent(), Connect(P("stop.out"), ADD_A))) == {"add.a": TWO}
        assert bends(after(bent(), Connect(P("b.out"), ADD_A))) == {}

    def test_they_follow_the_names_of_blocks(self):
        assert bends(after(bent(), RenameBlock("add", "sum"))) == {"sum.a": TWO}
        assert bends(after(bent(), RenameBlock("stop", "halt"))) == {"add.a": TWO}

    def test_they_follow_the_terms_of_a_repeating_port(self):
        left = after(concat(), Disconnect(P("cat.parts.0")))
        assert bends(left) == {"cat.parts.0": (Point(1, 0),), "cat.parts.1": (Point(2, 0),)}
        assert bends(after(concat(), RemoveBlocks(["b"]))) == {
            "cat.parts.0": (Point(0, 0),),
            "cat.parts.1": (Point(2, 0),),
        }

    @pytest.mark.night
    @given(st.data())
    def test_no_change_leaves_bends_without_a_wire(self, data):
        diagram = data.draw(diagrams())
        for _ in range(3):
            try:
                edit = apply(diagram, data.draw(changes(diagram)))
            except ChangeError:
                continue
            assert edit.before == diagram
            diagram = edit.after
            for content in diagram.pages.values():
                assert content.bends.keys() <= content.wires.keys()
                assert all(content.bends.values())


class TestFiles:
    def test_a_file_with_bends_is_read_and_written_as_it_was(self):
        text = GOLDEN.read_text(encoding="utf-8")
        diagram = loads(text)
        assert dumps(diagram) == text
        assert bends(diagram)["not here.left"] == (Point(100.0, 40.0),)
        assert {p.code for p in check(diagram)} == {"unknown-block"}

    def test_a_moved_bend_is_one_line_of_the_layout(self):
        moved = after(bent(), BendWire(ADD_A, (TWO[0], Point(80.0, 20.0))))
        was, now = dumps(bent()).splitlines(), dumps(moved).splitlines()
        lines = [line for line in difflib.unified_diff(was, now, n=0) if line[0] in "+-"][2:]
        assert lines == [
            '-        "add.a": [[10, -40], [80, -40]]',
            '+        "add.a": [[10, -40], [80, 20]]',
        ]

    def test_bends_stand_after_the_places_in_the_order_of_the_wires(self):
        diagram = after(
            seed(),
            BendWire(P("loss.x"), TWO),
            BendWire(P("mul.b"), TWO),
            MoveBlocks({"loss": Point(1.0, 1.0)}),
        )
        layout = json.loads(dumps(diagram))["pages"]["main"]["layout"]
        assert list(layout) == ["loss", "mul.b", "loss.x"]
        assert dumps(loads(dumps(diagram))) == dumps(diagram)

    def test_what_no_file_can_hold_is_left_out(self):
        main = replace(seed().main, bends={ADD_A: (), P("add.b"): (Point(0.0, math.nan),)})
        assert dumps(seed().with_page("main", main)) == dumps(seed())

    def test_too_many_are_told_in_both_directions(self, monkeypatch):
        monkeypatch.setattr(writing_module, "MAX_BENDS", 1)
        with pytest.raises(FileError, match="Too many bends for one file"):
            dumps(bent())
        monkeypatch.undo()
        monkeypatch.setattr("gradwire.runtime.diagram.files.reading.MAX_BENDS", 1)
        with pytest.raises(FileError, match=r"^20:7: Too many bends. Expected at most 1, got 2"):
            loads(dumps(bent()))

    def test_they_mean_nothing_to_the_numbers(self):
        run, straight = (Session(diagram).run() for diagram in (bent(), seed()))
        assert run.gradients.keys() == straight.gradients.keys()
        assert all((run.gradients[k] == v).all() for k, v in straight.gradients.items())


class TestCopies:
    def test_a_copy_takes_the_bends_of_inner_wires_along(self):
        text = copied(bent(), "main", ["stop", "add"])
        paste = pasted(bent(), "main", text)
        assert bends(after(bent(), paste.change)) == {
            "add.a": TWO,
            "add2.a": tuple(Point(x + STEP.x, y + STEP.y) for x, y in TWO),
        }

    def test_bends_of_wires_to_what_is_not_copied_stay_behind(self):
        text = copied(bent(), "main", ["add"])
        assert bends(after(draw({}), pasted(draw({}), "main", text).change)) == {}


def chain():
    """a → mul → stop → loss in a row, each wire with a bend by its target and one half way."""
    names = ("a", "mul", "stop", "loss")
    diagram = draw(
        {
            "a": make("Variable"),
            "mul": make("Mul", b=2),
            "stop": make("StopGradient"),
            "loss": make("Loss"),
        },
        {"mul.a": "a.out", "stop.x": "mul.out", "loss.x": "stop.out"},
    )
    places = {name: Point(400.0 * i, 0.0) for i, name in enumerate(names)}
    led = {
        P(target): (Point(400.0 * i - 150.0, 90.0), Point(400.0 * i + 10.0, 10.0))
        for i, target in enumerate(("mul.a", "stop.x", "loss.x"), start=1)
    }
    return after(diagram, MoveBlocks(places, bends=led))


class TestPages:
    def test_bends_inside_go_to_the_page_and_those_outside_stay(self):
        diagram = after(chain(), group(chain(), "main", ["mul", "stop"]))
        assert bends(diagram) == {
            "group1.a": (Point(250.0, 90.0),),
            "loss.x": (Point(1050.0, 90.0), Point(1210.0, 10.0)),
        }
        assert bends(diagram, "group1") == {"stop.x": chain().main.bends[P("stop.x")]}

    def test_a_page_put_back_has_all_the_bends_that_were_left(self):
        grouped = after(chain(), group(chain(), "main", ["mul", "stop"]))
        back = after(grouped, ungroup(grouped, "main", "group1"))
        found = bends(back)
        assert found.keys() == {"mul.a", "stop.x", "loss.x"}
        shift = back.main.layout["mul"].x - chain().main.layout["mul"].x
        assert found["stop.x"] == tuple(
            Point(x + shift, y) for x, y in chain().main.bends[P("stop.x")]
        )

    def test_a_wire_put_together_of_three_has_the_bends_of_all(self):
        through = page({"x": make("PageInput"), "y": make("PageOutput")}, {"y.x": "x.out"})
        diagram = draw(
            {"a": make("Variable"), "p": make("Page", page="p"), "loss": make("Loss")},
            {"p.x": "a.out", "loss.x": "p.y"},
            p=through,
        )
        one, two, three = (Point(float(i), 0.0) for i in range(3))
        diagram = after(
            diagram,
            BendWire(P("p.x"), (one,)),
            BendWire(P("y.x"), (two,), page="p"),
            BendWire(P("loss.x"), (three,)),
        )
        assert bends(after(diagram, ungroup(diagram, "main", "p"))) == {"loss.x": (one, two, three)}

    def test_a_block_of_the_name_of_a_bent_wire_is_refused(self):
        with pytest.raises(ChangeError, match="is not a valid block name"):
            apply(bent(), AddBlock("add.a", make("Mul")))
