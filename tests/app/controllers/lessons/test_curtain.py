"""Nothing that is to be predicted leaks: not by faces, panels, tips, speech, or other controls."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QToolTip

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.tooltips import describe
from gradwire.app.evaluation.concealment import NUMBERS
from gradwire.runtime.build import build, loss, mul, square, stop_gradient, variable
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.paths import WirePath
from gradwire.runtime.flow import State
from gradwire.runtime.lessons.breakpoints import NotFinite

SECRETS = ("10.5", "73.5", "stopped by", "carries gradient", "None —")
"""What the diagram's values, gradients and states are; none of it is given."""


def diagram():
    """(w·x + sg(v))², w = 3.5, x = 2, v = 3.5: the sum is 10.5, and x gets 73.5."""
    w, x, v = variable("w", 3.5), variable("x", 2.0), variable("v", 3.5)
    total = mul(w, x, name="product") + stop_gradient(v, name="sg")
    return build(loss(square(total, name="sq"), name="L"))


@pytest.fixture
def window(opened, qtbot):
    made = opened(diagram())
    for panel in ("doctor", "derivative", "matrix"):
        made.docks.by_name[panel].raise_()
        QTest.qWait(20)
    qtbot.waitUntil(lambda: not made.evaluator.busy)
    return made


def words(window):
    """Everything that can be read in the window, or heard of its canvas."""
    found = [label.text() for label in window.findChildren(QLabel)]
    found += [line.text() for line in window.findChildren(QLineEdit)]
    view = window.canvas.view
    for i in range(len(view.scene.names)):
        look = view.annotations.look(i)
        found += [" ".join(row) for s in look.sections for row in s.readout.cells]
        found += [*look.summary, *(b.text for b in look.badges)]
        found.append(describe(view.annotations, Focus(FocusKind.BLOCK, view.scene.names[i])))
    for wire, key in enumerate(view.scene.wire_keys):
        found.append(describe(view.annotations, Focus(FocusKind.WIRE, key)))
        found += [view.annotations.total.label(wire), *view.annotations.total.amounts(wire)]
        found.append(tip(window, window.canvas.wire_position(key)))
    found += [tip(window, window.canvas.block_rect(name).center()) for name in view.scene.names]
    found.append(tip(window, window.canvas.port_position("product", "out")))
    for table in (window.variables, window.loss_matrix.panel):
        model = table.model()
        found += [
            str(model.index(row, column).data())
            for row in range(model.rowCount())
            for column in range(model.columnCount())
        ]
    tree = window.doctor.panel
    found += [tree.topLevelItem(i).text(1) for i in range(tree.topLevelItemCount())]
    return "\n".join(found)


def tip(window, at):
    event = QHelpEvent(QHelpEvent.Type.ToolTip, at, window.canvas.mapToGlobal(at))
    QApplication.sendEvent(window.canvas, event)
    return QToolTip.text()


def test_the_test_reads_what_is_not_hidden(window):
    text = words(window)
    assert all(secret in text for secret in SECRETS)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("chosen", ["product.a", "sg.x", "w", "sq"])
def test_nothing_leaks_whatever_is_selected(window, qtbot, chosen):
    window.curtain.hide(NUMBERS)
    if "." in chosen:
        QTest.mouseClick(
            window.canvas, Qt.MouseButton.LeftButton, pos=window.canvas.wire_position(chosen)
        )
    else:
        window.canvas.select([chosen])
    qtbot.waitUntil(lambda: not window.explanation.worker.is_pending("why"))
    text = words(window)
    assert not [secret for secret in SECRETS if secret in text]
    assert window.canvas.view.route is None


def test_what_sources_are_given_stays(window):
    window.curtain.hide(NUMBERS)
    assert "3.5" in words(window)
    result = window.canvas.view.annotations.page.result
    assert set(result.values) == {"w.out", "x.out", "v.out"}


def test_the_controls_that_would_find_it_are_closed(window, qtbot):
    closed = ("explain", "try_selected", "timeline", "derivative", "doctor", "step", "compare")
    window.curtain.hide(NUMBERS)
    assert not any(window.actions_by_name[name].isEnabled() for name in closed)
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton, pos=on_stop(window))
    window.trial.cut("product.a")
    assert not window.trial.active
    window.curtain.hide(())
    assert all(window.actions_by_name[name].isEnabled() for name in closed)
    window.trial.cut("product.a")
    assert window.trial.active


def on_stop(window) -> QPoint:
    """The symbol of the stop."""
    return window.canvas.block_rect("sg").topLeft() + QPoint(14, 10)


def test_a_trial_under_way_ends(window, qtbot):
    window.trial.cut("product.a")
    qtbot.waitUntil(lambda: window.canvas.trial_marks() is not None)
    window.curtain.hide(NUMBERS)
    assert not window.trial.active
    assert window.canvas.trial_marks() is None


def test_painted_states_take_the_place_of_the_real_ones(window):
    window.curtain.hide(NUMBERS, {WirePath("sg.x"): State.ZERO})
    wire = Focus(FocusKind.WIRE, "sg.x")
    said = describe(window.canvas.view.annotations, wire)
    assert said == "wire v to sg.x, connected, but its gradient is zero"
    assert window.canvas.view.annotations.total.label(0) == ""


def test_everything_comes_back(window):
    window.curtain.hide(NUMBERS)
    window.curtain.hide(())
    assert all(secret in words(window) for secret in SECRETS)


@pytest.mark.parametrize("hidden", [("values",), ("gradients", "states"), ("states",)])
def test_a_timeline_that_a_lesson_plays_tells_nothing_that_is_hidden(opened, qtbot, hidden):
    steps = [{"do": "show", "text": "Watch.", "play": "all"}]
    lesson = Lesson.model_validate({"hide": hidden, "steps": steps})
    made = opened(replace(diagram(), lesson=lesson))
    made.lazy.player.start()
    timeline = made.lazy.timeline
    qtbot.waitUntil(lambda: "Recording" not in timeline.bar.text())
    said, beside = [], []
    for position in range(timeline.bar.scale.maximum() + 1):
        timeline.go(position)
        said.append(timeline.bar.text())
        beside += made.canvas.trial_marks().changes.values() if made.canvas.trial_marks() else ()
    text = "\n".join([*said, *beside])
    told = {"values": ("10.5", "110.2"), "gradients": ("73.5", "21"), "states": ("thrown",)}
    assert not [secret for name in hidden for secret in told[name] if secret in text]
    shown = told.keys() - hidden - ({"gradients"} if "states" in hidden else set())
    assert [name for name in shown if not any(secret in text for secret in told[name])] == []
    hints = []
    made.canvas.statusMessage.connect(hints.append)
    timeline.run_until(NotFinite())
    assert any("hidden" in hint for hint in hints) == bool({"gradients", "states"} & {*hidden})
