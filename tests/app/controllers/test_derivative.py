"""The derivative card in the window: it follows the selection, and its heatmap the pointer."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QScrollArea

from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.panels.help.window import ManualWindow
from gradwire.app.panels.lessons.derivative import ProductView
from gradwire.app.panels.lessons.heatmap import Heatmap, JacobianTable
from gradwire.runtime.build import build, loss, mul, softmax, square, stop_gradient, sum, variable
from gradwire.runtime.diagram import SetParameters
from tests.app.mouse import click_again, double_click


@pytest.fixture
def window(opened, qtbot):
    w, x = variable("w", [3.0, 1.0]), variable("x", [2.0, 5.0])
    window = opened(build(loss(sum(square(mul(w, x, name="product"))), name="L")))
    window.canvas.select({"product"})
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window.canvas, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: "product · Mul" in window.derivative.panel.text())
    return window


def test_a_key_shows_the_card_of_the_selection(window):
    assert window.docks.by_name["derivative"].isVisible()
    text = window.derivative.panel.text()
    assert "[12, 10] arrives at product." in text
    assert "w gets [24, 50]." in text
    assert "✓ Along a random direction" in text
    assert window.actions_by_name["derivative"].isEnabled()


def test_a_double_click_on_a_symbol_shows_the_card(window, qtbot):
    dock = window.docks.by_name["derivative"]
    dock.hide()
    at = window.canvas.block_rect("square1").topLeft() + QPoint(16, 10)
    qtbot.mouseMove(window.canvas, at)
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton, pos=at)
    double_click(window.canvas, at)
    assert dock.isVisible()
    assert window.canvas.selection() == {"square1"}
    qtbot.waitUntil(lambda: "square1 · Square" in window.derivative.panel.text())


def test_a_double_click_on_the_symbol_of_a_stop_tries_nothing(opened, qtbot):
    window = opened(build(loss(stop_gradient(variable("w", 3.0), name="sg"), name="L")))
    at = window.canvas.block_rect("sg").topLeft() + QPoint(16, 10)
    qtbot.mouseMove(window.canvas, at)
    qtbot.mouseClick(window.canvas, Qt.MouseButton.LeftButton, pos=at)
    assert window.trial.active
    click_again(window.canvas, at)
    assert not window.trial.active
    qtbot.waitUntil(lambda: "sg · StopGradient" in window.derivative.panel.text())


def test_a_bar_that_moves_the_canvas_between_two_clicks_changes_nothing(opened, qtbot):
    """The pointer stays where it is on the screen, and the trial bar pushes the canvas down."""
    window = opened(build(loss(stop_gradient(variable("w", 3.0), name="sg"), name="L")))
    canvas = window.canvas
    at = canvas.block_rect("sg").topLeft() + QPoint(16, 10)
    qtbot.mouseMove(canvas, at)
    pointer = canvas.mapTo(window, at)
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    qtbot.waitUntil(lambda: canvas.mapFrom(window, pointer).y() < at.y() - 20)
    click_again(canvas, canvas.mapFrom(window, pointer))
    assert not window.trial.active and not canvas.findChildren(QuickAdd)
    qtbot.waitUntil(lambda: "sg · StopGradient" in window.derivative.panel.text())


def test_it_follows_the_selection_and_new_numbers(window, qtbot):
    window.canvas.select({"square1"})
    qtbot.waitUntil(lambda: "square1 · Square" in window.derivative.panel.text())
    window.canvas.select({"product"})
    window.document.apply(SetParameters("x", {"value": [0.0, 5.0]}))
    qtbot.waitUntil(lambda: "[0, 10] arrives at product." in window.derivative.panel.text())


@pytest.mark.night
@pytest.mark.parametrize("chosen", [set(), {"product", "w"}])
def test_without_a_single_block_it_says_what_to_do(window, chosen, qtbot):
    window.canvas.select(chosen)
    qtbot.waitUntil(lambda: "Select a block" in window.derivative.panel.text())


def test_a_hidden_card_computes_nothing(window):
    window.docks.by_name["derivative"].hide()
    window.canvas.select({"square1"})
    assert not window.derivative.worker.is_pending("derivative")


def test_the_heatmap_names_the_cell_under_the_pointer_and_the_keys(qtbot):
    told = []
    table = JacobianTable(np.array([[1.0, 2.0], [3.0, -4.0]]), 1, "y", "x")
    heat = Heatmap(table, "Jacobian of y by x, 2 × 2", told.append)
    qtbot.addWidget(heat)
    heat.resize(heat.sizeHint())
    heat.show()
    right_below = QPoint(heat.width() - 4, heat.height() - 4)
    qtbot.mouseMove(heat, QPoint(4, 4))
    qtbot.mouseMove(heat, right_below)
    assert told[-1] == "∂y[1]/∂x[1] = −4"
    qtbot.keyClick(heat, Qt.Key.Key_Up)
    assert told[-1] == "∂y[0]/∂x[1] = 2"
    qtbot.keyClick(heat, Qt.Key.Key_Right)
    assert told[-1] == "∂y[0]/∂x[0] = 1"
    assert heat.accessibleName() == "Jacobian of y by x, 2 × 2"
    picture = heat.grab().toImage()
    assert picture.pixelColor(right_below) != picture.pixelColor(QPoint(4, 4))


def scroll_to(widget):
    """Scroll the areas that the widget lies in, so that a pointer can come to it."""
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()


def test_of_a_large_jacobian_rows_are_shown_on_demand(opened, qtbot):
    x = variable("x", np.arange(100.0))
    window = opened(build(loss(sum(softmax(x, name="p") * x), name="L")))
    window.docks.by_name["derivative"].show()
    window.canvas.select({"p"})
    qtbot.waitUntil(lambda: "Point at an element of y" in window.derivative.panel.text())
    panel = window.derivative.panel
    heat = panel.findChild(ProductView).arriving.heatmap
    scroll_to(heat)
    qtbot.mouseMove(heat, QPoint(1, 3))
    qtbot.mouseMove(heat, QPoint(heat.width() - 2, 3))
    qtbot.waitUntil(lambda: "Row of the Jacobian: ∂y[99]/∂x" in panel.text())
    assert "g[99] = 99" in panel.text()
    qtbot.keyClick(heat, Qt.Key.Key_Left)
    qtbot.waitUntil(lambda: "Row of the Jacobian: ∂y[98]/∂x" in panel.text())
    names = {each.accessibleName() for each in panel.findChildren(Heatmap)}
    assert {"Gradient that arrives at y", "Gradient that goes back to x"} <= names


def test_a_link_leads_to_the_differences_in_the_manual(opened, qtbot):
    window = opened(build(loss(abs(variable("x", -2.0)), name="L")))
    window.docks.by_name["derivative"].show()
    window.canvas.select({"abs1"})
    panel = window.derivative.panel
    qtbot.waitUntil(lambda: "All differences" in panel.text())
    (link,) = (label for label in panel.findChildren(QLabel) if "href" in label.text())
    link.linkActivated.emit("systems.md")
    (manual,) = window.findChildren(ManualWindow)
    assert manual.isVisible()
    assert manual.browser.extraSelections()
