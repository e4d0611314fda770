"""Costs of blocks on the canvas: off at first, measured on request, honest about their age."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QToolButton

from gradwire.app.canvas.state.costs import HeatMeasure
from gradwire.app.controllers import costs as controller
from gradwire.app.services.background import Cancelled
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import AddBlock, InsertPage, Page

CTRL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def window(window, qtbot, monkeypatch):
    monkeypatch.setattr(controller, "SECONDS", 0.0)  # one call
    qtbot.waitUntil(window.isActiveWindow)
    w = variable("w", [1.0, 2.0, 3.0])
    window.document._begin(build(loss(w * w)), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


@pytest.fixture
def measured(window, qtbot):
    qtbot.keyClick(window, Qt.Key.Key_K, CTRL_SHIFT)
    qtbot.waitUntil(lambda: window.canvas.view.costs is not None)
    return window


def picture(window) -> QImage:
    return window.canvas.grab().toImage()


def test_it_is_off_until_it_is_wanted(window):
    assert window.canvas.view.costs is None
    assert not window.lazy.costs.bar.isVisible()
    assert not window.actions_by_name["costs"].isChecked()


def test_a_key_shows_numbers_of_a_call_and_their_scale(measured):
    bar, costs = measured.lazy.costs.bar, measured.canvas.view.costs
    assert "mul1" in costs.blocks
    assert bar.isVisible()
    assert measured.actions_by_name["costs"].isChecked()
    assert bar.text().startswith("One call: ")
    assert "mul1" in bar.text()
    assert bar.most.text().endswith("s")  # a unit of time
    assert bar.choice.accessibleName() and bar.scale.accessibleName()


def test_colours_are_on_the_canvas_and_go_again(measured, qtbot):
    with_costs = picture(measured)
    qtbot.keyClick(measured, Qt.Key.Key_K, CTRL_SHIFT)
    assert not measured.lazy.costs.bar.isVisible()
    size = with_costs.size()
    measured.canvas.resize(size / with_costs.devicePixelRatio())
    assert picture(measured) != with_costs


def test_memory_instead_of_time(measured):
    measured.lazy.costs.bar.choice.setCurrentIndex(1)
    assert measured.canvas.view.costs.measure is HeatMeasure.MEMORY
    assert measured.lazy.costs.bar.most.text().endswith("B")


def test_the_cross_turns_it_off(measured, qtbot):
    (cross,) = measured.lazy.costs.bar.findChildren(QToolButton)
    qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
    assert measured.canvas.view.costs is None
    assert not measured.actions_by_name["costs"].isChecked()


def test_a_change_says_that_the_numbers_are_older_until_measured_again(measured, qtbot):
    bar = measured.lazy.costs.bar
    measured.edit.change(InsertPage("inner", Page()))
    measured.edit.change(AddBlock("use", PageBlock(page="inner")))
    qtbot.waitUntil(lambda: "before the last change" in bar.text())
    assert bar.again.isEnabled()
    qtbot.mouseClick(bar.again, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "One call" in bar.text() and "before" not in bar.text())


@pytest.mark.night
def test_the_page_that_is_shown_has_its_own_costs(measured):
    measured.edit.change(InsertPage("inner", Page()))
    measured.edit.change(AddBlock("use", PageBlock(page="inner")))
    measured.navigation.enter("use")
    assert measured.canvas.view.costs.blocks == {}
    measured.navigation.leave()
    assert "mul1" in measured.canvas.view.costs.blocks


def test_first_asked_for_on_an_inner_page_they_are_those_of_that_page(window, qtbot):
    window.edit.change(InsertPage("inner", Page()))
    window.edit.change(AddBlock("use", PageBlock(page="inner")))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.navigation.enter("use")
    assert "costs" not in vars(window)
    window.actions_by_name["costs"].trigger()
    qtbot.waitUntil(lambda: window.canvas.view.costs is not None)
    assert window.canvas.view.costs.blocks == {}
    window.navigation.leave()
    assert "mul1" in window.canvas.view.costs.blocks


def test_a_measurement_can_be_cancelled(window, qtbot):
    window.actions_by_name["costs"].trigger()
    window.actions_by_name["cancel"].trigger()
    qtbot.waitUntil(lambda: not window.lazy.costs.bar.isVisible())
    assert not window.actions_by_name["costs"].isChecked()
    assert window.notice.text() == ""


def test_what_can_not_be_measured_says_why(measured):
    measured.lazy.costs.worker.finished.emit("costs", ValueError("No."))
    assert window_is_off(measured)
    assert "can't be measured. No." in measured.notice.text()


@pytest.mark.night
def test_another_file_turns_it_off(measured):
    measured.document.new()
    assert window_is_off(measured)


def window_is_off(window):
    return window.canvas.view.costs is None and not window.actions_by_name["costs"].isChecked()


@pytest.mark.night
def test_cancelling_is_no_problem(measured):
    measured.lazy.costs.worker.finished.emit("costs", Cancelled("Cancelled."))
    assert window_is_off(measured)
    assert measured.notice.text() == ""
