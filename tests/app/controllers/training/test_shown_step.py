"""What is asked of the step that is shown draws the random numbers of that step, not of step 0."""

from __future__ import annotations

import pytest

import gradwire as gw
import gradwire.runtime.build as b


@pytest.fixture
def window(opened, qtbot):
    x = gw.random_normal(shape=[4], name="x")
    made = opened(b.build(b.loss(b.mean(b.square(b.variable("w", 3.0) * x)), name="L")))
    qtbot.waitUntil(lambda: not made.evaluator.busy)
    return made


def numbers(session):
    return session.run().values["x.out"].tolist()


def drawn(window, qtbot):
    """What the doctor, the timeline and the derivative card see of the random block."""
    found = []
    for controller in (window.doctor, window.lazy.timeline, window.derivative, window.explanation):
        found.append(answer(controller, window, qtbot))
    return found


def answer(controller, window, qtbot):
    """The numbers of the random block that the worker of a controller draws."""
    answers = []
    controller.worker.finished.disconnect()  # nobody else takes these answers
    controller.worker.finished.connect(lambda kind, answer: answers.append(answer))
    controller.worker.query("asked", window.document.diagram, numbers)
    qtbot.waitUntil(lambda: any(isinstance(each, list) for each in answers))
    return next(each for each in answers if isinstance(each, list))


@pytest.mark.night
def test_workers_see_the_random_numbers_of_the_step(window, qtbot):
    shown = window.evaluator.result.values["x.out"].tolist()
    assert drawn(window, qtbot) == [shown] * 4
    for _ in range(3):
        step = window.training.step_shown
        window.training.step()
        qtbot.waitUntil(lambda step=step: window.training.step_shown > step)
        qtbot.waitUntil(lambda: not (window.training.is_playing or window.evaluator.busy))
    after = window.evaluator.result.values["x.out"].tolist()
    assert after != shown
    assert window.evaluator.result.step_number == 3
    assert drawn(window, qtbot) == [after] * 4
    window.training.go(1)
    qtbot.waitUntil(lambda: window.training.step_shown == 1 and not window.evaluator.busy)
    back = window.evaluator.result.values["x.out"].tolist()
    assert back not in (shown, after)
    assert drawn(window, qtbot) == [back] * 4
    assert "costs" not in vars(window)  # made only now
    assert answer(window.lazy.costs, window, qtbot) == back
