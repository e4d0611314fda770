"""The start page: cards with pictures, versions behind a switch, recent files, a formula."""

import threading

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtTest import QTest

from gradwire.app.panels.start import card as pictures
from gradwire.app.panels.start.card import draw, read
from gradwire.app.services.examples import SUFFIX, TRAINING, ExampleGroup, examples
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import load, save

LEFT = Qt.MouseButton.LeftButton


def cards(window, group):
    paths = {example.path for example in examples() if example.group is group}
    return [card for card in window.welcome.cards if card.versions[0].path in paths]


def test_examples_are_grouped_and_versions_share_a_card(window):
    order = [card for group in ExampleGroup for card in cards(window, group)]
    assert window.welcome.cards == order
    for card in cards(window, ExampleGroup.STOPS):
        assert [version.label for version in card.versions] == ["stopped", "not stopped"]
    assert all(len(card.versions) == 1 for card in cards(window, ExampleGroup.BASICS))
    assert cards(window, ExampleGroup.LARGE)
    assert len(cards(window, ExampleGroup.TRAINING)) == 13


def test_examples_that_train_are_in_the_order_of_teaching(window):
    shown = [card.versions[0].path.name for card in cards(window, ExampleGroup.TRAINING)]
    names = [name.removesuffix(SUFFIX) for name in shown]
    assert names[:2] == ["training_spirals", "training_gan"]
    assert names == list(TRAINING), "every one has its place in the table, and is on the page"


def test_the_switch_chooses_the_version_that_opens(window, qtbot):
    card = cards(window, ExampleGroup.STOPS)[0]
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


def test_every_picture_is_drawn(window, qtbot):
    qtbot.waitUntil(lambda: all(card.picture.is_drawn for card in window.welcome.cards))


def test_the_window_does_not_wait_for_a_slow_disk(window, qtbot, monkeypatch, tmp_path):
    """The picture of a recent file comes when it is there; the window's thread reads nothing."""
    disk, threads = threading.Event(), []

    def slow(path):
        threads.append(threading.current_thread())
        assert disk.wait(60)
        return load(path)

    monkeypatch.setattr(pictures, "load", slow)
    path = tmp_path / "mine.gradwire.json"
    save(build(loss(stop_gradient(variable("b", [1.0])))), path)
    window.welcome.show_recent([path])
    picture = window.welcome.cards[0].picture
    qtbot.waitUntil(lambda: bool(threads))
    picture.grab()
    assert not picture.is_drawn
    disk.set()
    qtbot.waitUntil(lambda: picture.is_drawn)
    assert threading.main_thread() not in threads


def test_the_picture_follows_the_switch(window, qtbot):
    card = cards(window, ExampleGroup.STOPS)[0]
    qtbot.waitUntil(lambda: card.picture.is_drawn)
    before = card.picture.grab().toImage()
    qtbot.mouseClick(card.switch[1], LEFT)
    qtbot.waitUntil(lambda: card.picture.is_drawn)
    assert card.picture.grab().toImage() != before


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_picture_shows_the_diagram_in_the_theme(qapp, theme):
    size = QSize(232, 116)
    drawn = draw(read(examples()[0].path, runs=True), theme, size, 2.0)
    assert drawn.size() == size * 2.0
    picture = drawn.toImage()
    colours = {picture.pixel(x, y) for x in range(0, 464, 3) for y in range(0, 232, 3)}
    assert picture.pixelColor(2, 2).name() == theme.canvas
    assert len(colours) > 3


def test_a_picture_is_drawn_anew_only_for_what_changes_it(qapp):
    size = QSize(232, 116)
    content = read(examples()[0].path, runs=True)
    drawn = draw(content, LIGHT, size, 1.0)
    assert draw(content, LIGHT, QSize(size), 1.0).cacheKey() == drawn.cacheKey()
    plain = read(examples()[0].path, runs=False)
    others = [draw(*given) for given in (
        (content, DARK, size, 1.0), (content, LIGHT, size / 2, 1.0),
        (content, LIGHT, size, 2.0), (plain, LIGHT, size, 1.0),
    )]  # fmt: skip
    assert all(other.toImage() != drawn.toImage() for other in others)


def test_a_file_is_read_again_only_when_it_changed(tmp_path):
    path = tmp_path / "mine.gradwire.json"
    save(build(loss(variable("b", [1.0]))), path)
    first = read(path, runs=False)
    assert read(path, runs=False) is first
    save(build(loss(variable("longer", [1.0]))), path)
    assert "longer" in read(path, runs=False).diagram.main.blocks


def test_what_can_not_be_read_has_no_content(tmp_path, monkeypatch):
    broken = tmp_path / "broken.gradwire.json"
    broken.write_text("{", encoding="utf-8")
    for path in (broken, tmp_path / "missing.gradwire.json"):
        assert read(path, runs=False) is None
    monkeypatch.setattr(pictures, "LARGEST", 10)
    assert read(examples()[0].path, runs=False) is None


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


def card_of(window, stem):
    (found,) = (c for c in window.welcome.cards if c.versions[0].path.name.startswith(stem))
    return found


@pytest.mark.parametrize(
    ("stem", "labels", "stop", "page"),
    [
        ("training_gan", ["stopped", "unstopped"], "fake", "main"),
        ("training_spirals", ["unstopped", "stopped"], "features", "network"),
    ],
)
def test_a_pair_that_trains_is_one_card_with_a_switch(window, qtbot, stem, labels, stop, page):
    card = card_of(window, stem)
    assert [button.text() for button in card.switch] == labels
    card.switch[1].setFocus()
    qtbot.keyClick(card.switch[1], Qt.Key.Key_Space)
    assert card.picture.accessibleName().endswith(labels[1])
    qtbot.waitUntil(lambda: card.picture.is_drawn)
    card.picture.setFocus()
    qtbot.keyClick(card.picture, Qt.Key.Key_Space)
    assert window.document.path is None
    opened = window.document.diagram
    plain = load(card.versions[0].path)
    assert opened.pages[page].blocks[stop].open == (labels[1] == "unstopped")
    assert plain.pages[page].blocks[stop].open == (labels[0] == "unstopped")
    assert opened.training == plain.training


def test_examples_whose_pair_is_no_stop_have_no_switch(window):
    assert card_of(window, "training_byol").switch == []
    assert card_of(window, "training_adding").switch == []


def test_no_button_is_cut_off_where_few_cards_fit_beside_the_panels(window, qtbot):
    """The buttons in a row may be wider than the cards below them."""
    page = window.welcome
    window.resize(1280, 720)
    window.docks.by_name["palette"].show()
    window.docks.by_name["learn"].show()
    page.next_lesson.setText("Next lesson: Where a value branches, gradients add up (5 min)")
    qtbot.wait(50)
    page._place()
    qtbot.wait(50)
    assert page.next_lesson.width() > 0 and window.canvas.width() > 700
    assert page.widget().width() <= page.viewport().width()
