"""No part of the window gives away what a timeline has not come to, or a prediction asks for."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.runtime.build import build, loss, mul, relu, square, variable

Key, LEFT = Qt.Key, Qt.MouseButton.LeftButton
HIDDEN = "Hidden until the timeline has come to its end."


@pytest.fixture
def window(opened, qtbot):
    """The loss is 40; the gradient of ``w`` is 24; the doctor finds the dead ReLU."""
    w, x = variable("w", 3.0), variable("x", 2.0)
    dead = relu(variable("v", -1.0), name="dead")
    window = opened(build(loss(square(mul(w, x, name="product")) + dead + 4.0, name="L")))
    window.resize(1600, 1000)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for name in ("variables", "why"):
        window.docks.bring_up(name)
    window.docks.by_name["doctor"].show()
    window.doctor.set_counted(True)
    qtbot.waitUntil(lambda: "(" in window.docks.by_name["doctor"].windowTitle())
    assert window.losses.label.text() == "L 40"
    return window


def start(window, qtbot):
    qtbot.keyClick(window.canvas, Key.Key_F8)
    qtbot.waitUntil(lambda: "Nothing is computed yet" in window.lazy.timeline.bar.text())


def gradients(window):
    table = window.variables.table
    return {name: table.index(row, 3).data() for row, name in enumerate(table.names)}


def click_wire(qtbot, window, target):
    at = window.canvas.wire_position(target)
    QTest.mouseMove(window.canvas, at + QPoint(3, 3))
    QTest.mouseMove(window.canvas, at)
    qtbot.mouseClick(window.canvas, LEFT, pos=at)
    assert window.canvas.selected_wire() == target


def test_the_status_bar_follows_the_timeline(window, qtbot):
    qtbot.keyClick(window.canvas, Key.Key_F8)
    assert window.losses.label.text() == "L hidden"  # also while it is recorded
    qtbot.waitUntil(lambda: "Nothing is computed yet" in window.lazy.timeline.bar.text())
    shown = []
    while "40" not in window.losses.label.text():
        shown.append(window.losses.label.text())
        qtbot.keyClick(window.canvas, Key.Key_Right)
        assert len(shown) < 20
    assert set(shown) == {"L hidden"}
    assert "40" in window.lazy.timeline.bar.text()
    qtbot.keyClick(window.canvas, Key.Key_Left)
    assert window.losses.label.text() == "L hidden"
    qtbot.keyClick(window.canvas, Key.Key_Escape)
    assert window.losses.label.text() == "L 40"


@pytest.mark.night
def test_the_table_of_variables_follows_the_timeline(window, qtbot):
    before = gradients(window)
    assert before["w"] == "24"
    start(window, qtbot)
    assert gradients(window) == dict.fromkeys(before, "hidden")
    window.canvas.select({"w"})
    for _ in range(2):
        qtbot.keyClick(window.canvas, Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert "w" in window.lazy.timeline.bar.text()
    assert gradients(window)["w"] == "24"
    qtbot.keyClick(window.canvas, Key.Key_End)
    assert gradients(window) == before


@pytest.mark.night
def test_why_follows_the_timeline(window, qtbot):
    start(window, qtbot)
    click_wire(qtbot, window, "product.a")
    qtbot.waitUntil(lambda: not window.explanation.worker.is_pending("why"))
    assert HIDDEN in window.why.text()
    assert "24" not in window.why.text()
    assert not window.card.isVisible()
    qtbot.keyClick(window.canvas, Key.Key_End)
    qtbot.waitUntil(lambda: HIDDEN not in window.why.text())
    assert "Contribution" in window.why.text()


def test_the_doctor_waits_for_the_end(window, qtbot):
    dock = window.docks.by_name["doctor"]
    title = dock.windowTitle()
    start(window, qtbot)
    dock.raise_()
    qtbot.waitUntil(lambda: dock.windowTitle() == "Doctor")
    qtbot.waitUntil(lambda: window.doctor.panel.topLevelItem(0).text(1) == HIDDEN)
    qtbot.keyClick(window.canvas, Key.Key_End)
    qtbot.waitUntil(lambda: dock.windowTitle() == title)


def test_a_prediction_hides_the_loss(window, qtbot):
    qtbot.keyClick(window.canvas, Key.Key_P)
    assert window.lazy.predict.is_on
    assert window.losses.label.text() == "L hidden"
    assert gradients(window) == {}
    qtbot.keyClick(window.canvas, Key.Key_P)
    assert window.losses.label.text() == "L 40"


def test_an_edit_gives_nothing_away_until_it_is_recorded(window, qtbot):
    start(window, qtbot)
    seen = []
    window.presenter.resultShown.connect(lambda result, use: seen.append(dict(result.values)))
    before = window.variables.table.names
    qtbot.keyClick(window.canvas, Key.Key_Escape)
    start(window, qtbot)
    seen.clear()
    window.variables.changeRequested.emit(window.variables.table.change(before.index("x"), 5.0))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.lazy.timeline.worker.is_pending("timeline"))
    assert seen
    assert not any(seen)
    qtbot.keyClick(window.canvas, Key.Key_End)
    assert window.losses.label.text() == "L 229"
