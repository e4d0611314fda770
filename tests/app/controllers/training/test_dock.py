"""The panel of curves: its height, what becomes of the page above it, and what is remembered."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

import gradwire.runtime.build as b
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.controllers.training.dock import shows_all
from gradwire.app.services.examples import ASSETS
from gradwire.runtime.diagram import load


@pytest.fixture
def window(opened, qtbot):
    made = opened(b.build(b.loss(b.mean(b.square(b.variable("w", [1.0, 2.0]))), name="L")))
    made.resize(1280, 720)
    for dock in made.docks.by_name.values():
        dock.hide()
    made.canvas.zoom_to_fit()
    qtbot.wait(500)  # until the panels have moved
    return made


def open_curves(window, qtbot):
    window.docks.bring_up("curves")
    qtbot.waitUntil(window.training.curves.isVisible)
    qtbot.wait(600)
    return window.docks.by_name["curves"]


@pytest.mark.night
def test_it_is_high_enough_to_read_and_the_page_is_fitted(window, qtbot):
    before = window.canvas.height()
    dock = open_curves(window, qtbot)
    assert 230 <= dock.height() <= 0.6 * 720
    assert window.canvas.height() < before - 200
    assert shows_all(window.canvas)


@pytest.mark.night
def test_a_part_of_the_page_stays_as_it_is(window, qtbot):
    window.canvas.set_zoom(4.0)
    zoom = window.canvas.zoom()
    assert not shows_all(window.canvas)
    open_curves(window, qtbot)
    assert window.canvas.zoom() == zoom


@pytest.mark.night
def test_the_height_that_a_user_chose_is_remembered(window, qtbot):
    dock = open_curves(window, qtbot)
    window.resizeDocks([dock], [320], Qt.Orientation.Vertical)
    qtbot.waitUntil(lambda: dock.height() == 320)
    dock.hide()
    window.docks.bring_up("variables")
    window.resizeDocks([window.docks.by_name["variables"]], [150], Qt.Orientation.Vertical)
    qtbot.wait(500)
    assert open_curves(window, qtbot).height() == 320
    assert window.settings.curves_height == 320


@pytest.mark.night
def test_views_keep_their_pictures(opened, qtbot):
    made = opened(load(ASSETS / "diagrams" / "training_gan.gradwire.json"))
    made.resize(1280, 720)
    for dock in made.docks.by_name.values():
        dock.hide()
    qtbot.wait(500)
    made.canvas.zoom_to_fit()
    assert made.canvas.zoom() >= PLAIN
    open_curves(made, qtbot)
    assert made.canvas.zoom() >= PLAIN
