"""Every lesson of the course in the window, answered rightly by mouse and keyboard."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.panels.lessons.player import StepDot
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.diagram.lesson import PaintStep, ShowStep
from tests.assets.course import FOLDER, NAMES, SUFFIX, right_answer

LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key


@pytest.mark.night
@pytest.mark.parametrize("number", range(1, len(NAMES) + 1), ids=NAMES)
def test_a_lesson_is_played_to_its_end(window, qtbot, number):
    window.settings.reduced_motion = True
    assert window.windows.start_lesson(FOLDER / f"{NAMES[number - 1]}{SUFFIX}", window)
    player = window.lazy.player
    panel, steps = player.panel, len(player.walk.lesson.steps)
    for index in range(steps):
        settle(window, qtbot)
        assert player.walk.index == index
        is_shown = isinstance(player.walk.step, ShowStep)
        if not is_shown:
            given = right_answer(player.walk, number)
            if given.diagram is not None:  # drawing has tests of its own
                qtbot.mouseClick(panel.next, LEFT)
                continue
            answer(window, qtbot, given)
            qtbot.waitUntil(lambda: player.walk.is_done)
            assert panel.dots.dots[index] is StepDot.RIGHT, (given, panel.outcomes.text())
        qtbot.mouseClick(panel.next, LEFT)
    assert not player.is_on


def settle(window, qtbot):
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.lazy.player.worker.is_pending("goals"))


def answer(window, qtbot, given):
    """Give an answer as a learner does: what is drawn or set is applied to the document."""
    panel = window.lazy.player.panel
    if given.text is not None:
        (field,) = panel.form.fields.values()
        qtbot.keyClicks(field, given.text)
        qtbot.mouseClick(panel.form.commit, LEFT)
    elif given.painted is not None:
        step = window.lazy.player.walk.step
        assert isinstance(step, PaintStep)
        for wire, state in given.painted.items():
            place = [str(each) for each in panel.form.brushes.states].index(state)
            window.canvas.keyboard_focus.focus_on(Focus(FocusKind.WIRE, wire))
            qtbot.keyClick(window.canvas, Key(Key.Key_1 + place))
        qtbot.mouseClick(panel.form.commit, LEFT)
    elif given.option is not None:
        qtbot.mouseClick(panel.options.buttons[given.option], LEFT)
        qtbot.mouseClick(panel.options.commit, LEFT)
    else:
        for name, value in given.values.items():
            window.document.apply(SetParameters(name, {"value": value}))
        for name, is_open in given.open.items():
            window.document.apply(SetParameters(name, {"open": is_open}))
