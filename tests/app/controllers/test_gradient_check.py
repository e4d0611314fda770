"""Gradient checks from the menu: ✓ and ✗ on faces, gone with the next change."""

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.state.tooltips import block_tip
from gradwire.blocks.library.activations import Tanh
from gradwire.runtime.build import block, build, loss, relu, variable
from gradwire.runtime.diagram import SetParameters
from tests.app.evaluation.test_badges import pills


def checked():
    """A smooth block, a kink met exactly, and a surrogate."""
    w, v = variable("w", [0.5]), variable("v", [1.4])
    straight = block("StraightThrough", block("Round", v, name="round"), v, name="straight")
    kink = relu(variable("k", [0.0]), name="kink")
    return build(loss(block("Tanh", w, name="smooth") + kink + straight, name="loss"))


@pytest.fixture
def window(opened):
    return opened(checked())


def check(qtbot, window):
    qtbot.keyClick(window.canvas, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: not window.gradient_check.worker.is_pending("check"))


def test_what_agrees_has_a_tick_and_what_need_not_a_sign(window, qtbot):
    assert pills(window, "smooth") == []
    check(qtbot, window)
    assert pills(window, "smooth") == ["✓"]
    assert pills(window, "kink") == ["≈"]
    assert pills(window, "straight") == ["≈"]
    annotations = window.canvas.view.annotations
    assert "a kink" in block_tip(annotations.page, annotations.scene.index["kink"])
    assert not window.notice.isVisible()


def test_a_wrong_rule_is_found_and_told(window, qtbot, monkeypatch):
    monkeypatch.setattr(Tanh, "forward", lambda self, xp, x: _wrong(xp, x))
    window.evaluator.refresh(window.document.diagram)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    check(qtbot, window)
    assert pills(window, "smooth") == ["✗"]
    assert "✗ smooth: " in window.notice.text()


def _wrong(xp, x):
    return xp.stop_gradient(x) * x


def test_they_go_with_the_next_change(window, qtbot):
    check(qtbot, window)
    window.edit.change(SetParameters("w", {"value": [0.25]}))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert pills(window, "smooth") == []


def test_a_diagram_that_cannot_run_says_so(opened, qtbot):
    misfit = block("MatMul", variable("q", [[1.0, 2.0]]), [[1.0, 2.0, 3.0]], name="misfit")
    window = opened(build(loss(misfit, name="loss")))
    check(qtbot, window)
    view = window.canvas.view
    assert [badge.text for badge in view.annotations.look(view.scene.index["misfit"]).badges] == []
