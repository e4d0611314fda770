"""Lanes of several losses beside each other: which are drawn, where, and what they say."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import LANE_MARGIN, Scene
from gradwire.app.canvas.scene.hits import WIRE_HIT_DISTANCE
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.lanes import CODES, STATE_OF
from gradwire.app.canvas.state.tooltips import describe, wire_tip
from gradwire.app.evaluation.badges import Badges
from gradwire.app.evaluation.result import MAX_SIDE_BY_SIDE, EvaluationResult
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram.layout.measures import LANE_PITCH as PITCH
from gradwire.runtime.diagram.paths import PortName
from gradwire.runtime.flow import State
from tests.app.canvas.pages import block, diagram
from tests.app.mouse import LEFT

S = State


def shown_diagram():
    blocks = {"w": block("Variable", value=1.0), "t": block("Tanh"), "u": block("Tanh")}
    return diagram(
        blocks, {"t.x": "w.out", "u.x": "t.out"}, {"w": (0, 0), "t": (400, 0), "u": (800, 0)}
    )


def apart(*states, **more):
    """A result of one loss each, by the state of ``t.x``; ``u.x`` carries for all."""
    shown = shown_diagram()
    results = tuple(
        EvaluationResult(
            shown, states={"t.x": state, "u.x": S.CARRIES}, norms={"t.x": 1.0},
            loss=f"L{i}.out", **more,
        )
        for i, state in enumerate(states, start=1)
    )  # fmt: skip
    return EvaluationResult(shown, states={"t.x": states[0]}, apart=results)


def lanes_beside(*states):
    result = apart(*states)
    annotations = resolve(Scene(result.diagram, "main"), result)
    return annotations, annotations.scene.wire_index["t.x"]


def drawn(*states):
    annotations, wire = lanes_beside(*states)
    return [STATE_OF[int(lanes.drawn[wire])] for lanes in annotations.lanes]


class TestWhatIsDrawn:
    def test_lanes_are_counted_where_there_are_several(self):
        target, after = PortName("t", "x"), PortName("u", "x")
        for states, expected in (
            ((S.CARRIES, S.STOPPED, S.ZERO), {target: 3, after: 3}),
            ((S.CARRIES, S.OFF_ROUTE), {after: 2}),
            ((S.CARRIES,), {}),
        ):
            assert lanes_beside(*states)[0].lane_counts() == expected

    def test_each_loss_has_its_lane(self):
        assert drawn(S.CARRIES, S.STOPPED) == [S.CARRIES, S.STOPPED]
        assert drawn(S.ZERO, S.VANISHING, S.EXPLODING, S.NO_RULE) == [
            S.ZERO,
            S.VANISHING,
            S.EXPLODING,
            S.NO_RULE,
        ]

    def test_a_loss_without_a_path_has_none_beside_the_others(self):
        assert drawn(S.OFF_ROUTE, S.CARRIES) == [S.NOTHING_TO_TRAIN, S.CARRIES]

    @pytest.mark.parametrize("state", [S.OFF_ROUTE, S.FROZEN, S.UNKNOWN])
    def test_what_all_say_is_said_once(self, state):
        assert drawn(state, state, state) == [state, *[S.NOTHING_TO_TRAIN] * 2]

    def test_without_apart_there_is_one(self):
        shown = shown_diagram()
        annotations = resolve(
            Scene(shown, "main"), EvaluationResult(shown, states={"t.x": S.OFF_ROUTE})
        )
        assert annotations.lanes == (annotations.total,)
        assert (annotations.total.drawn == annotations.total.codes).all()

    def test_there_is_room_for_the_outermost_lane(self):
        assert GAP + PITCH * (MAX_SIDE_BY_SIDE - 1) + WIRE_HIT_DISTANCE < LANE_MARGIN


class TestOnTheCanvas:
    def show(self, canvas, result):
        canvas.set_diagram(result.diagram)
        canvas.set_result(result)
        canvas.zoom_to_fit()
        return canvas

    def ink(self, canvas, place):
        """The colours between w and t on the lane at ``place``."""
        image, y = canvas.grab().toImage(), canvas.wire_position("t.x").y()
        y += round((GAP + PITCH * place) * canvas.view.camera.unit)
        left, right = canvas.port_position("w", "out").x(), canvas.port_position("t", "x").x()
        return {image.pixelColor(x, y).rgb() for x in range(left + 20, right - 20)}

    def test_the_lanes_lie_beside_each_other_in_order(self, canvas):
        canvas = self.show(canvas, apart(S.CARRIES, S.NO_RULE))
        assert LIGHT.lane(State.CARRIES).rgb() in self.ink(canvas, 0)
        ground = {QColor(LIGHT.canvas).rgb()}
        assert len(self.ink(canvas, 1) - ground) > 1
        assert LIGHT.lane(State.CARRIES).rgb() not in self.ink(canvas, 1)
        assert self.ink(canvas, 2) == ground

    def test_they_lie_close_to_their_wire_without_gaps(self, canvas):
        canvas = self.show(canvas, apart(S.OFF_ROUTE, S.CARRIES, S.OFF_ROUTE, S.STOPPED))
        places = [lanes.positions[canvas.view.scene.wire_index["t.x"]] for lanes in
                  canvas.view.annotations.lanes]  # fmt: skip
        assert (places[1], places[3]) == (0, 1)
        assert LIGHT.lane(State.CARRIES, 1).rgb() in self.ink(canvas, 0)
        assert self.ink(canvas, 2) == {QColor(LIGHT.canvas).rgb()}

    def test_each_has_the_colour_of_its_loss(self, canvas):
        canvas = self.show(canvas, apart(S.CARRIES, S.CARRIES, S.CARRIES, S.CARRIES))
        colours = [LIGHT.lane(State.CARRIES, loss).rgb() for loss in range(4)]
        for place in range(4):
            assert set(colours) & self.ink(canvas, place) == {colours[place]}

    def test_each_bears_its_number_even_in_grey(self, canvas):
        one, two = apart(S.CARRIES, S.OFF_ROUTE), apart(S.OFF_ROUTE, S.CARRIES)
        first = self.show(canvas, one).grab().toImage()
        second = self.show(canvas, two).grab().toImage()
        assert first != second

    def test_the_outer_lane_can_be_clicked(self, canvas, qtbot):
        canvas = self.show(canvas, apart(S.CARRIES, S.CARRIES, S.CARRIES, S.CARRIES))
        away = round((GAP + PITCH * 3) * canvas.view.camera.unit)
        qtbot.mouseClick(canvas, LEFT, pos=canvas.wire_position("t.x") + QPoint(0, away))
        assert canvas.selected_wire() == "t.x"

    def test_a_single_lane_leaves_that_place_free(self, canvas, qtbot):
        shown = shown_diagram()
        canvas = self.show(canvas, EvaluationResult(shown, states={"t.x": S.CARRIES}))
        away = round((GAP + PITCH * 3) * canvas.view.camera.unit)
        qtbot.mouseClick(canvas, LEFT, pos=canvas.wire_position("t.x") + QPoint(0, away))
        assert canvas.selected_wire() is None

    def test_they_are_told_to_a_screen_reader_by_name(self):
        annotations, _ = lanes_beside(S.CARRIES, S.STOPPED)
        said = describe(annotations, Focus(FocusKind.WIRE, "t.x"))
        assert said == "wire w to t.x, L1: carries gradient, L2: stopped"


def test_a_wire_that_came_since_the_result_has_nothing_to_say():
    """As the run's own verdict does, this one refuses keys that it does not know."""
    shown = shown_diagram()
    annotations = resolve(
        Scene(shown, "main"), EvaluationResult(shown, {}, {}, {}, verdict={}.__getitem__)
    )
    wire = annotations.scene.wire_index["t.x"]
    assert wire_tip(annotations, wire) == "w.out → t.x"
    assert annotations.total.cutters(wire) == ()
    assert annotations.total.is_cut(wire) is False


