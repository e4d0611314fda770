"""Badges beside the lanes: what a run says of ports, stops, variables and trees, on the canvas."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.tooltips import describe, port_tip
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.build import block, build, loss, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters, apply


def badged():
    """w cancels, u is trained by none, idle has nothing to stop, straight is a surrogate."""
    w, u, v = variable("w", [2.0]), variable("u", [1.0]), variable("v", [1.4])
    cancelling = w * 3.0 + w * -2.999
    idle = stop_gradient(stop_gradient(u, name="first"), name="idle")
    straight = block("StraightThrough", block("Round", v, name="round"), v, name="straight")
    made = build(loss(cancelling + idle + straight + u, name="loss"), title="Badges")
    return replace(made, contracts=("updates(opt -> w)", "updates(opt -> v)"))


def tree():
    """Four weights on one wire; a stop on the two of the encoder."""
    weights = [variable(name, [1.0]) for name in ("ew", "eb", "dw", "db")]
    keys = "encoder/weight, encoder/bias, decoder/weight, decoder/bias"
    packed = block("Pack", *weights, keys=keys, name="model")
    parts = block(
        "Unpack", block("StopGradient", packed, only="encoder", name="freeze"), paths=keys,
        name="parts",
    )  # fmt: skip
    total = parts["encoder/weight"] + parts["encoder/bias"]
    total = total + parts["decoder/weight"] + parts["decoder/bias"]
    return build(loss(total, name="loss"), title="Tree")


class TestResult:
    def test_each_has_its_sentence(self):
        about = evaluate(badged()).badges.about
        told = {key: badge.sentence for key, (badge,) in about.items()}
        assert told["w.out"] == "CANCELS: the sum at w.out is 0.0003333 of its largest term."
        assert told["first"] == "This stop cuts nothing: idle already cuts its routes."
        assert told["u"] == "UNOWNED: u is trained, and no optimiser updates it."
        assert {"w.out", "first", "idle", "u", "straight"} <= set(told)

    def test_leaves_are_counted_on_every_wire_with_a_tree(self):
        result = evaluate(tree())
        assert result.badges.leaves[None]["freeze.x"] == (2, 4)
        assert result.badges.leaves["loss.out"]["freeze.x"] == (2, 4)

    def test_where_nothing_is_stated_no_variable_is_unowned(self):
        assert "u" not in evaluate(replace(badged(), contracts=())).badges.about

    def test_a_line_that_is_no_contract_is_left_to_the_doctor(self):
        result = evaluate(replace(badged(), contracts=("update(opt -> w)",)))
        assert "u" not in result.badges.about
        assert result.error is None


@pytest.fixture
def window(opened):
    return opened(badged())


def pills(window, name):
    view = window.canvas.view
    return [badge.text for badge in view.annotations.look(view.scene.index[name]).badges]


def warns(window, name):
    """Whether the foot of a face has a pill in the colour of warnings."""
    window.canvas.set_zoom(1.0)
    window.reveal.block(name)
    foot = window.canvas.block_rect(name)
    image = window.canvas.grab(foot.adjusted(0, foot.height() - 9, 0, 9)).toImage()
    spots = [(x, y) for x in range(image.width()) for y in range(image.height())]
    return any(image.pixelColor(*spot) == QColor(LIGHT.warning) for spot in spots)


class TestOnTheCanvas:
    def test_faces_have_them(self, window):
        assert pills(window, "w") == ["CANCELS"]
        assert pills(window, "u") == ["UNOWNED"]
        assert pills(window, "idle") == ["cuts nothing"]
        assert pills(window, "straight") == ["≈"]
        assert pills(window, "v") == []

    def test_they_are_drawn(self, window):
        assert warns(window, "u")
        assert not warns(window, "v")

    def test_the_tooltip_says_why(self, window, qtbot):
        at = window.canvas.block_rect("u").center() - QPoint(0, 8)
        event = QHelpEvent(QEvent.Type.ToolTip, at, window.canvas.mapToGlobal(at))
        QApplication.sendEvent(window.canvas, event)
        assert "no optimiser updates it" in QToolTip.text()
        QToolTip.hideText()

    def test_that_of_a_port_says_what_cancels(self, window):
        view = window.canvas.view
        assert "CANCELS: the sum at w.out" in port_tip(
            view.annotations.page, view.scene.port("w", "out")
        )

    def test_that_of_a_wire_says_how_many_leaves_carry(self, opened, qtbot):
        canvas = opened(tree()).canvas
        at = canvas.wire_position("freeze.x")
        event = QHelpEvent(QEvent.Type.ToolTip, at, canvas.mapToGlobal(at))
        QApplication.sendEvent(canvas, event)
        assert "model.out → freeze.x" in QToolTip.text()
        assert "2 of 4 leaves carry." in QToolTip.text()
        QToolTip.hideText()

    def test_a_screen_reader_says_why(self, window):
        said = describe(window.canvas.view.annotations, Focus(FocusKind.BLOCK, "idle"))
        assert "This stop cuts nothing" in said

    def test_leaves_stand_on_the_wire(self, opened):
        view = opened(tree()).canvas.view
        assert view.annotations.total.label(view.scene.wire_index["freeze.x"]).startswith("2/4")


def corner(window):
    """The colours at the upper right of the canvas, where STALE stands."""
    canvas = window.canvas
    image = canvas.grab(QRect(canvas.width() - 80, 8, 70, 24)).toImage()
    return {image.pixelColor(x, y).rgb() for x in range(70) for y in range(24)}


def test_numbers_of_an_older_diagram_are_said_to_be_stale(window, qtbot):
    assert QColor(LIGHT.warning).rgb() not in corner(window)
    older = window.evaluator.result
    window.canvas.set_diagram(apply(older.diagram, SetParameters("w", {"value": [5.0]})).after)
    qtbot.waitUntil(lambda: window.canvas.view.annotations.dimmed)
    assert QColor(LIGHT.warning).rgb() in corner(window)
    annotations = window.canvas.view.annotations
    assert "stale" in describe(annotations, Focus(FocusKind.WIRE, "mul1.a"))
    assert pills(window, "u") == [], "a badge of an older diagram is not shown"
    window.canvas.set_diagram(older.diagram)
    assert not window.canvas.view.annotations.dimmed
    assert QColor(LIGHT.warning).rgb() not in corner(window)
