"""The laser pointer: while a key is held in a presentation; no trail under Reduced Motion."""

import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.runtime.build import build, loss, square, variable

Key = Qt.Key


@pytest.fixture
def window(opened):
    made = opened(build(loss(square(variable("w", 2.0)), name="L")))
    made.presentation.begin()
    yield made
    made.presentation.end()


def sweep(window, qtbot):
    for x in (20, 60, 100):
        qtbot.mouseMove(window.canvas, QPoint(x, 40))


def test_it_is_shown_while_the_key_is_held(window, qtbot):
    qtbot.keyPress(window.canvas, Key.Key_L)
    assert window.laser.isVisible()
    sweep(window, qtbot)
    assert window.laser.trail[-1].toTuple() == (100.0, 40.0)
    qtbot.waitUntil(lambda: len(window.laser.trail) == 1)  # the trail fades
    qtbot.keyRelease(window.canvas, Key.Key_L)
    assert not window.laser.isVisible()


def test_there_is_no_trail_under_reduced_motion(window, qtbot):
    window.settings.reduced_motion = True
    qtbot.keyPress(window.canvas, Key.Key_L)
    sweep(window, qtbot)
    assert len(window.laser.trail) == 1
    qtbot.keyRelease(window.canvas, Key.Key_L)


def test_it_is_for_presentations_only(window, qtbot):
    window.presentation.end()
    qtbot.keyPress(window.canvas, Key.Key_L)
    assert not window.laser.isVisible()
    qtbot.keyRelease(window.canvas, Key.Key_L)
