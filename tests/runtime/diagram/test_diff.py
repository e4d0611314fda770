"""What differs between two diagrams."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from gradwire.blocks.registry import registry
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import (
    AddBlock,
    BendWire,
    Connect,
    Diagram,
    Disconnect,
    InsertPage,
    InstancePath,
    MoveBlocks,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    RenamePage,
    SetLesson,
    SetNote,
    SetParameters,
    SetTitle,
    SetTraining,
    WirePath,
    apply,
    dumps,
    group,
    loads,
)
from gradwire.runtime.diagram.comparison import Comparison
from gradwire.runtime.diagram.diff import BlockChange, Changed, NoteChange, WireChange, diff
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.training import Training
from tests.strategies import diagrams


def seed() -> Diagram:
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b, name="stop") + a))


def changed(*changes, before=None):
    """What differs after changes to a diagram, loaded anew as from another file."""
    before = after = before or seed()
    for change in changes:
        after = apply(after, change(after) if callable(change) else change).after
    return diff(before, loads(dumps(after)))


def page(found):
    (only,) = found.pages
    return only


def port(text):
    return PortName.parse(text)


def test_a_diagram_does_not_differ_from_itself():
    found = changed()
    assert found.is_empty
    assert not found.has_meaning


def test_blocks_are_added_and_removed_with_their_wires():
    found = page(changed(RemoveBlocks(["stop"]), AddBlock("act", registry().get("Tanh")())))
    assert (found.added, found.removed, dict(found.renamed)) == (("act",), ("stop",), {})
    assert set(found.wires) == {
        WireChange(port("stop.x"), port("mul1.out"), None),
        WireChange(port("add1.a"), port("stop.out"), None),
    }
    assert found.has_meaning


def test_parameters_and_literals_are_compared_one_by_one():
    found = page(changed(SetParameters("mul1", {"a": 4}), SetParameters("stop", {"open": True})))
    assert found.changed == (
        BlockChange("mul1", (Changed("a", 3, 4),)),
        BlockChange("stop", (Changed("open", None, True),)),
    )


def test_another_type_under_the_same_name_is_a_change():
    found = page(
        changed(
            RemoveBlocks(["stop"]),
            AddBlock("stop", registry().get("Tanh")()),
            Connect(port("mul1.out"), port("stop.x")),
            Connect(port("stop.out"), port("add1.a")),
        )
    )
    assert found.changed == (BlockChange("stop", (Changed("type", "StopGradient", "Tanh"),)),)
    assert not found.wires


def test_a_renamed_block_is_the_same_block():
    found = page(changed(RenameBlock("stop", "wall")))
    assert dict(found.renamed) == {"stop": "wall"}
    assert not (found.added or found.removed or found.wires or found.rerouted)


def test_two_blocks_that_could_be_meant_are_not_guessed():
    tanh = registry().get("Tanh")()
    before = apply(Diagram(), AddBlock("x", tanh, Point(5, 5))).after
    found = page(
        changed(
            RemoveBlocks(["x"]),
            AddBlock("y", tanh, Point(5, 5)),
            AddBlock("z", tanh, Point(5, 5)),
            before=before,
        )
    )
    assert (found.added, found.removed, dict(found.renamed)) == (("y", "z"), ("x",), {})


def test_a_wire_has_another_source():
    found = page(changed(Connect(port("b.out"), port("stop.x"))))
    assert found.wires == (WireChange(port("stop.x"), port("mul1.out"), port("b.out")),)


def test_layout_and_notes_have_no_meaning():
    found = changed(
        MoveBlocks({"a": Point(77.0, 7.0)}),
        BendWire(port("stop.x"), (Point(1.0, 2.0),)),
        SetNote("n", Note("new")),
        SetTitle("Title"),
    )
    assert not found.has_meaning
    assert not found.is_empty
    assert page(found).moved == ("a",)
    assert port("stop.x") in page(found).rerouted
    assert page(found).notes == (NoteChange("n", None, Note("new")),)
    assert found.head == (Changed("title", "", "Title"),)


def test_contracts_have_meaning():
    found = changed(SetTitle(contracts=("flows(loss -> a)",)))
    assert found.has_meaning


def test_training_has_meaning():
    found = changed(SetTraining(Training(steps=7)))
    assert found.head == (Changed("training", None, {"steps": 7}),)
    assert found.has_meaning


def test_a_lesson_differs_without_changing_what_is_computed():
    found = changed(SetLesson(Lesson(goal="Stop it.")))
    assert found.head == (Changed("lesson", None, {"goal": "Stop it."}),)
    assert not found.has_meaning


def test_pages_come_go_and_are_renamed():
    before = apply(seed(), group(seed(), "main", ["mul1"])).after
    inner = list(before.pages)[1]
    renamed = changed(RenamePage(inner, "triple"), before=before)
    assert [(each.was, each.page) for each in renamed.pages] == [(inner, "triple")]
    assert not page(renamed).has_meaning, "the uses follow the name"
    assert renamed.has_meaning
    come = changed(InsertPage("idle"))
    assert [(each.was, each.page) for each in come.pages] == [(None, "idle")]
    back = diff(come.after, come.before)
    assert [(each.was, each.page) for each in back.pages] == [("idle", None)]


def test_paths_follow_renames_inside_pages():
    before = apply(seed(), group(seed(), "main", ["mul1"])).after
    inner = list(before.pages)[1]
    use = next(n for n, b in before.main.blocks.items() if getattr(b, "page", None) == inner)
    found = changed(RenameBlock(use, "outer"), RenameBlock("mul1", "product", inner), before=before)
    assert found.renamed(InstancePath.of(use, "mul1")) == "outer/product"
    assert found.renamed_wire(WirePath(f"{use}/mul1.b")) == "outer/product.b"
    assert found.renamed(InstancePath("gone/away")) == "gone/away"


def test_not_a_number_is_the_same_as_itself():
    one, other = (build(loss(variable("a", [float("nan")]))) for _ in range(2))
    assert diff(one, other).is_empty


@pytest.mark.parametrize("change", [Disconnect(port("stop.x")), RemoveBlocks(["a", "b"])])
def test_the_way_back_is_the_reverse(change):
    there = page(changed(change))
    back = page(diff(apply(seed(), change).after, seed()))
    assert (there.added, there.removed) == (back.removed, back.added)
    assert {(w.target, w.before, w.after) for w in there.wires} == {
        (w.target, w.after, w.before) for w in back.wires
    }


@pytest.mark.night
@given(diagrams())
def test_any_diagram_is_like_its_copy_and_unlike_nothing(drawn):
    assert diff(drawn, loads(dumps(drawn))).is_empty
    found = diff(Diagram({"main": type(drawn.main)()}), drawn)
    assert sum(len(each.added) for each in found.pages) == sum(
        len(each.blocks) for each in drawn.pages.values()
    )


def test_a_comparison_differs_by_what_it_found():
    one, two, three = (
        replace(Diagram(), comparison=Comparison(structure=structure, absent=absent))
        for structure, absent in (("aa", 1), ("bb", 1), ("bb", 2))
    )
    assert diff(one, two).is_empty
    assert diff(two, three).head == (Changed("comparison", {"absent": 1}, {"absent": 2}),)
