"""Three-way merges by pages, blocks and wires."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gradwire.runtime.build as b
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import apply
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Connect,
    MoveBlocks,
    RemoveBlocks,
    RenameBlock,
    SetParameters,
)
from gradwire.runtime.diagram.merging import ConflictPlace, Three, merge, with_names
from gradwire.runtime.diagram.model import MAIN, Diagram, Note, Page, Point
from gradwire.runtime.diagram.paths import PortName


@pytest.fixture
def base():
    x, w = b.input("x", [[1.0, 2.0]]), b.variable("w", [[1.0], [2.0]])
    act = b.block("LeakyRelu", b.mat_mul(x, w, name="product"), name="act")
    return b.build(b.loss(b.sum(act, name="total"), name="loss"))


def changed(diagram, *changes):
    for change in changes:
        diagram = apply(diagram, change).after
    return diagram


def port(block, name):
    return PortName(block, name)


def test_changes_of_different_blocks_are_both_there(base):
    ours = changed(base, SetParameters("act", {"slope": 0.5}))
    theirs = changed(base, SetParameters("w", {"trainable": False}))
    found = merge(base, ours, theirs)
    assert found.conflicts == ()
    assert found.diagram.main.blocks["act"] == ours.main.blocks["act"]
    assert found.diagram.main.blocks["w"] == theirs.main.blocks["w"]
    assert merge(base, theirs, ours).diagram.main.blocks == found.diagram.main.blocks


def test_nothing_changes_where_nothing_has_changed(base):
    assert merge(base, base, base) == (base, ())
    ours = changed(base, RemoveBlocks(("act",)))
    assert merge(base, ours, base).diagram == ours
    assert merge(base, base, ours).diagram == ours


def test_the_same_field_changed_twice_is_a_conflict_that_keeps_ours(base):
    ours = changed(base, SetParameters("act", {"slope": 0.5}))
    theirs = changed(base, SetParameters("act", {"slope": 0.25}))
    found = merge(base, ours, theirs)
    assert [str(each) for each in found.conflicts] == ["page main: act: slope (kept ours)"]
    assert found.diagram.main.blocks["act"] == ours.main.blocks["act"]


def test_two_fields_of_one_block_are_none(base):
    ours = changed(base, SetParameters("w", {"trainable": False}))
    theirs = changed(base, SetParameters("w", {"value": [[3.0], [4.0]]}))
    found = merge(base, ours, theirs)
    block = found.diagram.main.blocks["w"]
    assert found.conflicts == () and not block.trainable
    assert block.value == theirs.main.blocks["w"].value


def test_what_one_side_removes_and_the_other_changes_stays(base):
    ours = changed(base, RemoveBlocks(("act",)))
    theirs = changed(base, SetParameters("act", {"slope": 0.25}))
    found = merge(base, ours, theirs)
    assert found.diagram.main.blocks["act"] == theirs.main.blocks["act"]
    assert "block act (kept theirs)" in str(found.conflicts[0])


def test_a_wire_from_what_is_gone_is_told(base):
    stop = AddBlock("stop", registry().get("StopGradient")(), Point(0, 0))
    theirs = changed(base, stop, Connect(port("act", "out"), port("stop", "x")))
    ours = changed(base, RemoveBlocks(("act",)))
    found = merge(base, ours, theirs)
    assert "act" not in found.diagram.main.blocks and "stop" in found.diagram.main.blocks
    assert port("stop", "x") not in found.diagram.main.wires
    assert [str(each) for each in found.conflicts] == ["page main: wire into stop.x (kept neither)"]


def test_a_renamed_block_is_known_by_its_new_name(base):
    ours = changed(base, RenameBlock("act", "leaky"))
    theirs = changed(base, SetParameters("act", {"slope": 0.25}))
    found = merge(base, ours, theirs)
    assert found.conflicts == () and "act" not in found.diagram.main.blocks
    assert found.diagram.main.blocks["leaky"] == theirs.main.blocks["act"]
    assert found.diagram.main.wires[port("total", "x")] == port("leaky", "out")


def test_positions_never_conflict(base):
    ours = changed(base, MoveBlocks({"act": Point(1.0, 2.0)}))
    theirs = changed(base, MoveBlocks({"act": Point(3.0, 4.0), "w": Point(5.0, 6.0)}))
    found = merge(base, ours, theirs)
    assert found.conflicts == ()
    assert found.diagram.main.layout["act"] == Point(1.0, 2.0)
    assert found.diagram.main.layout["w"] == Point(5.0, 6.0)


def test_a_wire_that_both_have_led_elsewhere_is_a_conflict(base):
    ours = changed(base, Connect(port("x", "out"), port("act", "x")))
    theirs = changed(base, Connect(port("w", "out"), port("act", "x")))
    found = merge(base, ours, theirs)
    assert [str(each) for each in found.conflicts] == ["page main: wire into act.x (kept ours)"]
    assert found.diagram.main.wires[port("act", "x")] == port("x", "out")


def test_contracts_of_both_are_kept_but_for_what_was_removed(base):
    base = replace(base, contracts=("flows(loss -> w)", "finite(* -> *)"))
    ours = replace(base, contracts=("flows(loss -> w)", "finite(* -> *)", "nonzero(loss -> w)"))
    theirs = replace(base, contracts=("finite(* -> *)", "blocked(loss -> x)"), title="Theirs")
    found = merge(base, ours, theirs).diagram
    assert found.contracts == ("finite(* -> *)", "nonzero(loss -> w)", "blocked(loss -> x)")
    assert found.title == "Theirs"


def test_a_diagram_that_both_have_added(base):
    found = merge(Diagram(), base, changed(base, SetParameters("act", {"slope": 0.25})))
    assert [str(each) for each in found.conflicts] == ["page main: block act (kept ours)"]


def conflict(found, name):
    return next(each for each in found.conflicts if each.name == name)


def test_a_side_is_chosen_by_the_name_of_a_conflict(base):
    ours = changed(
        base, SetParameters("act", {"slope": 0.5}), Connect(port("x", "out"), port("act", "x"))
    )
    theirs = changed(
        base, SetParameters("act", {"slope": 0.25}), Connect(port("w", "out"), port("act", "x"))
    )
    ours, theirs = replace(ours, title="Ours"), replace(theirs, title="Theirs")
    slope, wire = "page main: act: slope", "page main: wire into act.x"
    assert {each.name for each in merge(base, ours, theirs).conflicts} == {slope, wire, "title"}
    found = merge(base, ours, theirs, {slope: "theirs", "title": "theirs"})
    assert found.diagram.main.blocks["act"] == theirs.main.blocks["act"]
    assert found.diagram.title == "Theirs"
    assert found.diagram.main.wires[port("act", "x")] == port("x", "out")
    assert {each.name: each.kept for each in found.conflicts} == {
        slope: "theirs", wire: "ours", "title": "theirs",
    }  # fmt: skip
    found = merge(base, ours, theirs, {wire: "theirs", slope: "ours"})
    assert found.diagram.main.wires[port("act", "x")] == port("w", "out")
    assert found.diagram.main.blocks["act"] == ours.main.blocks["act"]


def test_a_removal_can_be_chosen_and_leaves_wires_of_the_other_side_to_the_editor(base):
    stop = AddBlock("stop", registry().get("StopGradient")(), Point(0, 0))
    theirs = changed(
        base,
        SetParameters("act", {"slope": 0.25}),
        stop,
        Connect(port("act", "out"), port("stop", "x")),
    )
    ours = changed(base, RemoveBlocks(("act",)))
    found = merge(base, ours, theirs, {"page main: block act": "ours"})
    assert "act" not in found.diagram.main.blocks
    wire = conflict(found, "page main: wire into stop.x")
    assert (wire.kept, wire.ours, wire.theirs) == ("neither", None, "act.out")
    found = merge(base, ours, theirs, {"page main: block act": "theirs"})
    assert found.diagram.main.wires[port("stop", "x")] == port("act", "out")
    assert [each.name for each in found.conflicts] == ["page main: block act"]


def test_a_conflict_says_what_each_side_has_and_where(base):
    note = Note("ours", Point(1.0, 2.0))
    ours = changed(base, SetParameters("act", {"slope": 0.5}), SetParameters("w", {"value": 3.0}))
    theirs = changed(base, SetParameters("act", {"slope": 0.25}), RemoveBlocks(("w",)))
    ours = ours.with_page(MAIN, replace(ours.main, notes={"n": note}))
    theirs = theirs.with_page(MAIN, replace(theirs.main, notes={"n": replace(note, text="theirs")}))
    ours, theirs = ours.with_page("more", base.main), theirs.with_page("more", Page())
    both = base.with_page("more", Page(notes={"n": note}))
    found = merge(both, ours, replace(theirs, pages={MAIN: theirs.main}))
    assert [(each.name, each.ours, each.theirs, each.place) for each in found.conflicts] == [
        ("page main: block w", {"type": "Variable", "value": 3.0}, None, ConflictPlace(MAIN, "w")),
        ("page main: act: slope", 0.5, 0.25, ConflictPlace(MAIN, "act")),
        (
            "page main: note n",
            {"text": "ours", "at": [1, 2], "width": 200, "height": 60},
            {"text": "theirs", "at": [1, 2], "width": 200, "height": 60},
            ConflictPlace(MAIN),
        ),
        ("page more", [*base.main.blocks], None, ConflictPlace("more")),
    ]


def test_literals_of_both_sides_are_told(base):
    add = AddBlock("add", registry().get("Add")(), Point(0, 0))
    base = changed(base, add)
    ours, theirs = (changed(base, SetParameters("add", {"a": x})) for x in (1.0, 2.0))
    (found,) = merge(base, ours, theirs).conflicts
    assert (found.name, found.ours, found.theirs) == (
        "page main: add: literals", {"a": 1.0}, {"a": 2.0},
    )  # fmt: skip


def test_names_are_the_same_on_all_sides(base):
    ours = changed(base, RenameBlock("act", "leaky"))
    three = with_names(Three(base, ours, base))
    assert all("leaky" in each.main.blocks for each in three)
    assert with_names(three) == three
