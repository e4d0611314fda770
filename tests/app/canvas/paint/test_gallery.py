"""Every state and badge at once: each is there, and each can be told without its colour."""

from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.app.canvas.state.tooltips import badge_sentences, describe
from gradwire.app.canvas.view import CanvasView
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.why.why import Why
from gradwire.app.services import theme
from gradwire.runtime.flow import State
from gradwire.runtime.flow.badges import BadgeKind
from tests.app.gallery import states

SAMPLES = {
    State.CARRIES: "tanh.x",
    State.PARTIAL: "gate.x",
    State.ZERO: "off.x",
    State.VANISHING: "tiny.a",
    State.EXPLODING: "huge.a",
    State.NONFINITE: "root.x",
    State.STOPPED: "cosine.x",
    State.NO_RULE: "argmax.x",
    State.OFF_ROUTE: "off_route.x",
    State.FROZEN: "fixed.x",
    State.NOTHING_TO_TRAIN: "known.x",
    State.UNKNOWN: "misfit.a",
}
"""A short straight wire for each state."""


@pytest.fixture(scope="module")
def result():
    return evaluate(states())


@pytest.fixture
def stage(qapp, qtbot, result):
    made = CanvasView()
    qtbot.addWidget(made)
    made.resize(2600, 1200)
    made.set_diagram(result.diagram)
    made.set_result(result)
    made.set_zoom(1.0)
    return made


def test_every_state_has_its_sample(stage):
    annotations, index = stage.view.annotations, stage.view.scene.wire_index
    shown = {STATE_OF[int(annotations.total.codes[index[key]])]: key for key in SAMPLES.values()}
    assert shown == SAMPLES
    assert set(SAMPLES) == set(State)


def test_every_badge_of_a_run_is_there(result):
    marks = {badge.mark for badges in result.badges.about.values() for badge in badges}
    assert marks == {
        BadgeKind.SURROGATE, BadgeKind.IDLE_STOP, BadgeKind.LEAVES, BadgeKind.CANCELS,
        BadgeKind.UNOWNED
    }  # fmt: skip


@pytest.mark.parametrize("name", theme.THEMES)
def test_in_grey_no_two_states_look_alike(stage, name):
    shown = theme.THEMES[name]
    stage.set_theme(shown)
    image = stage.grab().toImage().convertToFormat(QImage.Format.Format_Grayscale8)
    samples = {}
    for state, key in SAMPLES.items():
        middle = stage.wire_position(key)
        samples[state] = image.copy(QRect(middle - QPoint(26, 2), middle + QPoint(26, 24)))
    alike = [pair for pair in combinations(samples, 2) if samples[pair[0]] == samples[pair[1]]]
    assert alike == []


def test_what_made_the_nan_is_told_from_its_victims(stage, result):
    assert result.badges.origins == {"root.x"}
    annotations = stage.view.annotations
    assert "first appears here" in describe(annotations, Focus(FocusKind.WIRE, "root.x"))
    assert "first appears here" not in describe(annotations, Focus(FocusKind.WIRE, "once.a"))
    marked = [
        annotations.total.is_origin(annotations.scene.wire_index[k]) for k in ("root.x", "once.a")
    ]
    assert marked == [True, False]


def test_a_loss_that_ends_here_is_no_surrogate(stage):
    annotations = stage.view.annotations
    assert not badge_sentences(annotations.page, annotations.scene.index["carries"])
    assert badge_sentences(annotations.page, annotations.scene.index["straight"])


SAID = {
    "gate.x": "1 of 3 elements are 0, masked by gate.",
    "off.x": "Connected, but off is off (−3).",
    "twice.a": "Already 0 after dead, which is off (−6).",
    "flat.prediction": "The loss is flat here: flat is at its minimum",
    "tiny.a": "Shrunk ×1e−9 over 1 block; worst: tiny ×1e−9.",
    "huge.a": "Grows ×20000 over 1 block; worst: huge ×20000.",
    "root.x": "First NaN made in root (0·∞). Add a small number under the root. The wires",
    "once.a": "First NaN made in root (0·∞). Add a small number under the root. This wire",
    "cosine.x": "stop stops every route to stopped.",
    "argmax.x": "argmax cuts every route to no_rule: it is piecewise constant. Move",
    "off_route.x": "None of carries, partial, zero_here, zero_arrived and 13 more reads this.",
    "fixed.x": "p is frozen, and nothing else upstream is trained.",
    "known.x": "Only data and constants upstream: normal.",
    "misfit.a": "Not computed: misfit has an error.",
    "tanh.x": "Carries ∂(carries + partial + … + used)/∂a: 0.7864. Route: carries ← tanh.",
}


@pytest.mark.parametrize("key", SAID)
def test_the_messages_have_real_names_and_numbers(result, key):
    assert result.verdict(key).sentence.startswith(SAID[key])


def test_of_losses_that_were_not_run_apart_the_panel_tells_the_sum(qtbot, result):
    assert not result.is_by_loss
    panel = Why()
    qtbot.addWidget(panel)
    panel.set_diagram(result.diagram)
    panel.set_result(result)
    for key, words in (("root.x", "Not finite"), ("off_route.x", "Off route")):
        panel.set_wire(key)
        lines = [label.text() for label in panel.findChildren(QLabel)]
        assert lines.count(words) == 1
        assert "Carries gradient" not in lines
