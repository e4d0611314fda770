"""Every state and badge at once: each is there, and each can be told without its colour."""

from itertools import combinations

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage

from app import theme
from app.canvas.lanes import NAMES, STYLES
from app.canvas.reach import Focus, Kind
from app.canvas.stage import Stage
from app.canvas.telling import told
from app.evaluator import evaluate
from runtime.flow.badges import Mark
from tests.app.gallery import states

SAMPLES = {
    "CARRIES": "tanh.x", "PARTIAL": "gate.x", "ZERO": "off.x", "FAINT": "tiny.a", "FLOOD": "huge.a",
    "NONFINITE": "root.x", "STOPPED": "cosine.x", "NO_RULE": "argmax.x", "OFF_ROUTE": "off_route.x",
    "FROZEN": "fixed.x", "NOTHING_TO_TRAIN": "known.x", "UNKNOWN": "misfit.a",
}  # fmt: skip
"""A short straight wire for each state."""


@pytest.fixture(scope="module")
def reading():
    return evaluate(states())


@pytest.fixture
def stage(qapp, qtbot, reading):
    made = Stage()
    qtbot.addWidget(made)
    made.resize(2600, 1200)
    made.set_diagram(reading.diagram)
    made.set_reading(reading)
    made.set_zoom(1.0)
    return made


def test_every_state_has_its_sample(stage):
    facts, index = stage.view.facts, stage.view.scene.wire_index
    shown = {NAMES[int(facts.codes[index[key]])]: key for key in SAMPLES.values()}
    assert shown == SAMPLES
    assert set(SAMPLES) == set(STYLES)


def test_every_badge_of_a_run_is_there(reading):
    marks = {badge.mark for badges in reading.badges.about.values() for badge in badges}
    assert marks == {
        Mark.SURROGATE, Mark.IDLE_STOP, Mark.LEAVES, Mark.CANCELS, Mark.UNOWNED
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


def test_what_made_the_nan_is_told_from_its_victims(stage, reading):
    assert reading.badges.origins == {"root.x"}
    facts = stage.view.facts
    assert "made here" in told(facts, Focus(Kind.WIRE, "root.x"))
    assert "made here" not in told(facts, Focus(Kind.WIRE, "once.a"))
    marked = [facts.whole.is_origin(facts.scene.wire_index[k]) for k in ("root.x", "once.a")]
    assert marked == [True, False]


def test_a_loss_that_ends_here_is_no_surrogate(stage):
    facts = stage.view.facts
    assert not facts.badges(facts.scene.index["carries"])
    assert facts.badges(facts.scene.index["straight"])
