"""The docks: how much they leave to the canvas, the edges they are put away to, their looks."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QMainWindow,
    QTabBar,
    QToolButton,
    QWidget,
)
from shiboken6 import delete

from gradwire.app.services import theme
from gradwire.app.services.examples import ASSETS
from gradwire.app.shell.docks import PLACES, Docks
from gradwire.app.shell.main_window import MainWindow
from tests.app.closing import give_up

SIZE = QSize(16, 16)


def cross(ground):
    return QIcon(str(ASSETS / "icons" / f"close_{ground}.svg")).pixmap(SIZE).toImage()


def crosses(window):
    """The icons of all close buttons."""
    docks = window.docks.by_name.values()
    buttons = [dock.findChild(QAbstractButton, "qt_dockwidget_closebutton") for dock in docks]
    return [button.icon().pixmap(SIZE).toImage() for button in buttons]


def test_each_close_button_shows_the_cross(window):
    assert crosses(window) == [cross("light")] * len(window.docks.by_name)


def test_a_change_of_style_keeps_it(window):
    for dock in window.docks.by_name.values():
        QApplication.sendEvent(dock, QEvent(QEvent.Type.StyleChange))
    assert crosses(window) == [cross("light")] * len(window.docks.by_name)


@pytest.mark.night
@pytest.mark.parametrize(("chosen", "ground"), [(theme.DARK, "dark"), (theme.LIGHT, "light")])
def test_it_follows_the_theme(window, qapp, chosen, ground):
    theme.apply(chosen, qapp)
    assert crosses(window) == [cross(ground)] * len(window.docks.by_name)


def test_the_next_window_shows_it_too(window):
    other = window.windows.new()
    assert crosses(other) == [cross("light")] * len(other.docks.by_name)
    other.close()


def test_the_only_tabs_are_those_of_the_panels_at_the_bottom(window):
    bars = [bar for bar in window.findChildren(QTabBar) if bar.isVisible()]
    assert [[bar.tabText(i) for i in range(bar.count())] for bar in bars] == [
        ["Variables", "Problems", "Doctor", "Losses", "Curves"]
    ]


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


def share(window):
    """The part of the window's area that is canvas."""
    canvas = window.canvas
    return canvas.width() * canvas.height() / (window.width() * window.height())


def laid_out(window):
    """Of each panel: whether it is hidden, whether it is in front of other tabs, and its place."""
    return {
        name: (dock.isHidden(), dock.visibleRegion().isEmpty(), dock.geometry())
        for name, dock in window.docks.by_name.items()
    }


def away(window):
    """The names of the panels that have a button at an edge."""
    QApplication.processEvents()  # tool bars lay out their buttons later
    buttons = [b for e in window.docks.edges.values() for b in e.findChildren(QToolButton)]
    return {button.objectName() for button in buttons if button.isVisible()}


def settle(qtbot):
    qtbot.wait(20)  # docks move when their layout is asked the next time


def test_the_canvas_has_most_of_a_small_screen(first):
    assert share(first) >= 0.7
    assert first.docks.by_name["palette"].isVisible()
    assert away(first) == set(first.docks.by_name) - {"palette"}


def test_one_key_puts_all_panels_away_and_restores_them_as_they_were(window, qtbot):
    window.docks.by_name["problems"].raise_()
    window.docks.by_name["why"].hide()
    window.docks.bring_up("history")
    dock = window.docks.by_name["palette"]
    window.resizeDocks([dock], [dock.width() + 40], Qt.Orientation.Horizontal)
    settle(qtbot)
    before, room = laid_out(window), share(window)
    qtbot.keyClick(window, Qt.Key.Key_F9)
    assert all(dock.isHidden() for dock in window.docks.by_name.values())
    settle(qtbot)
    assert away(window) == set(window.docks.by_name)
    assert share(window) > room + 0.2
    window.actions_by_name["put_panels_away"].trigger()
    settle(qtbot)
    assert laid_out(window) == before
    assert away(window) == {"why"}


def test_panels_put_away_come_back_after_a_restart_too(qtbot, settings, window):
    settle(qtbot)
    before = laid_out(window)
    window.actions_by_name["put_panels_away"].trigger()
    window.close()
    again = MainWindow(settings)
    again.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    again.resize(window.size())
    again.show()
    qtbot.waitExposed(again)
    settle(qtbot)
    put_away = away(again)
    again.actions_by_name["put_panels_away"].trigger()
    settle(qtbot)
    after = laid_out(again)
    give_up(again)
    assert put_away == set(again.docks.by_name)
    assert after == before


@pytest.mark.night
def test_a_click_at_the_edge_brings_a_panel(first, qtbot):
    (button,) = [
        b
        for b in first.docks.edges[Qt.DockWidgetArea.RightDockWidgetArea].findChildren(QToolButton)
        if b.objectName() == "inspector"
    ]
    assert button.height() > button.width()  # it reads upwards
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert first.docks.by_name["inspector"].isVisible()
    settle(qtbot)
    assert first.docks.by_name["inspector"].width() >= 250
    assert "inspector" not in away(first)
    first.docks.by_name["inspector"].close()
    assert "inspector" in away(first)


@pytest.mark.night
def test_f6_goes_to_the_edge_and_enter_brings_the_panel(first, qtbot):
    qtbot.waitUntil(first.isActiveWindow)
    first.canvas.setFocus()
    for _ in range(4):
        qtbot.keyClick(first, Qt.Key.Key_F6)
        if QApplication.focusWidget().objectName() == "inspector":
            break
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert first.docks.by_name["inspector"].isVisible()


@pytest.mark.night
def test_a_selected_wire_opens_no_panel(first):
    first.explanation.wireShown.emit()
    assert first.docks.by_name["why"].isHidden()


@pytest.mark.night
def test_panels_grow_with_the_text(first, qtbot):
    before = first.docks.by_name["palette"].width()
    first.actions_by_name["text_large"].trigger()
    settle(qtbot)
    assert first.docks.by_name["palette"].width() == pytest.approx(before * 16 / 13, abs=2)
    first.actions_by_name["text_normal"].trigger()
    settle(qtbot)
    assert first.docks.by_name["palette"].width() == pytest.approx(before, abs=2)


@pytest.mark.night
@pytest.mark.parametrize("chosen", theme.THEMES.values(), ids=lambda chosen: chosen.name)
def test_titles_and_edges_have_the_surface_of_the_theme(window, qapp, qtbot, chosen):
    window.docks.by_name["why"].hide()
    theme.apply(chosen, qapp)
    settle(qtbot)
    picture = window.grab().toImage()
    right = window.docks.edges[Qt.DockWidgetArea.RightDockWidgetArea]
    for widget in (*window.docks.by_name.values(), right):
        if not widget.visibleRegion().isEmpty():
            corner = widget.mapTo(window, widget.rect().bottomLeft()) + QPoint(3, -3)
            title = widget.mapTo(window, widget.rect().topLeft()) + QPoint(3, 3)
            at = corner if widget is right else title
            assert picture.pixelColor(at).name() == chosen.surface, widget.objectName()


def test_docks_stay_silent_while_qt_deletes_their_window(qtbot):
    """As where the X server goes away: Qt deletes windows that nobody has closed."""
    frame = QMainWindow()
    docks = Docks(frame, {name: QWidget() for name in PLACES})
    frame.show()
    qtbot.waitExposed(frame)
    docks.bring_up("doctor")
    with qtbot.captureExceptions() as raised:
        delete(frame)
    assert raised == []
