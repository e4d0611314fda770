"""Panels follow a hand at a lower rate, and show the last of it."""

import pytest
from PySide6.QtCore import QObject

from gradwire.app.panels.pacing import EVERY, Paced


@pytest.fixture
def shown():
    return []


@pytest.fixture
def paced(qtbot, shown):
    parent = QObject()
    made = Paced(parent, lambda: shown.append(len(shown)))
    made.parent = parent
    return made


def test_without_a_hand_everything_is_shown_at_once(paced, shown):
    paced.follow(is_moving=False)
    paced.follow(is_moving=False)
    assert len(shown) == 2


def test_many_moves_are_shown_once(paced, shown, qtbot):
    for _ in range(5):
        paced.follow(is_moving=True)
    assert not shown
    qtbot.waitUntil(lambda: bool(shown))
    qtbot.wait(2 * EVERY)
    assert len(shown) == 1


def test_a_hand_that_lets_go_is_not_waited_for(paced, shown, qtbot):
    paced.follow(is_moving=True)
    paced.follow(is_moving=False)
    assert len(shown) == 1
    qtbot.wait(2 * EVERY)
    assert len(shown) == 1
