from __future__ import annotations

import pytest

from gradwire.app.canvas.painting import Travel


@pytest.fixture
def travel(qapp) -> Travel:
    made = Travel()
    made._timer.setInterval(20)
    return made


def test_it_ends_a_while_after_the_frame_that_shows_the_last_move(qtbot, travel):
    travel.move()
    qtbot.wait(60)
    assert travel.is_going_on, "no frame has shown it yet"
    with qtbot.waitSignal(travel.ended):
        travel.shown()
        assert travel.is_going_on
    assert not travel.is_going_on


def test_frames_that_show_something_else_do_not_keep_it_going(travel):
    travel.move()
    travel.shown()
    travel._timer.setInterval(10**6)
    left = travel._timer.remainingTime()
    travel.shown()
    assert travel._timer.remainingTime() <= left
    travel.move()
    assert not travel._timer.isActive()


def test_without_a_move_nothing_ends(travel):
    travel.shown()
    assert not travel.is_going_on and not travel._timer.isActive()