class TestLeaves:
    def test_how_many_carry_stands_beside_the_lane(self):
        shown = shown_diagram()
        badges = Badges(leaves={None: {"t.x": (2, 4)}, "L1.out": {"t.x": (1, 4)}})
        whole = EvaluationResult(
            shown, states={"t.x": S.CARRIES}, norms={"t.x": 1.0}, badges=badges
        )
        annotations = resolve(Scene(shown, "main"), whole)
        wire, other = (annotations.scene.wire_index[key] for key in ("t.x", "u.x"))
        assert annotations.total.label(wire) == "2/4"
        assert annotations.total.amounts(wire) == ("rms 1",)
        assert annotations.total.leaves(other) is None
        assert "2 of 4 leaves carry" in describe(annotations, Focus(FocusKind.WIRE, "t.x"))

    def test_they_are_counted_for_each_loss(self):
        badges = Badges(leaves={"L1.out": {"t.x": (1, 4)}, "L2.out": {"t.x": (3, 4)}})
        result = apart(S.CARRIES, S.CARRIES, badges=badges)
        annotations = resolve(Scene(result.diagram, "main"), result)
        wire = annotations.scene.wire_index["t.x"]
        assert [lanes.leaves(wire) for lanes in annotations.lanes] == [(1, 4), (3, 4)]


def test_codes_of_no_wires():
    empty = diagram({"w": block("Variable", value=1.0)})
    result = EvaluationResult(
        empty,
        apart=(EvaluationResult(empty, loss="L1.out"), EvaluationResult(empty, loss="L2.out")),
    )
    annotations = resolve(Scene(empty, "main"), result)
    assert all(np.array_equal(lanes.drawn, []) for lanes in annotations.lanes)
    assert CODES[S.CARRIES] not in annotations.total.codes
