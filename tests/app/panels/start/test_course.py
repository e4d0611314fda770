"""The course on the start page: groups, what is done, what is next, and opening by one click."""

import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.app.services.examples import lesson_file
from gradwire.runtime.diagram import save
from gradwire.runtime.lessons.course.progress import LessonProgress
from tests.runtime.lessons.lessons import taught

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(window, tmp_path):
    """The start page with three lessons: two of the foundations, one of the real world."""
    files = []
    for name, course in (("one", "foundations"), ("two", "foundations"), ("three", "real world")):
        path = tmp_path / f"{name}.gradwire.json"
        made = taught(course=course)
        save(made.__class__(made.pages, title=name.title(), lesson=made.lesson), path)
        files.append(lesson_file(path))
    window.welcome._lessons = lambda: tuple(files)
    show(window)
    return window.welcome


def show(window):
    window.welcome.progress = window.windows.progress_by_title()
    window.welcome.show_recent([])


def states(page):
    return [card.state for card in page.course.cards]


def test_a_newcomer_begins_with_the_first(page):
    assert states(page) == ["5 min"] * 3
    assert page.next_lesson.text() == "Next lesson: One (5 min)"
    assert [card.is_next for card in page.course.cards] == [True, False, False]
    assert page.course.cards[0].accessibleName() == "1. One, next, 5 min"


def test_what_is_done_has_its_points_and_the_next_follows(window, page):
    window.windows.remember_progress("1", LessonProgress("One", True, 18.0, 20.0, 6))
    window.windows.remember_progress("2", LessonProgress("Two", False, 4.0, 20.0, 3))
    show(window)
    assert states(page) == ["✓ 18 of 20 points", "5 min · begun, step 3", "5 min"]
    assert page.next_lesson.text() == "Next lesson: Two (5 min)"
    window.windows.remember_progress("1", LessonProgress("One", False, 2.0, 20.0, 2))
    show(window)
    assert states(page)[0] == "✓ 18 of 20 points"  # what was reached stays


@pytest.mark.parametrize("by", ["card", "button", "key"])
def test_a_lesson_opens_at_once(window, page, qtbot, by):
    card = page.course.cards[0]
    if by == "key":
        card.setFocus()
        qtbot.keyClick(card, Qt.Key.Key_Space)
    else:
        qtbot.mouseClick(card if by == "card" else page.next_lesson, LEFT)
    assert window.lazy.player.is_on
    assert window.document.diagram.title == "One"
    assert not page.isVisible()


def test_playing_is_remembered(window, page, qtbot):
    qtbot.mouseClick(page.course.cards[0], LEFT)
    window.lazy.player.advance()
    window.lazy.player.leave()
    assert states(page)[0] == "5 min · begun, step 2"


def test_a_damaged_file_of_progress_is_moved_aside(window, page, tmp_path):
    window.settings.progress.write_text("{", encoding="utf-8")
    show(window)
    assert states(page) == ["5 min"] * 3
    window.windows.remember_progress("1", LessonProgress("One", True, 18.0, 20.0, 6))
    assert "couldn't be read" in window.notice.text()
    assert window.windows.progress_by_title()["One"].done


def test_the_next_lessons_are_in_one_row_and_all_of_them_on_request(window, page, qtbot):
    course = page.course
    course.fill(2)
    assert [card.isVisible() for card in course.cards] == [True, True, False]
    qtbot.mouseClick(course.all, LEFT)
    assert [card.isVisible() for card in course.cards] == [True, True, True]
    assert course.cards[0].y() < course.cards[2].mapTo(course, QPoint()).y()
    qtbot.mouseClick(course.all, LEFT)
    assert [card.isVisible() for card in course.cards] == [True, True, False]


def test_the_row_begins_with_the_next_lesson_and_is_full(window, page):
    window.windows.remember_progress("1", LessonProgress("One", True, 18.0, 20.0, 6))
    show(window)
    page.course.fill(1)
    assert [card.lesson.title for card in page.course.shown] == ["Two"]
    page.course.fill(3)
    assert len(page.course.shown) == 3


def test_examples_are_on_the_first_screen(window, qtbot):
    window.resize(1280, 720)
    page = window.welcome
    qtbot.waitUntil(lambda: page.viewport().height() > window.height() // 2)
    first = page.cards[0]
    top = first.mapTo(page.viewport(), QPoint()).y()
    assert len(page.course.cards) == 30
    assert top + first.picture.height() <= page.viewport().height()
