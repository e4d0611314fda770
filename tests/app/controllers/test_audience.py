"""The window for the audience: it follows canvas and lesson, and keeps pictures while frozen."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLabel

from gradwire.app.panels.audience import AudienceWindow
from gradwire.runtime.build import build, loss, square, variable
from gradwire.runtime.diagram import load

LESSONS = Path(__file__).parents[3] / "assets" / "lessons"

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


def images(window):
    return [picture.toImage() for picture in window.audience.window.pictures()]


def image(window):
    return images(window)[0]


def followed(window):
    return image(window) == window.canvas.grab().toImage()


def panel_followed(window):
    return images(window)[1:] == [window.lazy.player.panel.grab().toImage()]


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


@pytest.fixture
def lesson(opened, qtbot):
    made = opened(load(LESSONS / "02_fan_out_adds.gradwire.json"))
    made.lazy.player.start()
    open_audience(made, qtbot)
    yield made
    made.audience.close()


def test_the_lesson_is_beside_the_canvas(lesson, qtbot):
    qtbot.waitUntil(lambda: panel_followed(lesson))
    before = images(lesson)[1]
    lesson.lazy.player.advance()
    qtbot.waitUntil(lambda: images(lesson)[1] != before)
    qtbot.waitUntil(lambda: panel_followed(lesson))


@pytest.mark.night
def test_what_is_typed_in_the_lesson_is_seen(lesson, qtbot):
    while not (fields := lesson.lazy.player.panel.form.fields):
        assert lesson.lazy.player.is_on
        lesson.lazy.player.advance()
    field = next(iter(fields.values()))
    lesson.lazy.player.panel.sheet.ensureWidgetVisible(field)
    qtbot.waitUntil(lambda: panel_followed(lesson))
    before = images(lesson)[1]
    qtbot.keyClicks(field, "7")
    qtbot.waitUntil(lambda: images(lesson)[1] != before)


@pytest.mark.night
def test_it_rests_while_nothing_changes(lesson, qtbot):
    """Taking a picture paints what is pictured, which must not be taken for a change."""
    taken = []
    lesson.audience.window.taken.connect(lambda: taken.append(len(taken)))

    def rests() -> bool:
        before = len(taken)
        qtbot.wait(300)
        return len(taken) == before

    qtbot.waitUntil(rests, timeout=20_000)


def test_the_lesson_goes_when_it_ends(lesson, qtbot):
    lesson.lazy.player.leave()
    qtbot.waitUntil(lambda: len(images(lesson)) == 1)


def test_pictures_lie_side_by_side_at_one_scale(qtbot):
    shown = AudienceWindow("Two")
    qtbot.addWidget(shown)
    parts = [QLabel(), QLabel()]
    for part, width, colour in zip(parts, (100, 50), ("red", "blue"), strict=True):
        qtbot.addWidget(part)
        part.resize(width, 50)
        part.setStyleSheet(f"background: {colour}")
    shown.follow(*parts)
    shown.resize(340, 100)  # twice as large as both together, and 20 on each side
    drawn = shown.grab().toImage()
    ratio = drawn.devicePixelRatio()
    seen = [QColor(drawn.pixel(int(x * ratio), int(50 * ratio))) for x in (30, 210, 230, 310)]
    assert seen == [QColor("red"), QColor("red"), QColor("blue"), QColor("blue")]
    ground = QColor(drawn.pixel(int(5 * ratio), int(50 * ratio)))
    assert ground not in seen and ground == QColor(drawn.pixel(int(335 * ratio), 5))
