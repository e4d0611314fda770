"""The window for the audience: it follows the canvas, and keeps a picture while it is frozen."""

import pytest
from PySide6.QtCore import Qt

from runtime.build import build, loss, square, variable

Key = Qt.Key


@pytest.fixture
def window(opened):
    made = opened(build(loss(square(variable("w", 2.0)), name="L")))
    yield made
    made.audience.close()


def open_audience(window, qtbot):
    window.actions_by_name["audience"].trigger()
    shown = window.audience.window
    qtbot.waitUntil(lambda: followed(window))
    return shown


def image(window):
    return window.audience.window.picture().toImage()


def followed(window):
    return image(window) == window.canvas.grab().toImage()


def test_it_follows_the_canvas(window, qtbot):
    shown = open_audience(window, qtbot)
    assert shown.isVisible() and window.actions_by_name["audience"].isChecked()
    before = image(window)
    window.canvas.set_zoom(0.5 * window.canvas.zoom())
    qtbot.waitUntil(lambda: image(window) != before)
    qtbot.waitUntil(lambda: followed(window))


def test_frozen_it_keeps_what_it_shows(window, qtbot):
    open_audience(window, qtbot)
    window.actions_by_name["freeze"].trigger()
    assert window.actions_by_name["freeze"].isChecked()
    before = image(window)
    window.canvas.set_zoom(0.5 * window.canvas.zoom())
    qtbot.wait(150)
    assert image(window) == before
    window.actions_by_name["freeze"].trigger()
    qtbot.waitUntil(lambda: followed(window))


def test_it_fills_a_screen_and_closes(window, qtbot):
    shown = open_audience(window, qtbot)
    shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    qtbot.keyClick(shown, Key.Key_F11)
    assert shown.isFullScreen()
    qtbot.keyClick(shown, Key.Key_Escape)
    assert window.audience.window is None
    assert not window.actions_by_name["audience"].isChecked()


def test_there_is_nothing_to_freeze_without_it(window):
    window.actions_by_name["freeze"].trigger()
    assert not window.actions_by_name["freeze"].isChecked()


def test_it_closes_with_its_window(window, qtbot):
    shown = open_audience(window, qtbot)
    window.close()
    assert not shown.isVisible()
