"""The window of the manual, used with mouse and keys."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QSize, Qt, QUrl
from PySide6.QtGui import QImage, QTextDocument
from PySide6.QtWidgets import QToolButton

from gradwire.app.panels.help.browser import page_of
from gradwire.app.panels.help.manual import FOLDER, manual
from gradwire.app.panels.help.window import ManualWindow
from gradwire.app.services import theme

LEFT = Qt.MouseButton.LeftButton
PICTURE = QTextDocument.ResourceType.ImageResource.value


@pytest.fixture
def shown(window, qtbot):
    """The window as Ctrl+F1 opens it."""
    qtbot.waitUntil(window.isActiveWindow)
    qtbot.keyClick(window, Qt.Key.Key_F1, Qt.KeyboardModifier.ControlModifier)
    (made,) = window.findChildren(ManualWindow)
    qtbot.waitUntil(made.isActiveWindow)
    return made


def page(shown) -> str:
    return page_of(shown.browser.source())


def click_row(qtbot, shown, row):
    rect = shown.contents.visualItemRect(row)
    qtbot.mouseMove(shown.contents.viewport(), rect.center())
    qtbot.mouseClick(shown.contents.viewport(), LEFT, pos=rect.center())


def row_of(shown, name):
    every = Qt.MatchFlag.MatchWildcard | Qt.MatchFlag.MatchRecursive
    found = shown.contents.findItems("*", every)
    return next(row for row in found if row.data(0, Qt.ItemDataRole.UserRole) == name)


def click_link(qtbot, shown, target):
    """Click the first link to ``target`` on the page."""
    browser = shown.browser
    size = browser.viewport().size()
    for y in range(0, size.height(), 4):
        for x in range(0, size.width(), 6):
            if browser.anchorAt(QPoint(x, y)) == target:
                qtbot.mouseMove(browser.viewport(), QPoint(x, y))
                qtbot.mouseClick(browser.viewport(), LEFT, pos=QPoint(x, y))
                return
    raise AssertionError(f"no link to {target} in sight")


def button(shown, name):
    return next(b for b in shown.findChildren(QToolButton) if b.accessibleName() == name)


def test_it_opens_at_the_index_and_only_once(shown, window, qtbot):
    assert page(shown) == "index.md"
    assert shown.size() == QSize(1000, 680).boundedTo(shown.screen().availableSize())
    shown.close()
    window.actions_by_name["manual"].trigger()
    assert window.findChildren(ManualWindow) == [shown] and shown.isVisible()


@pytest.mark.night
def test_contents_links_back_and_forward(shown, qtbot):
    back, forward = button(shown, "Back"), button(shown, "Forward")
    assert not back.isEnabled()
    click_row(qtbot, shown, row_of(shown, "states.md"))
    assert page(shown) == "states.md"
    qtbot.mouseClick(back, LEFT)
    assert page(shown) == "index.md" and forward.isEnabled()
    assert shown.contents.currentItem() is not None
    qtbot.mouseClick(forward, LEFT)
    assert page(shown) == "states.md"
    assert shown.contents.currentItem() is row_of(shown, "states.md")
    qtbot.keyClick(shown, Qt.Key.Key_Home, Qt.KeyboardModifier.AltModifier)
    qtbot.waitUntil(lambda: page(shown) == "index.md")
    click_link(qtbot, shown, "states.md")
    assert page(shown) == "states.md"


def test_search_lists_sections_marks_words_and_enter_goes_to_the_best(shown, qtbot):
    qtbot.keyClicks(shown.search_line, "stopped")
    hits = manual().search("stopped")
    rows = [shown.contents.topLevelItem(i).text(0) for i in range(len(hits))]
    assert rows == [hit.title for hit in hits]
    assert shown.contents.topLevelItem(0).toolTip(0) == hits[0].line
    qtbot.keyClick(shown.search_line, Qt.Key.Key_Return)
    assert page(shown) == hits[0].page
    assert shown.browser.source().fragment() == hits[0].anchor
    marked = {s.cursor.selectedText().casefold() for s in shown.browser.extraSelections()}
    assert marked == {"stopped"}
    shown.search_line.clear()
    assert not shown.browser.extraSelections()
    assert row_of(shown, "states.md").parent() is not None


def test_a_search_for_nothing_there_says_so(shown, qtbot):
    qtbot.keyClicks(shown.search_line, "zyzzyva")
    assert shown.contents.topLevelItem(0).text(0) == "Nothing found"
    qtbot.keyClick(shown.search_line, Qt.Key.Key_Return)
    assert page(shown) == "index.md"


def test_a_link_opens_an_example_in_the_editor(shown, window):
    shown.browser.setSource(QUrl("example:gan"))
    assert window.document.diagram.title.startswith("GAN")
    assert page(shown) == "index.md"


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "target",
    [
        "https://example.org/",
        "file:///etc/passwd",
        "manual:/../diagrams/gan.gradwire.json",
        "manual:/nowhere.md",
        "example:../icons/gradwire",
        "example:nowhere",
        "example:../diagrams/gan",
        "/etc/passwd",
    ],
)
def test_nothing_but_the_manual_is_followed(shown, window, target):
    before = window.document.diagram
    shown.browser.setSource(QUrl(target))
    assert page(shown) == "index.md"
    assert window.document.diagram is before


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "name",
    [
        "file:///etc/hostname",
        "../icons/gradwire.svg",
        "manual:/../icons/gradwire.svg",
        "..%2ficons/gradwire.svg",
        "manual:/index.md",
        "https://example.org/a.png",
        "/etc/x.png",
    ],
)
def test_no_picture_comes_from_elsewhere(shown, name):
    assert shown.browser.loadResource(PICTURE, QUrl(name)) is None


@pytest.mark.night
def test_pictures_and_lines_are_no_wider_than_can_be_read(shown):
    picture = shown.browser.loadResource(PICTURE, QUrl("pictures/carrying.png"))
    assert QImage(str(FOLDER / "pictures" / "carrying.png")).width() > picture.width() == 640
    shown.resize(1600, 700)
    assert shown.browser.lineWrapColumnOrWidth() == 840
    shown.resize(700, 700)
    assert shown.browser.lineWrapColumnOrWidth() == shown.browser.viewport().width() < 700


def test_it_follows_the_theme_and_keeps_its_place(shown, window, qapp):
    shown.browser.show_page("states.md")
    shown.browser.verticalScrollBar().setValue(40)
    at = shown.browser.verticalScrollBar().value()
    for chosen in (theme.DARK, theme.LIGHT):
        window.actions_by_name[f"theme_{chosen.name}"].trigger()
        qapp.processEvents()
        sheet = shown.browser.document().defaultStyleSheet()
        assert chosen.ink in sheet and chosen.accent in sheet
        assert page(shown) == "states.md"
        assert shown.browser.verticalScrollBar().value() == at


@pytest.mark.night
def test_escape_closes_it(shown, qtbot):
    qtbot.keyClick(shown.browser, Qt.Key.Key_Escape)
    assert not shown.isVisible()


def test_it_closes_with_its_window(shown, window):
    assert not shown.testAttribute(Qt.WidgetAttribute.WA_QuitOnClose)  # the last window decides
    window.close()
    assert not shown.isVisible()
