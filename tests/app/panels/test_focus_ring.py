"""Where the keyboard focus is, seen with the eye: Tab through the whole window."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gradwire.app.panels.focus_ring import WIDTH, Dialog
from gradwire.app.services.theme import THEMES
from tests.app.mouse import LEFT

STEPS = 90
TAB = Qt.Key.Key_Tab
PLAIN, SHIFT = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier


def tab(window, *, back: bool = False) -> QWidget:
    """Press Tab, and return the widget that has the focus then."""
    if window.canvas.hasFocus():  # there Tab opens the quick add
        window.focusNextPrevChild(not back)
    else:
        QTest.keyClick(QApplication.focusWidget(), TAB, SHIFT if back else PLAIN)
    at = QApplication.focusWidget()
    assert at is not None
    return at


def picture(window, widget: QWidget) -> QImage:
    place = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size()).adjusted(-3, -3, 3, 3)
    return window.grab(place.intersected(window.rect())).toImage()


def luminance(picture: QImage) -> np.ndarray:
    """Relative luminance of each pixel, as in WCAG."""
    picture = picture.convertToFormat(QImage.Format.Format_RGBX8888)
    rows = np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), -1, 4)
    part = rows[:, : picture.width(), :3] / 255.0
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722) + 0.05


def contrasting(one: QImage, other: QImage) -> int:
    """The number of pixels that differ by a contrast of 3 or more."""
    a, b = luminance(one), luminance(other)
    return int((np.maximum(a, b) / np.minimum(a, b) >= 3.0).sum())


@pytest.fixture
def shown(window, qtbot):
    """The window with every panel open."""
    window.resize(1280, 720)
    window.show()
    window.activateWindow()
    for dock in window.docks.by_name.values():
        dock.show()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.toolbar.buttons["quick_add"].setFocus()
    return window


def test_tab_goes_through_the_window_to_what_is_seen(shown):
    first, found = QApplication.focusWidget(), []
    while len(found) < STEPS and (at := tab(shown)) is not first:
        assert not at.visibleRegion().isEmpty(), at
        assert shown.focus_ring.widget() is at
        assert shown.focus_ring.isVisible()
        found.append(at)
    assert len(found) < STEPS, " ".join(type(at).__name__ + at.accessibleName() for at in found)
    assert shown.canvas in found
    assert {shown.palette_panel.search_line, shown.history} <= {*found}
    assert tab(shown, back=True) is found[-1]


@pytest.mark.night
@pytest.mark.parametrize("theme", THEMES)
def test_the_ring_stands_out_around_every_kind_of_widget(shown, theme):
    shown.actions_by_name[f"theme_{theme.replace(' ', '_')}"].trigger()
    seen: set[type[QWidget]] = set()
    for _ in range(STEPS):
        at = tab(shown)
        if type(at) in seen:
            continue
        seen.add(type(at))
        ringed = picture(shown, at)
        shown.focus_ring.setWidget(None)
        around = 2 * WIDTH * min(at.visibleRegion().boundingRect().width(), 60)
        assert contrasting(ringed, picture(shown, at)) >= around, at
    assert len(seen) > 8


def test_the_ring_leaves_with_the_focus_and_is_not_for_the_mouse(shown, qtbot):
    tab(shown)
    assert shown.focus_ring.isVisible()
    QTest.mouseMove(shown.palette_panel.search_line)
    qtbot.mouseClick(shown.palette_panel.search_line, LEFT)
    assert shown.palette_panel.search_line.hasFocus()
    assert not shown.focus_ring.isVisible()


def test_f6_shows_where_it_goes(shown, qtbot):
    shown.canvas.setFocus()
    shown.actions_by_name["next_panel"].trigger()
    assert shown.focus_ring.widget() is QApplication.focusWidget() is not shown.canvas
    assert shown.focus_ring.isVisible()


def test_the_ring_is_under_no_pointer(shown, qtbot):
    """Clicks go through it."""
    button = shown.toolbar.buttons["zoom_fit"]
    button.setFocus()
    shown.focus_ring.show_focus()
    corner = button.mapTo(shown, QPoint(1, 1))
    assert shown.childAt(corner) is button


def test_dialogs_have_a_ring_too(shown, qtbot):
    shown.actions_by_name["thresholds"].trigger()
    dialog = next(each for each in QApplication.topLevelWidgets() if isinstance(each, Dialog))
    dialog.activateWindow()
    qtbot.waitUntil(lambda: dialog.focusWidget() is QApplication.focusWidget() is not None)
    first = QApplication.focusWidget()
    QTest.keyClick(first, TAB)
    assert dialog.focus_ring.widget() is QApplication.focusWidget() is not first
    assert dialog.focus_ring.isVisible()
    assert not shown.focus_ring.isVisible()
    dialog.close()
