"""The derivative card in the window: it follows the selection, and its heatmap the pointer."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from app.panels.lessons.heatmap import Heatmap
from runtime.build import build, loss, mul, square, sum, variable
from runtime.diagram import SetParameters


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


def test_it_follows_the_selection_and_new_numbers(window, qtbot):
    window.canvas.select({"square1"})
    qtbot.waitUntil(lambda: "square1 · Square" in window.derivative.panel.text())
    window.canvas.select({"product"})
    window.document.apply(SetParameters("x", {"value": [0.0, 5.0]}))
    qtbot.waitUntil(lambda: "[0, 10] arrives at product." in window.derivative.panel.text())


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
    heat = Heatmap(np.array([[1.0, 2.0], [3.0, -4.0]]), 1, ("y", "x"), told.append)
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
