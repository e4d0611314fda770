"""What a hand on mouse and keyboard can do to a window, each at random and by real events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QHelpEvent,
    QKeySequence,
    QNativeGestureEvent,
    QPointingDevice,
    QWheelEvent,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from shiboken6 import isValid

from gradwire.app.shell.actions.table import COMMANDS
from tests.app.mouse import double_click as click_twice
from tests.app.mouse import drop

if TYPE_CHECKING:
    from tests.monkey.life import Monkey

Button, Held, Key = Qt.MouseButton, Qt.KeyboardModifier, Qt.Key
BUTTONS = (Button.LeftButton,) * 7 + (Button.RightButton,) * 2 + (Button.MiddleButton,)
MODIFIERS = (
    *(Held.NoModifier,) * 8,
    Held.ShiftModifier,
    Held.ControlModifier,
    Held.AltModifier,
    Held.ControlModifier | Held.ShiftModifier,
)
CANVAS_KEYS = (
    *(Key.Key_Left, Key.Key_Right, Key.Key_Up, Key.Key_Down) * 3,
    *(Key.Key_Space, Key.Key_Return, Key.Key_Escape, Key.Key_Tab) * 2,
    Key.Key_Delete, Key.Key_Backspace, Key.Key_F2, Key.Key_M, Key.Key_W, Key.Key_X, Key.Key_A,
    Key.Key_Home, Key.Key_End, Key.Key_Question, Key.Key_Plus, Key.Key_Backtab, Key.Key_Menu,
)  # fmt: skip
FIELD_KEYS = (
    Key.Key_Return, Key.Key_Return, Key.Key_Escape, Key.Key_Tab, Key.Key_Up, Key.Key_Down,
    Key.Key_Left, Key.Key_Right, Key.Key_Backspace, Key.Key_Delete, Key.Key_PageDown,
    Key.Key_Home, Key.Key_End, Key.Key_Space, Key.Key_F4,
)  # fmt: skip
TEXTS = (
    "w", "loss", "w1", "a.b", "", " ", "main", "enc", "é∂ℒ", "1", "-3", "0", "1e-30", "1e400",
    "nan", "inf", "[[1, 2], [3, 4]]", "[1, 2", "[]", "[[]]", "[[1], [2, 3]]", "float64", "int32",
    "Mul", "mat", "stop", "true", "null", "{}", "2, 3", "7", "0.25", "state:stopped", "x" * 80,
    "one\ntwo", "mean", "\\frac{", "<b>&amp;", "(1, 1)", "-1", "loss_2", "b1/w",
)  # fmt: skip
UNTRIED = frozenset({"quit", "close_window", "new", "open", "print_page", "new_window"})
"""Actions that end a window or its history, or need a printer: told of elsewhere."""


def spot(monkey: Monkey) -> QPoint:
    """A place on the canvas: on a port, block, wire or note of the page, or anywhere."""
    canvas, dice = monkey.canvas, monkey.dice
    scene, found = canvas.view.scene, None
    kind = dice.random()
    if kind < 0.3 and len(scene.port_block):
        found = canvas.port_position(*scene.port_name(dice.randrange(len(scene.port_block))))
    elif kind < 0.6 and scene.names:
        face = canvas.block_rect(dice.choice(scene.names))
        found = face.topLeft() + QPoint(
            round(dice.random() * face.width()), round(dice.random() * face.height())
        )
    elif kind < 0.75 and scene.wire_keys:
        found = canvas.wire_position(dice.choice(scene.wire_keys))
    elif kind < 0.82 and scene.page.notes:
        note = scene.page.notes[dice.choice(list(scene.page.notes))]
        at = (note.at.x + dice.choice((0.0, 0.5, 1.0)) * note.width,
              note.at.y + dice.choice((0.0, 0.5, 1.0)) * note.height)  # fmt: skip
        camera = canvas.view.camera
        found = QPointF(at[0] * camera.zoom + camera.x, at[1] * camera.zoom + camera.y).toPoint()
    if found is None or not canvas.rect().contains(found):
        found = _inside(monkey, canvas)
    return found


def _inside(monkey: Monkey, widget: QWidget) -> QPoint:
    dice = monkey.dice
    return QPoint(dice.randrange(max(widget.width(), 1)), dice.randrange(max(widget.height(), 1)))


def click(monkey: Monkey) -> None:
    """Press and release on the canvas."""
    dice = monkey.dice
    QTest.mouseClick(monkey.canvas, dice.choice(BUTTONS), dice.choice(MODIFIERS), spot(monkey))


def double_click(monkey: Monkey) -> None:
    """Press twice on the canvas."""
    click_twice(monkey.canvas, spot(monkey))


def press(monkey: Monkey) -> None:
    """Press a button and keep it: what comes next comes in the middle of a gesture."""
    dice = monkey.dice
    QTest.mousePress(monkey.canvas, dice.choice(BUTTONS), dice.choice(MODIFIERS), spot(monkey))


def move(monkey: Monkey) -> None:
    """Move the pointer over the canvas."""
    QTest.mouseMove(monkey.canvas, spot(monkey))


def release(monkey: Monkey) -> None:
    """Let a button go."""
    QTest.mouseRelease(monkey.canvas, monkey.dice.choice(BUTTONS), Held.NoModifier, spot(monkey))


def drag(monkey: Monkey) -> None:
    """Press, move in steps, release."""
    dice, canvas = monkey.dice, monkey.canvas
    button, held = dice.choice(BUTTONS), dice.choice(MODIFIERS)
    start, end = spot(monkey), spot(monkey)
    QTest.mousePress(canvas, button, held, start)
    for step in range(1, dice.choice((2, 3, 6)) + 1):
        QTest.mouseMove(canvas, start + (end - start) * (step / 6))
        if dice.random() < 0.2:
            QApplication.processEvents()
    QTest.mouseMove(canvas, end)
    if dice.random() < 0.05:
        QTest.keyClick(canvas, Key.Key_Escape)
    QTest.mouseRelease(canvas, button, held, end)


def wheel(monkey: Monkey) -> None:
    """Turn the wheel, or move two fingers on a touchpad."""
    dice, at = monkey.dice, QPointF(spot(monkey))
    there = QPointF(monkey.canvas.mapToGlobal(at.toPoint()))
    pixels = QPoint(dice.randint(-40, 40), dice.randint(-40, 40))
    pixels = pixels if dice.random() < 0.3 else QPoint()
    turn = QPoint(0, dice.choice((-960, -120, -120, 120, 120, 960)))
    QApplication.sendEvent(
        monkey.canvas,
        QWheelEvent(at, there, pixels, turn, Button.NoButton, dice.choice(MODIFIERS),
                    Qt.ScrollPhase.NoScrollPhase, False),
    )  # fmt: skip


def pinch(monkey: Monkey) -> None:
    """Two fingers on a touchpad, apart or together."""
    at = QPointF(spot(monkey))
    QApplication.sendEvent(
        monkey.canvas,
        QNativeGestureEvent(
            Qt.NativeGestureType.ZoomNativeGesture, QPointingDevice.primaryPointingDevice(), 2,
            at, at, at, monkey.dice.uniform(-0.5, 0.5), QPointF(),
        ),
    )  # fmt: skip


def key(monkey: Monkey) -> None:
    """A key of the canvas."""
    dice = monkey.dice
    if dice.random() < 0.8:
        monkey.canvas.setFocus()
    pressed, held = dice.choice(CANVAS_KEYS), dice.choice(MODIFIERS)
    target = _focus(monkey)
    if pressed in (Key.Key_X, Key.Key_Space) and dice.random() < 0.5:
        QTest.keyPress(target, pressed)
        QTest.mouseMove(monkey.canvas, spot(monkey))
        if dice.random() < 0.5:
            QTest.mouseClick(monkey.canvas, Button.LeftButton, Held.NoModifier, spot(monkey))
        QTest.keyRelease(_focus(monkey), pressed)
    else:
        QTest.keyClick(target, pressed, held)


def _focus(monkey: Monkey) -> QWidget:
    return (
        QApplication.activePopupWidget() or QApplication.focusWidget() or monkey.window
    )  # as the window system chooses


def shortcut(monkey: Monkey) -> None:
    """The keys of an action."""
    keys = [
        QKeySequence(c.shortcut) for c in COMMANDS.values() if c.shortcut and c.name not in UNTRIED
    ]
    if monkey.dice.random() < 0.7:
        monkey.canvas.setFocus()
    pressed = monkey.dice.choice(keys)[0]
    QTest.keyClick(_focus(monkey), pressed.key(), pressed.keyboardModifiers())


def history(monkey: Monkey) -> None:
    """Undo or redo, by its keys, some steps."""
    monkey.canvas.setFocus()
    undo = monkey.dice.random() < 0.6
    for _ in range(monkey.dice.choice((1, 1, 1, 2, 4, 12))):
        held = Held.ControlModifier if undo else Held.ControlModifier | Held.ShiftModifier
        QTest.keyClick(_focus(monkey), Key.Key_Z, held)


def text(monkey: Monkey) -> None:
    """Type into whatever has the keyboard."""
    dice, target = monkey.dice, _focus(monkey)
    if dice.random() < 0.7:
        QTest.keyClick(target, Key.Key_A, Held.ControlModifier)
    for letter in dice.choice(TEXTS):
        if letter == "\n" or ord(letter) > 127:
            continue  # keyClicks knows plain letters only
        QTest.keyClick(_focus(monkey), letter)
    if dice.random() < 0.6:
        ending = dice.choice((Key.Key_Return, Key.Key_Return, Key.Key_Tab, Key.Key_Escape))
        held = Held.ControlModifier if dice.random() < 0.2 else Held.NoModifier
        QTest.keyClick(_focus(monkey), ending, held)


def action(monkey: Monkey) -> None:
    """Any action of the menus that can be chosen now; seldom one that dresses all windows."""
    menus = monkey.window.menus.by_name
    rare = ("theme", "text", "examples", "recent", "windows")
    chosen = monkey.dice.choice([*[name for name in menus if name not in rare] * 9, *menus])
    actions = [
        each
        for each in _actions(menus[chosen])
        if each.isEnabled() and each.objectName() not in UNTRIED
    ]
    if actions:
        monkey.dice.choice(actions).trigger()


def _actions(menu: QMenu) -> list[QAction]:
    menu.aboutToShow.emit()
    return [each for each in menu.actions() if not each.isSeparator() and each.menu() is None]


def panel(monkey: Monkey) -> None:
    """A click, a double click, keys, the wheel or a text on any widget one can see."""
    dice = monkey.dice
    tops = [w for w in QApplication.topLevelWidgets() if w.isVisible() and not _is_window(w)]
    _touch_one(monkey, dice.choice(tops) if tops and dice.random() < 0.6 else monkey.window)


def _touch_one(monkey: Monkey, root: QWidget) -> None:
    dice = monkey.dice
    seen = [
        w for w in root.findChildren(QWidget)
        if w.isVisible() and w.isEnabled() and w is not monkey.canvas and w.height() > 4
        and w.window() is root and w.metaObject().className() != "QMenuBar"
    ]  # fmt: skip
    if not seen:
        if root is not monkey.window:
            QTest.keyClick(root, dice.choice(FIELD_KEYS))
        return
    _touch(monkey, dice.choice(seen))


def _is_window(widget: QWidget) -> bool:
    return bool(widget.metaObject().className() == "MainWindow")


def _touch(monkey: Monkey, widget: QWidget) -> None:
    dice, at = monkey.dice, _inside(monkey, widget)
    match dice.randrange(6):
        case 0 | 1 | 2:
            QTest.mouseClick(widget, Button.LeftButton, Held.NoModifier, at)
            if dice.random() < 0.5:
                text(monkey)
        case 3:
            QTest.mouseDClick(widget, Button.LeftButton, Held.NoModifier, at)
            if isValid(widget):
                QTest.mouseRelease(widget, Button.LeftButton, Held.NoModifier, at)
        case 4:
            QTest.keyClick(_focus(monkey), dice.choice(FIELD_KEYS))
        case 5:
            there, turn = QPointF(widget.mapToGlobal(at)), QPoint(0, dice.choice((-120, 120)))
            QApplication.sendEvent(
                widget, QWheelEvent(QPointF(at), there, QPoint(), turn, Button.NoButton,
                                    Held.NoModifier, Qt.ScrollPhase.NoScrollPhase, False),
            )  # fmt: skip


def popup(monkey: Monkey) -> None:
    """Go on in the menu, list or dialog that is open."""
    open_now = QApplication.activePopupWidget()
    if open_now is None:
        _touch_one(monkey, QApplication.activeModalWidget())
    elif monkey.dice.random() < 0.3:
        QTest.mouseClick(open_now, Button.LeftButton, Held.NoModifier, _inside(monkey, open_now))
    else:
        QTest.keyClick(open_now, monkey.dice.choice(FIELD_KEYS))


def drop_block(monkey: Monkey) -> None:
    """Drag a block from the palette to the canvas."""
    model = monkey.window.palette_panel.tree.model()
    family = model.index(monkey.dice.randrange(max(model.rowCount(), 1)), 0)
    if model.rowCount(family):
        row = model.index(monkey.dice.randrange(model.rowCount(family)), 0, family)
        drop(monkey.canvas, model.mimeData([row]), spot(monkey))


def tip(monkey: Monkey) -> None:
    """Rest the pointer till a tip comes, or press the menu key."""
    at = spot(monkey)
    there = monkey.canvas.mapToGlobal(at)
    if monkey.dice.random() < 0.7:
        QApplication.sendEvent(monkey.canvas, QHelpEvent(QEvent.Type.ToolTip, at, there))
    else:
        keyboard = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(monkey.canvas, QContextMenuEvent(keyboard, at, there))


def resize(monkey: Monkey) -> None:
    """Another size, another window in front, or the canvas left by the pointer."""
    dice, window = monkey.dice, monkey.window
    match dice.randrange(4):
        case 0:
            window.resize(dice.randint(500, 1500), dice.randint(400, 1000))
        case 1:
            window.come_forward()
        case 2:
            QApplication.sendEvent(monkey.canvas, QEvent(QEvent.Type.Leave))
        case 3:
            window.hide()
            QApplication.processEvents()
            window.show()


def rest(monkey: Monkey) -> None:
    """Do nothing for a moment: timers run out, results come."""
    QTest.qWait(monkey.dice.choice((1, 5, 5, 20, 20, 60, 320)))
