"""The list of blocks while a lesson is played in a small window: away, and back afterwards."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.controllers.training.dock import shows_all
from gradwire.app.services.examples import ASSETS
from gradwire.app.shell.main_window import MainWindow
from gradwire.runtime.diagram import load, save
from gradwire.runtime.diagram.lesson import BuildStep
from tests.app.closing import give_up

LESSON = ASSETS / "lessons" / "16_backward_twice.gradwire.json"
"""A lesson whose diagram has numbers at 1280 × 720 only without the palette."""
SMALL_DIAGRAM = ASSETS / "lessons" / "04_softmax_pulls_everybody.gradwire.json"


@pytest.fixture
def first(qtbot, settings):
    """The window of a user who has just installed the editor, at the size of a small screen."""
    made = MainWindow(settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.resize(1280, 720)
    made.show()
    qtbot.waitExposed(made)
    windows = made.windows
    yield made
    for each in windows.listed:
        give_up(each)


def play(window: MainWindow, qtbot, path: Path = LESSON) -> None:
    assert window.windows.start_lesson(path, window)
    judged(window, qtbot)


def judged(window: MainWindow, qtbot) -> None:
    """Wait until panels have moved, and what follows from it is done."""
    room = window.lesson_room
    qtbot.wait(20)  # docks move when their layout is asked the next time
    for _ in range(2):
        room._settled.start()
        qtbot.waitUntil(lambda: not room._settled.isActive() and not room._fitted.isActive())


def palette(window: MainWindow):
    return window.docks.by_name["palette"]


@pytest.mark.night
def test_a_wide_diagram_gets_the_room_of_the_palette(first, qtbot):
    play(first, qtbot)
    assert palette(first).isHidden()
    assert first.canvas.zoom() >= NUMBERS
    assert shows_all(first.canvas)


@pytest.mark.night
def test_a_diagram_that_can_be_read_beside_it_leaves_it(first, qtbot):
    play(first, qtbot, SMALL_DIAGRAM)
    assert not palette(first).isHidden()


@pytest.mark.night
@pytest.mark.parametrize("aside", ["Learn beside it", "below"])
def test_it_stays_where_its_room_would_not_widen_the_canvas(first, qtbot, aside):
    area = Qt.DockWidgetArea
    if aside == "below":
        first.addDockWidget(area.BottomDockWidgetArea, palette(first))
    else:
        first.addDockWidget(area.LeftDockWidgetArea, first.docks.by_name["learn"])
    play(first, qtbot)
    assert first.canvas.zoom() < 1.0
    assert not palette(first).isHidden()


@pytest.mark.night
def test_it_comes_back_as_wide_as_it_was_when_the_lesson_ends(first, qtbot):
    wide = palette(first).width()
    play(first, qtbot)
    first.lazy.player.leave()
    qtbot.waitUntil(lambda: palette(first).isVisible())
    judged(first, qtbot)
    assert palette(first).width() == wide


@pytest.mark.night
def test_it_follows_the_width_of_the_window(first, qtbot):
    play(first, qtbot)
    first.resize(1700, 720)
    qtbot.waitUntil(lambda: not palette(first).isHidden())
    judged(first, qtbot)
    assert not palette(first).isHidden()
    assert first.canvas.zoom() >= NUMBERS
    assert shows_all(first.canvas)
    first.resize(1280, 720)
    qtbot.waitUntil(lambda: palette(first).isHidden())
    judged(first, qtbot)
    assert palette(first).isHidden()


@pytest.mark.night
@pytest.mark.parametrize("before", [False, True])
def test_one_that_the_user_opens_stays_open_until_the_lesson_ends(first, qtbot, before):
    """Also if it was the user who closed it before."""
    if before:
        palette(first).hide()
    play(first, qtbot)
    assert palette(first).isHidden()
    first.docks.bring_up("palette")
    first.lazy.player.advance()
    judged(first, qtbot)
    first.resize(1290, 720)
    judged(first, qtbot)
    assert not palette(first).isHidden()
    first.lazy.player.leave()
    assert not palette(first).isHidden()
    play(first, qtbot)
    assert palette(first).isHidden()


def test_one_that_the_user_closed_stays_closed(first, qtbot):
    palette(first).hide()
    play(first, qtbot)
    first.resize(1700, 720)
    judged(first, qtbot)
    first.lazy.player.leave()
    judged(first, qtbot)
    assert palette(first).isHidden()


@pytest.mark.night
def test_it_is_there_until_the_last_step_that_draws(first, qtbot, tmp_path):
    lesson = load(LESSON)
    assert lesson.lesson is not None
    show = lesson.lesson.steps[0]
    steps = (show, BuildStep(text="Draw.", goals=("1 == 1",)), show)
    path = tmp_path / "lesson.gradwire.json"
    save(replace(lesson, lesson=lesson.lesson.model_copy(update={"steps": steps})), path)
    play(first, qtbot, path)
    hidden = [palette(first).isHidden()]
    for _ in range(2):
        first.lazy.player.advance()
        judged(first, qtbot)
        hidden.append(palette(first).isHidden())
    assert hidden == [False, False, True]
    first.lazy.player.back()
    qtbot.waitUntil(lambda: not palette(first).isHidden())


@pytest.mark.night
def test_a_lesson_left_in_a_presentation_gives_it_back_after_it(first, qtbot):
    play(first, qtbot)
    first.presentation.begin()
    judged(first, qtbot)
    first.lazy.player.leave()
    judged(first, qtbot)
    assert palette(first).isHidden()
    first.presentation.end()
    assert not palette(first).isHidden()


@pytest.mark.night
def test_a_presentation_of_a_lesson_is_no_reason_to_keep_it(first, qtbot):
    first.presentation.begin()
    play(first, qtbot)
    first.presentation.end()
    first.docks.bring_up("learn")
    judged(first, qtbot)
    assert palette(first).isHidden()
    first.lazy.player.leave()
    assert not palette(first).isHidden()


def test_the_next_window_has_it(first, qtbot, settings):
    play(first, qtbot)
    give_up(first)
    other = MainWindow(settings)
    other.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    assert not palette(other).isHidden()
    give_up(other)
