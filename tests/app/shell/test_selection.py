"""One click or key changes the selection once, and what follows from it is redone once."""

from collections import Counter

import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.app.panels.why.why import Why
from gradwire.app.shell.actions.building import ActionStates
from gradwire.runtime.build import build, loss, stop_gradient, variable
from tests.app.canvas.pages import click, drag

CTRL = Qt.KeyboardModifier.ControlModifier
ONCE = {"signal": 1, "inspector": 1, "why": 1, "actions": 1}


@pytest.fixture
def counts(window, qtbot, monkeypatch):
    """A window on a stopped wire; counts its signals and rebuilds from the next ``clear()`` on."""
    w, v = variable("w", [2.0]), variable("v", [1.0])
    diagram = build(loss(stop_gradient(w * 3.0, name="sg") + v, name="loss"))
    window.document._begin(diagram, None)
    settle(window, qtbot)
    counter = Counter()

    def counted(owner, method, name):
        original = getattr(owner, method)

        def count(self, *given):
            counter[name] += 1
            return original(self, *given)

        monkeypatch.setattr(owner, method, count)

    counted(Inspector, "_refresh", "inspector")
    counted(Why, "_rebuild", "why")
    require = ActionStates._require

    def required(self, met, otherwise, *names):
        counter["actions"] += "delete" in names
        require(self, met, otherwise, *names)

    monkeypatch.setattr(ActionStates, "_require", required)
    window.canvas.selectionChanged.connect(lambda chosen: counter.update(["signal"]))
    return counter


def settle(window, qtbot):
    worker = window.explanation.worker
    qtbot.waitUntil(lambda: not window.evaluator.busy and not worker.is_pending("why"))


def start(window, qtbot, counts, selection):
    """Begin with this selected, and with counts of zero."""
    window.canvas.set_selection(selection)
    settle(window, qtbot)
    counts.clear()


def empty(canvas):
    return canvas.rect().bottomRight() - QPoint(4, 4)


def test_a_click_on_a_block_in_place_of_a_wire(window, qtbot, counts):
    start(window, qtbot, counts, Selection(wire="sg.x"))
    click(window.canvas, window.canvas.block_rect("w").center())
    settle(window, qtbot)
    assert window.canvas.view.selection == Selection(frozenset({"w"}))
    assert counts == ONCE


def test_a_click_on_a_wire_in_place_of_a_block_and_another_wire(window, qtbot, counts):
    start(window, qtbot, counts, Selection(frozenset({"w"}), wire="sg.x"))
    click(window.canvas, window.canvas.wire_position("add1.b"))
    settle(window, qtbot)
    assert window.canvas.view.selection == Selection(wire="add1.b")
    assert counts == ONCE


def test_a_click_on_the_empty_canvas(window, qtbot, counts):
    start(window, qtbot, counts, Selection(frozenset({"w"}), wire="sg.x"))
    click(window.canvas, empty(window.canvas))
    settle(window, qtbot)
    assert window.canvas.view.selection == Selection()
    assert counts == ONCE


def test_a_click_with_ctrl_adds_a_block_and_drops_the_wire(window, qtbot, counts):
    start(window, qtbot, counts, Selection(frozenset({"w"}), wire="sg.x"))
    click(window.canvas, window.canvas.block_rect("v").center(), CTRL)
    assert window.canvas.view.selection == Selection(frozenset({"w", "v"}))
    assert counts == ONCE


def test_a_rubber_band_for_each_block_it_reaches_and_keeps_the_wire(window, qtbot, counts):
    start(window, qtbot, counts, Selection(wire="sg.x"))
    chosen = []
    window.canvas.selectionChanged.connect(chosen.append)
    rect = window.canvas.block_rect("w")
    drag(window.canvas, rect.topLeft() - QPoint(12, 12), rect.center())
    assert chosen == [Selection(frozenset({"w"}), wire="sg.x")]
    assert counts == {"signal": 1, "inspector": 1, "actions": 1}


def test_a_step_of_the_keyboard_from_wire_to_block(window, qtbot, counts):
    start(window, qtbot, counts, Selection(wire="sg.x"))
    qtbot.keyClick(window.canvas, Qt.Key.Key_Left, CTRL)
    counts.clear()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Left, CTRL)
    assert counts == {"signal": 1, "why": 1, "actions": 1}


def test_escape_with_a_block_and_a_wire(window, qtbot, counts):
    start(window, qtbot, counts, Selection(frozenset({"w"}), wire="sg.x"))
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
    assert window.canvas.view.selection == Selection()
    assert counts == ONCE


def test_an_undo_that_changes_one_wire(window, qtbot, counts):
    window.canvas.set_selection(Selection(wire="sg.x"))
    window.canvas.delete_selection()
    start(window, qtbot, counts, Selection(frozenset({"w"}), wire="add1.b"))
    window.actions_by_name["undo"].trigger()
    settle(window, qtbot)
    assert window.canvas.view.selection == Selection(wire="sg.x")
    assert counts["signal"] == counts["actions"] == 1


def test_what_is_selected_already_changes_nothing(window, qtbot, counts):
    start(window, qtbot, counts, Selection(frozenset({"w"})))
    click(window.canvas, window.canvas.block_rect("w").center())
    assert not counts
