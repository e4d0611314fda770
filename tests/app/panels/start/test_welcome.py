"""The start page: cards with pictures, versions behind a switch, recent files, a formula."""

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest

from app.panels.start import thumbnails
from app.panels.start.thumbnails import thumbnail
from app.services.examples import Group, examples
from app.services.theme import DARK, LIGHT
from runtime.build import build, loss, stop_gradient, variable
from runtime.diagram import save

LEFT = Qt.MouseButton.LeftButton


def cards(window, group):
    paths = {example.path for example in examples() if example.group is group}
    return [card for card in window.welcome.cards if card.versions[0].path in paths]


def test_examples_are_grouped_and_versions_share_a_card(window):
    order = [card for group in Group for card in cards(window, group)]
    assert window.welcome.cards == order
    for card in cards(window, Group.STOPS):
        assert [version.label for version in card.versions] == ["stopped", "not stopped"]
    assert all(len(card.versions) == 1 for card in cards(window, Group.BASICS))
    assert cards(window, Group.LARGE)


def test_the_switch_chooses_the_version_that_opens(window, qtbot):
    card = cards(window, Group.STOPS)[0]
    qtbot.mouseClick(card.switch[1], LEFT)
    assert "not stopped" in card.picture.accessibleName()
    qtbot.mouseClick(card.picture, LEFT)
    assert "not stopped" in window.document.diagram.title
    assert not window.welcome.isVisible()


def test_a_card_is_opened_by_keyboard(window, qtbot):
    picture = window.welcome.cards[0].picture
    assert picture.focusPolicy() & Qt.FocusPolicy.TabFocus
    picture.setFocus()
    qtbot.keyClick(picture, Qt.Key.Key_Space)
    assert window.document.diagram.main.blocks


def test_a_recent_file_has_a_card(window, qtbot, tmp_path):
    path = tmp_path / "mine.gradwire.json"
    save(build(loss(stop_gradient(variable("b", [1.0])))), path)
    window.welcome.show_recent([path])
    card = window.welcome.cards[0]
    assert card.title == "mine"
    qtbot.mouseClick(card.picture, LEFT)
    assert window.document.path == path


def test_pictures_are_drawn_one_after_the_other(window, qtbot):
    assert not all(card.picture._wanted for card in window.welcome.cards)
    qtbot.waitUntil(lambda: all(card.picture._wanted for card in window.welcome.cards))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_picture_shows_the_diagram_in_the_theme_and_is_kept(qapp, theme, monkeypatch):
    path, size = examples()[0].path, QSize(232, 116)
    drawn = thumbnail(path, theme, size, 2.0, runs=True)
    assert drawn.size() == size * 2.0
    picture = drawn.toImage()
    colours = {picture.pixel(x, y) for x in range(0, 464, 3) for y in range(0, 232, 3)}
    assert picture.pixelColor(2, 2).name() == theme.canvas
    assert len(colours) > 3
    monkeypatch.setattr(thumbnails, "_drawn", None)  # calling it would fail
    assert thumbnail(path, theme, size, 2.0, runs=True).cacheKey() == drawn.cacheKey()


def test_what_can_not_be_read_has_an_empty_picture(qapp, tmp_path):
    broken = tmp_path / "broken.gradwire.json"
    broken.write_text("{", encoding="utf-8")
    for path in (broken, tmp_path / "missing.gradwire.json"):
        assert thumbnail(path, LIGHT, QSize(232, 116), 1.0, runs=False).isNull()


def test_a_formula_makes_a_diagram_as_one_undo(window, qtbot):
    field = window.welcome.formula
    QTest.keyClicks(field, "loss = mean((x @ W + b - t)**2)")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert not window.welcome.isVisible()
    assert {"x", "W", "b", "t", "loss"} <= window.document.diagram.main.blocks.keys()
    window.document.undo_stack.undo()
    assert not window.document.diagram.main.blocks


def test_a_mistake_in_a_formula_is_shown_below_it(window, qtbot):
    field = window.welcome.formula
    QTest.keyClicks(field, "loss = (")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert window.welcome.isVisible()
    assert window.welcome.mistake.isVisible() and window.welcome.mistake.text()
    QTest.keyClicks(field, "a")
    assert not window.welcome.mistake.isVisible()


@pytest.mark.parametrize("width", [900, 1300, 1900])
def test_cards_fill_the_room(window, qtbot, width):
    window.resize(width, 850)
    qtbot.wait(20)
    right = max(
        card.mapTo(window.welcome, card.rect().topRight()).x() for card in window.welcome.cards
    )
    assert right <= window.welcome.width()
