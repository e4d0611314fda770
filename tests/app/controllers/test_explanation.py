"""Why, on the canvas and in the panel: a click or W shows the route, Esc leaves it."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint.frame_cache import FrameCache
from gradwire.app.canvas.state.marks import route_of
from gradwire.app.panels.why.why import Repair, sign
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.build import argmax, build, loss, relu, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow import Cutter, ObservedFlow, State, Verdict
from tests.app.canvas.pages import block as made
from tests.app.canvas.pages import page
from tests.app.mouse import LEFT, click_block, drop_block
from tests.app.shell.test_main_window import nested

W = Qt.Key.Key_W


def stopped():
    """loss(sg(3·relu(w)) + v): w gets no gradient, and v does."""
    w, v = variable("w", [2.0]), variable("v", [1.0])
    body = relu(w, name="gate") * 3.0
    return build(loss(stop_gradient(body, name="sg") + v, name="loss"), title="Stopped")


@pytest.fixture
def window(opened):
    return opened(stopped())


def click_wire(qtbot, window, key):
    qtbot.mouseClick(window.canvas, LEFT, pos=window.canvas.wire_position(key))


def repair(qtbot, window):
    """The offer to repair, in view and laid out: before that its buttons have no height."""

    def shown():
        offers = [found for found in window.why.findChildren(Repair) if found.isVisible()]
        return [
            found
            for found in offers
            if found.try_button.height() >= found.try_button.minimumSizeHint().height()
        ]

    qtbot.waitUntil(lambda: bool(shown()))
    return shown()[0]


def tried(qtbot, window):
    qtbot.waitUntil(lambda: not window.trial.worker.is_pending("trial"))


def answered(qtbot, window):
    qtbot.waitUntil(lambda: not window.explanation.worker.is_pending("why"))
    return window.why.text()


class TestRoute:
    def test_a_click_shows_the_route_numbered_from_the_loss(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        route = window.canvas.route()
        numbers = dict(route.numbers)
        assert numbers.pop("loss") == "1"
        assert [int(numbers[name]) for name in ("add1", "sg", "mul1", "gate")] == [2, 3, 4, 5]
        assert route.cutters == {"sg.x": "⊣"}
        assert {"loss.x", "add1.a", "sg.x", "gate.x"} <= set(route.wires)
        assert "add1.b" not in route.wires

    def test_all_others_are_dimmed_while_it_is_shown(self, window, qtbot):
        at = window.canvas.block_rect("v").topLeft() + QPoint(5, 5)
        face = window.canvas.grab().toImage().pixelColor(at)
        click_wire(qtbot, window, "gate.x")
        dimmed = window.canvas.grab().toImage().pixelColor(at)
        assert face.lightness() < dimmed.lightness() <= QColor(LIGHT.canvas).lightness()

    def test_signs_are_painted_on_the_route_alone(self, window, qtbot, monkeypatch):
        painted = []
        monkeypatch.setattr(
            "gradwire.app.canvas.paint.wires.labels.place_lane_labels",
            lambda layout, view, wires, **_: painted.append(len(wires)) is None,
        )
        click_wire(qtbot, window, "add1.b")
        window.canvas.grab()
        painted.clear()
        window.canvas.grab()
        assert painted == [len(window.canvas.route().parts(window.canvas.view.scene)[0])]
        qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
        painter = window.canvas.context.painter
        painter.frame_cache = FrameCache()  # which has placed those of the whole page before
        painted.clear()
        window.canvas.grab()
        assert painted == [len(window.canvas.view.scene.wire_keys)]

    def test_a_new_block_leaves_the_route(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        drop_block(window, "Relu", QPoint(200, 300))
        assert window.canvas.route() is None
        assert window.canvas.selected_wire() == "gate.x"

    def test_escape_leaves_the_route_first_and_then_the_wire(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
        assert window.canvas.route() is None
        assert window.canvas.selected_wire() == "gate.x"
        qtbot.keyClick(window.canvas, W)
        assert window.canvas.route().wire == "gate.x"
        for _ in range(2):
            qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
        assert window.canvas.selected_wire() is None

    def test_w_without_a_wire_does_nothing(self, window, qtbot):
        qtbot.keyClick(window.canvas, W)
        assert window.canvas.route() is None

    def test_another_wire_has_its_own_route(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        click_wire(qtbot, window, "add1.b")
        assert window.canvas.route().wire == "add1.b"
        assert window.canvas.route().cutters == {}

    def test_a_wire_that_goes_takes_its_route_along(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        window.canvas.select({"gate"})
        window.canvas.delete_selection()
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.canvas.route() is None

    def test_a_verdict_is_found_once_for_each_result(self, window, qtbot, monkeypatch):
        asked, verdict = [], ObservedFlow.variable

        def variable_of(flow, name, loss=None):
            asked.append((name, threading.current_thread()))
            return verdict(flow, name, loss)

        monkeypatch.setattr(ObservedFlow, "variable", variable_of)
        click_block(qtbot, window, "v")
        window.document.apply(SetParameters("v", {"value": [3.0]}))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert asked.count(("v", threading.main_thread())) == 1

    def test_w_on_a_variable_shows_its_route(self, window, qtbot):
        click_block(qtbot, window, "w")
        qtbot.keyClick(window.canvas, W)
        route = window.canvas.route()
        assert int(route.numbers["w"]) == 6
        assert route.cutters == {"sg.x": "⊣"}
        assert window.canvas.selected_wire() == "gate.x"
        assert window.canvas.selection() == {"w"}

    def test_the_route_of_a_variable_stays_over_a_new_reading(self, window, qtbot):
        click_block(qtbot, window, "w")
        qtbot.keyClick(window.canvas, W)
        window.edit.change(SetParameters("w", {"value": [5.0]}))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert "w" in window.canvas.route().numbers
        click_wire(qtbot, window, "add1.b")
        assert "w" not in window.canvas.route().numbers

    def test_w_on_another_block_shows_nothing(self, window, qtbot):
        click_block(qtbot, window, "gate")
        qtbot.keyClick(window.canvas, W)
        assert window.canvas.route() is None

    def test_inside_a_page_the_numbers_go_on(self, opened, qtbot):
        window = opened(nested())
        window.navigation.enter("enc")
        click_wire(qtbot, window, "stop.x")
        route = window.canvas.route()
        assert route.cutters == {"stop.x": "⊣"}
        assert int(route.numbers["stop"]) > 1

    def test_a_page_with_several_steps_says_from_where_to_where(self):
        here = page({"enc": made("Tanh"), "loss": made("Loss")}, {"loss.x": "enc.out"}, {})
        cutter = Cutter(InstancePath("enc/argmax"), "x", "no rule")
        verdict = Verdict(
            "enc.x", "loss.out", State.NO_RULE, "", (cutter,), ("loss", "enc/y", "enc/argmax")
        )
        route = route_of(verdict, "enc.x", here)
        assert route.numbers == {"loss": "1", "enc": "2–3"}
        assert route.cutters == {"enc.x": "∅"}
        assert route.wires == ("loss.x", "enc.x")


class TestPanel:
    def test_the_fix_comes_with_the_gradient_it_would_give(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        said = answered(qtbot, window)
        assert "How to let the gradient through" in said
        assert "3" in said
        assert 'href="sg"' in said

    def test_the_repair_can_be_tried_and_left(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        answered(qtbot, window)
        before = window.document.diagram
        qtbot.mouseClick(repair(qtbot, window).try_button, LEFT)
        tried(qtbot, window)
        assert dict(window.canvas.trial_marks().changes) == {"w": "None → 3"}
        assert "sg open" in window.trial.bar.text()
        assert "Carries gradient" in window.why.text()
        assert window.document.diagram is before
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        answered(qtbot, window)
        qtbot.mouseClick(repair(qtbot, window).try_button, LEFT)
        assert not window.trial.active
        assert window.document.diagram is before

    def test_the_repair_is_one_undo_and_gives_the_number_it_promised(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        assert ": 3." in answered(qtbot, window)
        before = window.document.diagram
        qtbot.mouseClick(repair(qtbot, window).apply_button, LEFT)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.evaluator.result.gradients["w"].item() == 3.0
        assert window.document.undo_stack.count() == 1
        window.actions_by_name["undo"].trigger()
        assert window.document.diagram is before

    def test_a_trial_of_the_repair_is_applied_by_the_bar(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        answered(qtbot, window)
        qtbot.mouseClick(repair(qtbot, window).try_button, LEFT)
        tried(qtbot, window)
        qtbot.mouseClick(window.trial.bar.apply_button, LEFT)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.evaluator.result.gradients["w"].item() == 3.0
        assert window.document.undo_stack.count() == 1

    def test_what_a_block_cannot_repair_is_only_told(self, opened, qtbot):
        x = variable("x", [[1.0, 2.0]])
        window = opened(build(loss(argmax(x, name="pick") * 1.0 + 0.0 * x, name="loss")))
        click_wire(qtbot, window, "pick.x")
        assert "A StraightThrough block cannot bypass" in answered(qtbot, window)
        found = repair(qtbot, window)
        assert not found.try_button.isVisible()
        assert not found.apply_button.isVisible()

    def test_a_wire_that_carries_has_no_repair(self, window, qtbot):
        click_wire(qtbot, window, "add1.b")
        answered(qtbot, window)
        assert not [r for r in window.why.findChildren(Repair) if r.isVisible()]

    def test_other_systems_and_their_optimisers(self, window, qtbot):
        click_wire(qtbot, window, "gate.x")
        said = answered(qtbot, window)
        for system, word in (("PyTorch", "None"), ("JAX", "zeros"), ("TensorFlow", "None")):
            assert f"{system}&nbsp;&nbsp;</td><td><b>{word}</b>" in said
        assert "AdamW: stays unchanged" in said

    def test_the_ledger_of_the_port_adds_up(self, opened, qtbot):
        w = variable("w", [2.0])
        window = opened(build(loss(w * 3.0 + relu(w, name="gate"), name="loss")))
        click_wire(qtbot, window, "gate.x")
        said = answered(qtbot, window)
        assert "Contributions at w.out" in said
        assert "+75 %" in said
        assert "+25 %" in said
        assert "<b>[4]</b>" in said

    def test_a_click_on_a_port_shows_its_ledger(self, opened, qtbot):
        w = variable("w", [2.0])
        window = opened(build(loss(w * 3.0 + relu(w, name="gate"), name="loss")))
        for block_name, port in (("w", "out"), ("gate", "x")):
            window.canvas.select_wire(None)
            at = window.canvas.port_position(block_name, port)
            qtbot.mouseClick(window.canvas, LEFT, pos=at)
            assert "Contributions at w.out" in answered(qtbot, window)
        assert window.canvas.selected_wire() == "gate.x"

    def test_a_row_of_the_ledger_leads_to_its_wire(self, opened, qtbot):
        w = variable("w", [2.0])
        window = opened(build(loss(w * 3.0 + relu(w, name="gate"), name="loss")))
        click_wire(qtbot, window, "gate.x")
        answered(qtbot, window)
        window.why.blockRequested.emit("wire:mul1.a")
        assert window.canvas.selected_wire() == "mul1.a"
        window.why.blockRequested.emit("gate")
        assert window.canvas.selection() == {"gate"}

    def test_without_a_derivative_the_sign_is_another(self, opened, qtbot):
        x = variable("x", [[1.0, 2.0]])
        window = opened(build(loss(argmax(x, name="pick") * 1.0 + 0.0 * x, name="loss")))
        click_wire(qtbot, window, "pick.x")
        assert set(window.canvas.route().cutters.values()) == {"∅"}


def test_signs():
    found = [sign(np.array(x)) for x in ([1.0, 2.0], [-1.0], [1.0, -1.0], [0.0], [np.nan])]
    assert found == ["+", "−", "±", "0", "NaN"]


def test_the_table_of_variables_tells_what_optimisers_do(window):
    table = window.variables.table
    rows = {table.names[i]: table.index(i, 3) for i in range(table.rowCount())}
    tips = {name: rows[name].data(Qt.ItemDataRole.ToolTipRole) for name in ("w", "v")}
    assert ">None — sg stops every route to loss.\n" in tips["w"]
    assert "AdamW: stays unchanged" in tips["w"]
    assert "SGD: follows its gradient; with weight decay: follows" in tips["v"]
