"""Undo and redo show what they changed: the page, the selection, the place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt

from gradwire.app.document.diff import changed_keys, page_diff
from gradwire.blocks.registry import registry
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import (
    AddBlock,
    Arrange,
    Batch,
    BendWire,
    Connect,
    Diagram,
    Disconnect,
    MoveBlocks,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    SetNote,
    SetParameters,
    SetTitle,
    apply,
    group,
)

CTRL = Qt.KeyboardModifier.ControlModifier
FAR = Point(9000.0, 9000.0)


def seed() -> Diagram:
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return apply(build(loss(stop_gradient(3 * b, name="stop") + a)), Arrange()).after


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    qtbot.waitUntil(window.isActiveWindow)
    return window


def press(qtbot, window, key, modifiers=CTRL):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, key, modifiers)


def undo(qtbot, window):
    press(qtbot, window, Qt.Key.Key_Z)


def redo(window):
    window.actions_by_name["redo"].trigger()


def away(window):
    """Look where nothing is."""
    window.canvas.select(())
    window.canvas.set_camera(window.canvas.view.camera.panned(-20_000.0, 5_000.0))


def in_sight(window, *names):
    return all(window.canvas.rect().contains(window.canvas.block_rect(name)) for name in names)


def test_removed_blocks_come_back_selected_and_in_sight(window, qtbot):
    window.edit.change(RemoveBlocks(("b", "mul1")))
    away(window)
    undo(qtbot, window)
    assert window.canvas.selection() == {"b", "mul1"}
    assert in_sight(window, "b", "mul1")


def test_what_is_in_sight_does_not_move(window, qtbot):
    window.canvas.zoom_to_fit()
    window.edit.change(SetParameters("mul1", {"a": 5.0}))
    before = window.canvas.view.camera
    undo(qtbot, window)
    assert window.canvas.view.camera == before
    assert window.canvas.selection() == {"mul1"}


def test_a_redo_shows_where_blocks_were_removed(window, qtbot):
    change = Batch("x", (AddBlock("far", registry().get("Mul")(), FAR),))
    window.edit.change(change)
    window.edit.change(RemoveBlocks(("far",)))
    undo(qtbot, window)
    assert in_sight(window, "far")
    away(window)
    redo(window)
    shown = window.canvas.view.camera.area(0, 0, window.canvas.width(), window.canvas.height())
    assert shown[0] < FAR.x < shown[2]
    assert shown[1] < FAR.y < shown[3]
    assert window.canvas.selection() == frozenset()


def test_a_wire_that_comes_back_is_selected(window, qtbot):
    wire = PortName("stop", "x")
    window.edit.change(Disconnect(wire))
    undo(qtbot, window)
    assert window.canvas.selected_wire() == "stop.x"
    assert window.canvas.selection() == frozenset()
    redo(window)
    assert window.canvas.selected_wire() is None
    assert window.canvas.selection() == {"stop"}


def test_notes_are_selected_too(window, qtbot):
    window.edit.change(SetNote("n", Note("why", Point(0, 400))))
    window.edit.change(MoveBlocks({"a": FAR}, notes={"n": FAR}))
    away(window)
    undo(qtbot, window)
    assert window.canvas.view.selection[:2] == ({"a"}, {"n"})


def test_it_goes_to_the_page_where_it_happened(window, qtbot):
    window.edit.change(group(window.document.diagram, "main", ["b", "mul1"]))
    window.navigation.enter("group1")
    window.edit.change(MoveBlocks({"mul1": FAR}, page="group1"))
    window.navigation.leave()
    undo(qtbot, window)
    assert window.navigation.trail == ("group1",)
    assert window.canvas.selection() == {"mul1"}
    assert in_sight(window, "mul1")
    undo(qtbot, window)  # the page itself goes
    assert window.navigation.trail == ()
    assert window.canvas.selection() >= {"b", "mul1"}
    redo(window)
    assert window.canvas.selection() >= {"group1"}


def test_an_edit_itself_leaves_selection_and_view_alone(window):
    window.canvas.select({"a"})
    before = window.canvas.view.camera
    window.edit.change(MoveBlocks({"b": FAR}))
    assert window.canvas.selection() == {"a"}
    assert window.canvas.view.camera == before


class TestTouched:
    def test_a_title_is_on_no_page(self):
        before = seed()
        assert page_diff(before, apply(before, SetTitle("x")).after, "main") is None

    def test_wires_are_told_apart_from_blocks(self):
        before = seed()
        wire = Connect(PortName("b", "out"), PortName("stop", "x"))
        found = page_diff(before, apply(before, wire).after, "main")
        assert found.wires == ("stop.x",)
        assert found.wires_only

    def test_a_wire_that_is_led_another_way_is_told(self):
        before = seed()
        bent = apply(before, BendWire(PortName("stop", "x"), (FAR,))).after
        for found in (page_diff(before, bent, "main"), page_diff(bent, before, "main")):
            assert found.wires == ("stop.x",)
            assert found.wires_only

    def test_the_page_with_the_blocks_goes_before_one_with_wires(self):
        grouped = apply(seed(), group(seed(), "main", ["mul1"])).after
        port = next(iter(grouped.pages["group1"].layout))
        after = apply(grouped, MoveBlocks({port: FAR}, page="group1")).after
        after = apply(after, Disconnect(PortName("stop", "x"))).after
        assert page_diff(grouped, after, "main").page == "group1"


entries = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2))


@given(entries, entries, st.randoms())
def test_changed_keys_are_those_of_other_entries(before, after, random):
    order = list(after)
    random.shuffle(order)
    found = changed_keys(before, {key: after[key] for key in order})
    assert sorted(found) == sorted(
        key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
    )
