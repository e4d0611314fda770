"""Events stop at what they hit: nothing goes through an overlay or a menu to the canvas behind."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QHelpEvent,
    QNativeGestureEvent,
    QPointingDevice,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QMenu,
    QPushButton,
    QScrollArea,
    QSlider,
    QSpinBox,
    QToolTip,
)

import gradwire.runtime.build as b
from gradwire.app.canvas.view import EventFilter
from gradwire.app.services.examples import lessons
from gradwire.runtime.diagram import SetLesson, SetTraining, load
from gradwire.runtime.diagram.training import Training
from tests.app.mouse import drop, palette_row

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def window(opened, qtbot):
    window = opened(b.build(b.loss(b.mean(b.square(b.variable("w", [3.0, 1.0]))), name="L")))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def legend(window, qtbot):
    window.actions_by_name["legend"].trigger()
    return window.canvas.legend


def minimap(window, qtbot):
    window.canvas.set_zoom(4.0)
    qtbot.waitUntil(window.canvas.minimap.isVisible)
    return window.canvas.minimap


def card(window, qtbot):
    window.canvas.select({"w"})
    qtbot.waitUntil(window.card.isVisible)
    return window.card


def quick_add(window, qtbot):
    window.canvas.quick_add(QPointF(200.0, 200.0))
    return window.canvas.context.adder.box


def name_field(window, qtbot):
    window.canvas.select({"w"})
    window.canvas.inline_editor.edit_name("w")
    return QApplication.focusWidget()


def welcome(window, qtbot):
    window.document.undo_stack.setClean()
    window.document.new()
    qtbot.waitUntil(window.welcome.isVisible)
    return window.welcome


INPUTS = [QComboBox, QSpinBox, QSlider]
OVERLAYS = [legend, minimap, card, quick_add, name_field, welcome]


def state(window):
    """All of the canvas that an event that went through would change."""
    view = window.canvas.view
    return view.camera, view.selection, view.traced, window.canvas.view.scene.diagram


def hit(window, overlay):
    """The widget that the window system would send the mouse to in the middle, and where."""
    middle = overlay.rect().center()
    inner = overlay.childAt(middle) or overlay
    return inner, inner.mapFrom(overlay, middle)


def turn(widget, at, turned):
    event = QWheelEvent(
        QPointF(at), QPointF(widget.mapToGlobal(at)), QPoint(), QPoint(0, turned),
        Qt.MouseButton.NoButton, NONE, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


@pytest.mark.parametrize("shown", OVERLAYS)
def test_the_wheel_never_zooms_the_canvas_behind(window, qtbot, shown):
    inner, at = hit(window, shown(window, qtbot))
    before = state(window)
    for turned in (-120, 120) * 3 + (-120,) * 40:
        turn(inner, at, turned)
    assert state(window) == before


@pytest.mark.parametrize("shown", OVERLAYS)
def test_a_pinch_never_zooms_the_canvas_behind(window, qtbot, shown):
    inner, at = hit(window, shown(window, qtbot))
    before = state(window)
    zoom, device = Qt.NativeGestureType.ZoomNativeGesture, QPointingDevice.primaryPointingDevice()
    place = QPointF(inner.mapToGlobal(at))
    pinch = QNativeGestureEvent(zoom, device, 2, QPointF(at), QPointF(at), place, 0.5, QPointF())
    QApplication.sendEvent(inner, pinch)
    assert state(window) == before


@pytest.mark.parametrize("shown", OVERLAYS)
def test_no_tip_is_about_what_is_hidden(window, qtbot, shown, monkeypatch):
    overlay = shown(window, qtbot)
    monkeypatch.setattr(EventFilter, "_tip", lambda *_: "what lies behind")
    for at in (overlay.rect().center(), QPoint(4, overlay.height() // 2)):
        inner = overlay.childAt(at) or overlay
        there = inner.mapFrom(overlay, at)
        tip = QHelpEvent(QEvent.Type.ToolTip, there, inner.mapToGlobal(there))
        QApplication.sendEvent(inner, tip)
        assert "behind" not in QToolTip.text()


@pytest.mark.parametrize("shown", OVERLAYS)
@pytest.mark.parametrize("button", [LEFT, Qt.MouseButton.RightButton, Qt.MouseButton.MiddleButton])
def test_a_press_never_reaches_the_canvas_behind(window, qtbot, shown, button, monkeypatch):
    overlay = shown(window, qtbot)
    inner, at = overlay, QPoint(3, overlay.height() // 2)
    got = []
    for name in ("press", "move", "release", "double_click"):
        mouse = window.canvas.context.mouse
        monkeypatch.setattr(mouse, name, lambda event, name=name: got.append(name))
    QTest.mouseMove(inner, at)
    QTest.mousePress(inner, button, NONE, at)
    QTest.mouseMove(inner, at + QPoint(1, 1))
    QTest.mouseRelease(inner, button, NONE, at)
    if not isinstance(inner, QPushButton) and overlay.isVisible():
        QTest.mouseDClick(inner, button, NONE, at)
        QTest.mouseRelease(inner, button, NONE, at)
    assert got == []
    if QApplication.activePopupWidget() is not None:
        QApplication.activePopupWidget().close()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("shown", OVERLAYS)
def test_what_is_dropped_is_never_hidden(window, qtbot, shown):
    overlay = shown(window, qtbot)
    row = palette_row(window, "Relu")
    mime = row.model().mimeData([row])
    at = overlay.mapTo(window.canvas, overlay.rect().center())
    before = window.document.diagram
    assert drop(window.canvas, mime, at) == (shown is welcome)
    assert (window.document.diagram == before) == (shown is not welcome)


@pytest.mark.parametrize("key", ["Delete", "P", "D", "W", "X", "Space", "Right", "End", "T", "C"])
def test_keys_on_a_button_of_the_card_mean_nothing_to_the_canvas(window, qtbot, key):
    button = card(window, qtbot).more
    button.setFocus()
    qtbot.waitUntil(button.hasFocus)
    button.clicked.disconnect()
    before = state(window)
    QTest.keyClick(button, getattr(Qt.Key, f"Key_{key}"))
    assert state(window) == before
    assert not window.actions_by_name["predict"].isChecked()
    assert "w" in window.document.diagram.main.blocks


def test_on_the_canvas_itself_the_same_keys_work(window, qtbot):
    window.canvas.select({"w"})
    window.canvas.setFocus()
    qtbot.waitUntil(window.canvas.hasFocus)
    QTest.keyClick(window.canvas, Qt.Key.Key_Delete)
    assert "w" not in window.document.diagram.main.blocks
    QTest.keyClick(window.canvas, Qt.Key.Key_P)
    assert window.actions_by_name["predict"].isChecked()
    QTest.keyClick(window.canvas, Qt.Key.Key_P)


def test_every_menu_keeps_the_keys(window, qtbot):
    window.canvas.select({"w"})
    window.canvas.menuRequested.emit(QPoint(5, 5))
    menus = window.findChildren(QMenu)
    assert QApplication.activePopupWidget() in menus
    assert len(menus) > 15
    fired = []
    for name, action in window.actions_by_name.items():
        if action.isCheckable():
            action.toggled.connect(lambda _, name=name: fired.append(name))
    for menu in menus:
        window.canvas.setFocus()
        qtbot.waitUntil(window.canvas.hasFocus)
        menu.popup(window.mapToGlobal(QPoint(40, 40)))
        for action in menu.actions():
            action.setEnabled(False)  # so that no item has the letter
        for key in (Qt.Key.Key_P, Qt.Key.Key_D, Qt.Key.Key_Delete, Qt.Key.Key_F7):
            QTest.keyClick(menu, key)
        menu.close()
    assert fired == []
    assert "w" in window.document.diagram.main.blocks


def test_a_letter_chooses_an_item_of_the_open_menu(window, qtbot, monkeypatch):
    chosen = []
    action = window.actions_by_name["print_page"]
    action.triggered.disconnect()
    action.triggered.connect(lambda: chosen.append("print"))
    menu = window.menus.by_name["file"]
    menu.popup(window.mapToGlobal(QPoint(0, 30)))
    QTest.keyClick(menu, Qt.Key.Key_P)
    assert chosen == ["print"]
    assert not window.actions_by_name["predict"].isChecked()


def test_the_menu_of_panels_keeps_the_keys(window, qtbot):
    at = QPoint(5, 5)
    there = window.toolbar.mapToGlobal(at)
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, there)
    QApplication.sendEvent(window.toolbar, asked)
    window.canvas.setFocus()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    QTest.keyClick(menu, Qt.Key.Key_P)
    menu.close()
    assert not window.actions_by_name["predict"].isChecked()


def test_the_wheel_scrolls_a_panel_and_edits_nothing_in_it(window, qtbot):
    lesson = load(lessons()[0].path).lesson
    window.edit.change(SetLesson(lesson))
    window.actions_by_name["write_lesson"].trigger()
    steps = window.lazy.authoring.panel.steps
    steps.setCurrentItem(steps.topLevelItem(0))
    seen, changed = set(), []
    for selected in ({"w", "L"}, {"w"}, ()):
        window.canvas.select(selected)
        if not selected:
            window.edit.change(SetTraining(Training()))
        for kind in INPUTS:
            for each in window.findChildren(kind):
                if each not in seen and within_a_scroll_area(each):
                    seen.add(each)
                    before = value_of(each)
                    for turned in (-120, -120, 120, 120, 120):
                        turn(each, each.rect().center(), turned)
                        changed += [each] if value_of(each) != before else []
    for kind in INPUTS:
        assert any(isinstance(each, kind) for each in seen)
    assert changed == []


def within_a_scroll_area(widget):
    while widget is not None and not isinstance(widget, QScrollArea):
        widget = widget.parentWidget()
    return widget is not None


def value_of(widget):
    return widget.currentIndex() if isinstance(widget, QComboBox) else widget.value()
