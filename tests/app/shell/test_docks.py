"""The docks: their close buttons show the cross of the theme, whatever restyles them."""

import pytest
from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QApplication, QTabBar

from app.services import theme
from app.services.examples import ASSETS

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
        ["Variables", "Problems", "Doctor", "Losses"]
    ]
