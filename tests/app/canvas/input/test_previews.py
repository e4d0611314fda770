"""Previews wait for the result of the one before, so that results are seen on the way."""

import pytest
from PySide6.QtCore import QObject

from gradwire.app.canvas.input import previews
from gradwire.app.canvas.input.previews import Previews
from gradwire.runtime.diagram import SetParameters


def to(value):
    return SetParameters("w", {"value": value})


@pytest.fixture
def shown():
    return []


@pytest.fixture
def paced(qtbot, shown):
    parent = QObject()
    made = Previews(parent, shown.append)
    made.parent = parent
    return made


def test_the_first_is_shown_at_once(paced, shown):
    paced.put(to(1))
    assert shown == [to(1)]


def test_of_those_that_wait_the_newest_is_shown_once_the_result_is_there(paced, shown, qtbot):
    for value in (1, 2, 3):
        paced.put(to(value))
    assert shown == [to(1)]
    paced.result_shown()
    qtbot.waitUntil(lambda: len(shown) == 2)
    assert shown[1] == to(3)


def test_a_result_that_does_not_come_is_not_waited_for_long(paced, shown, qtbot):
    paced.put(to(1))
    paced.put(to(2))
    qtbot.waitUntil(lambda: shown == [to(1), to(2)])


def test_the_end_is_shown_at_once_and_drops_what_waits(paced, shown, qtbot):
    paced.put(to(1))
    paced.put(to(2))
    paced.put(None)
    assert shown == [to(1), None]
    qtbot.wait(2 * previews._WAIT)
    assert len(shown) == 2


def test_after_a_gesture_nothing_that_waited_is_shown(paced, shown, qtbot):
    paced.put(to(1))
    paced.put(to(2))
    paced.stop()
    qtbot.wait(2 * previews._WAIT)
    assert shown == [to(1)]


def test_only_while_a_preview_is_shown_it_says_so(qtbot):
    seen = []
    parent = QObject()
    paced = Previews(parent, lambda change: seen.append(paced.is_showing))
    paced.put(to(1))
    assert seen == [True]
    assert not paced.is_showing
