"""States with numbers, per loss: what the result knows and how the window switches."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.paint.legend import legend_content
from gradwire.app.canvas.state.lanes import CODES, NO_RESULT, STATE_OF
from gradwire.app.evaluation.evaluator import MAX_LOSSES, evaluate
from gradwire.app.evaluation.result import MAX_SIDE_BY_SIDE
from gradwire.app.panels.tables.losses import APART
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.blocks.registry import registry
from gradwire.runtime.build import build, loss, relu, sqrt, stop_gradient, variable
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    Diagram,
    PortName,
    SetParameters,
    StyleBlocks,
    apply,
    group,
    save,
)
from gradwire.runtime.diagram.model import Style
from gradwire.runtime.flow import State


def numeric() -> Diagram:
    """relu lets 5 of 8 elements through; the square root of 0 has no finite slope."""
    x = variable("x", [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 4.0, 5.0])
    y = variable("y", [0.0])
    z = variable("z", [1.0])
    parts = [loss(relu(x, name="gate"), name="L1"), loss(sqrt(y, name="root") * 0.0, name="L2")]
    return build(*parts, loss(z * 1e-9, name="L3"), title="Numbers")


def two() -> Diagram:
    """L1 reads w through a stop, L2 without, twice."""
    w = variable("w", [3.0])
    h = w * 2.0
    return build(loss(stop_gradient(h, name="sg") + w, name="L1"), loss(h * 4.0, name="L2"))


@pytest.fixture
def window(qtbot, window, tmp_path):
    path = tmp_path / "two.gradwire.json"
    save(two(), path)
    assert window.open_path(path)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


def colours_of(image):
    """The names of the opaque colours of a picture."""
    places = ((x, y) for x in range(image.width()) for y in range(image.height()))
    found = (image.pixelColor(*place) for place in places)
    return {colour.name() for colour in found if colour.alpha() == 255}


def swatch_of(window, loss):
    switch = window.losses.switch
    row = [port for _, port in window.losses.choices()].index(loss)
    return switch.itemIcon(row).pixmap(switch.iconSize()).toImage()


def lane(window, key):
    view = window.canvas.view
    return STATE_OF[int(view.annotations.total.codes[view.scene.wire_index[key]])]


class TestResult:
    def test_states_and_sentences_come_from_the_numbers(self):
        result = evaluate(numeric())
        assert result.states["gate.x"] is State.PARTIAL
        assert result.zeros["gate.x"] == 3 / 8
        assert "3 of 8" in result.verdict("gate.x").sentence
        assert result.states["root.x"] is State.NONFINITE

    def test_about_one_loss(self):
        whole = evaluate(two())
        one, other = (whole.of(name) for name in whole.losses)
        assert whole.of(None) is whole
        assert whole.of("gone.out") is whole
        assert (one.loss, other.loss) == ("L1.out", "L2.out")
        assert one.states["sg.x"] is State.STOPPED
        assert other.states["sg.x"] is State.OFF_ROUTE
        assert one.verdict("sg.x").loss == "L1.out"
        gradients = [result.gradients["w"].item() for result in (whole, one, other)]
        assert gradients == [9.0, 1.0, 8.0]

    def test_of_many_losses_only_the_sum_is_run(self):
        w = variable("w", [1.0])
        heads = [loss(w * float(i), name=f"L{i}") for i in range(MAX_LOSSES + 1)]
        result = evaluate(build(*heads))
        assert result.gradients["w"].item() == sum(range(MAX_LOSSES + 1))
        about = result.of("L3.out")
        assert about.states["L3.x"] is State.CARRIES
        assert about.contributions == {}

    def test_without_a_loss_the_values_are_there(self):
        result = evaluate(build(relu(variable("x", [[1.0, -1.0]]), name="gate")))
        assert result.error is None
        assert np.array_equal(result.values["gate.out"], [[1.0, 0.0]])


class TestSwitch:
    def test_lanes_and_the_panel_follow_the_switch(self, window, qtbot):
        switch = window.losses.switch
        assert switch.isVisible()
        words = [words for words, _ in window.losses.choices()]
        assert words == ["All losses", "All, side by side", "L1", "L2"]
        assert lane(window, "sg.x") is State.STOPPED
        switch.setFocus()
        for _ in range(3):
            qtbot.keyClick(switch, Qt.Key.Key_Down)
        assert window.losses.chosen == "L2.out"
        assert lane(window, "sg.x") is State.OFF_ROUTE

    def test_the_menu_offers_the_same(self, window):
        menu = window.menus.by_name["losses"]
        menu.aboutToShow.emit()
        assert [a.text() for a in menu.actions() if a.isChecked()] == ["All losses"]
        menu.actions()[2].trigger()
        assert window.losses.chosen == "L1.out"
        menu.actions()[1].trigger()
        assert window.losses.apart
        assert window.losses.label.text().startswith("1 ")  # as its lanes are numbered
        assert window.losses.chosen is None

    def test_each_loss_has_a_piece_of_its_lane_beside_its_name(self, window):
        """In the colour, with the arrowheads and the number that its lane has beside others."""
        switch = window.losses.switch
        swatches = [switch.itemIcon(row) for row in range(switch.count())]
        assert [swatch.isNull() for swatch in swatches] == [True, True, False, False]
        assert switch.iconSize().width() > 2 * switch.iconSize().height()
        for number, swatch in enumerate(swatches[2:]):
            colours = colours_of(swatch.pixmap(switch.iconSize()).toImage())
            assert LIGHT.losses[number] in colours
            assert LIGHT.losses[1 - number] not in colours
        menu = window.menus.by_name["losses"]
        menu.aboutToShow.emit()
        assert [a.icon().isNull() for a in menu.actions()] == [True, True, False, False]
        drawn = [action.icon().pixmap(16, 16).toImage() for action in menu.actions()[2:]]
        assert [LIGHT.losses[i] in colours_of(drawn[i]) for i in (0, 1)] == [True, True]

    def test_another_result_leaves_the_swatches(self, window, qtbot):
        before, icon = window.evaluator.result, window.losses.switch.itemIcon(2)
        window.evaluator.refresh(window.document.diagram)
        qtbot.waitUntil(lambda: window.evaluator.result is not before)
        assert window.losses.switch.itemIcon(2).cacheKey() == icon.cacheKey()

    @pytest.mark.night
    def test_swatches_follow_the_theme_and_the_colour_of_the_loss(self, window, qtbot):
        before = swatch_of(window, "L2.out")
        window.actions_by_name["theme_dark"].trigger()
        dark = swatch_of(window, "L2.out")
        assert DARK.losses[1] in colours_of(dark) - colours_of(before)
        window.edit.change(StyleBlocks({"L2": Style("green")}))
        qtbot.waitUntil(lambda: swatch_of(window, "L2.out") != dark)

    def test_the_choice_outlives_an_edit_and_not_its_loss(self, window, qtbot):
        window.losses.choose("L2.out")
        window.edit.change(SetParameters("w", {"value": [4.0]}))
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.losses.chosen == "L2.out"
        window.canvas.select({"L2"})
        window.actions_by_name["delete"].trigger()
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        assert window.losses.chosen is None
        assert not window.losses.switch.isVisible()


class TestSideBySide:
    def test_each_loss_has_a_lane_and_the_legend_names_them(self, window):
        window.losses.choose(APART)
        annotations = window.canvas.view.annotations
        wire = annotations.scene.wire_index["sg.x"]
        assert [STATE_OF[int(lanes.codes[wire])] for lanes in annotations.lanes] == [
            State.STOPPED, State.OFF_ROUTE
        ]  # fmt: skip
        assert legend_content(annotations).losses == ("L1", "L2")

    def test_the_panel_answers_for_each(self, window, qtbot):
        window.losses.choose(APART)
        qtbot.mouseClick(
            window.canvas, Qt.MouseButton.LeftButton, pos=window.canvas.wire_position("mul1.a")
        )
        said = window.why.text()
        assert "L1" in said
        assert "L2" in said

    def test_gradients_are_those_of_the_sum(self, window):
        window.losses.choose(APART)
        assert window.losses.chosen is None
        assert window.canvas.view.annotations.page.result.gradients["w"].item() == 9.0

    def test_a_trial_keeps_the_lanes_apart(self, window, qtbot):
        window.losses.choose(APART)
        window.canvas.stopTried.emit("sg")
        worker = window.trial.worker
        qtbot.waitUntil(lambda: not worker.is_pending("trial"))
        annotations = window.canvas.view.annotations
        wire = annotations.scene.wire_index["sg.x"]
        names = [STATE_OF[int(lanes.codes[wire])] for lanes in annotations.lanes]
        assert names == [State.CARRIES, State.OFF_ROUTE]

    def test_of_many_losses_the_first_are_shown(self):
        w = variable("w", [1.0])
        heads = [loss(w * float(i + 1), name=f"L{i}") for i in range(MAX_SIDE_BY_SIDE + 2)]
        result = evaluate(build(*heads)).side_by_side()
        assert [about.loss for about in result.apart] == ["L0.out", "L1.out", "L2.out", "L3.out"]

    def test_of_too_many_to_run_each_no_lanes_are_offered(self, opened):
        w = variable("w", [1.0])
        heads = [loss(w * float(i + 1), name=f"L{i}") for i in range(MAX_LOSSES + 1)]
        window = opened(build(*heads))
        assert [port for _, port in window.losses.choices()][:2] == [None, "L0.out"]
        assert window.evaluator.result.side_by_side().apart == ()

    def test_those_a_wire_has_no_path_to_are_said_in_one_line(self, window):
        window.canvas.select_wire("L1.x")
        assert "No path to L2." in window.why.text()

    def test_one_loss_needs_none(self):
        assert evaluate(build(loss(variable("w", [1.0])))).side_by_side().apart == ()


class TestDuringATrial:
    def test_the_switch_shows_the_trial_for_the_other_loss(self, window, qtbot):
        window.canvas.stopTried.emit("sg")
        qtbot.waitUntil(lambda: not window.trial.worker.is_pending("trial"))
        assert lane(window, "sg.x") is State.CARRIES
        assert dict(window.canvas.trial_marks().changes) == {"w": "9 → 11 (+22 %)"}
        window.losses.choose("L2.out")
        assert lane(window, "sg.x") is State.OFF_ROUTE
        assert window.trial.active
        assert dict(window.canvas.trial_marks().changes) == {}
        window.losses.choose("L1.out")
        assert lane(window, "sg.x") is State.CARRIES
        assert dict(window.canvas.trial_marks().changes) == {"w": "1 → 3 (+200 %)"}
        qtbot.keyClick(window.canvas, Qt.Key.Key_Escape)
        assert not window.trial.active
        assert lane(window, "sg.x") is State.STOPPED
        assert window.losses.chosen == "L1.out"


def test_a_flood_is_drawn_as_one_in_the_window(qtbot, opened):
    x = variable("x", [1.0])
    big, small = (loss(x * size, name=name) for size, name in ((3e5, "big"), (1.0, "small")))
    window = opened(build(big, small))
    at = window.canvas.wire_position("mul1.a")
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton, pos=at)
    assert lane(window, "mul1.a") is State.EXPLODING
    annotations = window.canvas.view.annotations
    assert annotations.total.label(annotations.scene.wire_index["mul1.a"]) == "▲ 10⁵"
    assert "Grows ×3e5 over 1 block; worst: " in window.why.text()


class TestWithoutALoss:
    """Wires are calm until there is a loss; one hint says why they tell nothing."""

    @pytest.fixture
    def window(self, qtbot, window):
        chain = build(relu(variable("w", [3.0]) * 2.0, name="gate") * 3.0)
        window.document._begin(apply(chain, group(chain, "main", ["gate"])).after, None)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        return window

    def wait(self, window, qtbot):
        qtbot.waitUntil(lambda: not window.evaluator.busy)

    def test_wires_are_plain_and_pages_have_no_mark(self, window):
        annotations = window.canvas.view.annotations
        assert set(annotations.total.codes.tolist()) == {NO_RESULT}
        assert annotations.page.worst_inside.get("group1") is None

    def test_status_bar_and_panel_say_so_once_each(self, window):
        assert window.losses.label.text() == "No loss, so no gradient"
        assert window.why.text().count("no loss yet") == 1

    def test_a_loss_brings_the_lanes(self, window, qtbot):
        window.edit.change(AddBlock("loss", registry().get("Loss")()))
        window.edit.change(Connect(PortName("mul2", "out"), PortName("loss", "x")))
        self.wait(window, qtbot)
        assert lane(window, "loss.x") is State.CARRIES
        assert "No loss" not in window.losses.label.text()
        qtbot.waitUntil(lambda: "no loss" not in window.why.text())

    def test_a_loss_behind_an_error_leaves_the_hatch(self, window, qtbot):
        window.edit.change(AddBlock("loss", registry().get("Loss")()))
        self.wait(window, qtbot)
        assert set(window.canvas.view.annotations.total.codes.tolist()) == {CODES[State.UNKNOWN]}

    def test_an_empty_diagram_needs_no_hint(self, window, qtbot):
        window.document.new()
        self.wait(window, qtbot)
        assert window.losses.label.text() == ""
