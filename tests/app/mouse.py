"""A hand on the window: presses, drags and drops as a user makes them, by real events."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QModelIndex
    from pytestqt.qtbot import QtBot

    from gradwire.app.shell.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton
COPY = Qt.DropAction.CopyAction


def pull(qtbot: QtBot, widget: QWidget, start: QPoint, end: QPoint) -> None:
    """Press at ``start``, move to ``end``, release."""
    qtbot.mousePress(widget, LEFT, pos=start)
    for share in (0.1, 0.4, 0.7, 1.0):
        qtbot.mouseMove(widget, start + (end - start) * share)
    qtbot.mouseRelease(widget, LEFT, pos=end)


def double_click(widget: QWidget, at: QPoint) -> None:
    """Press and release twice."""
    QTest.mouseClick(widget, LEFT, pos=at)
    click_again(widget, at)


def click_again(widget: QWidget, at: QPoint) -> None:
    """The second click of a double click. ``QTest.mouseDClick`` only presses, and a button that
    stays down spoils what comes next.
    """
    QTest.mouseDClick(widget, LEFT, pos=at)
    QTest.mouseRelease(widget, LEFT, pos=at)


def let_go(widget: QWidget) -> None:
    """Release all buttons that are down, such as where a test ends in the middle of a gesture."""
    for button in QApplication.mouseButtons():
        QTest.mouseRelease(widget, button)


def drag_over(widget: QWidget, mime: QMimeData, at: QPoint) -> bool:
    """Drag ``mime`` over ``widget``; whether it may be dropped there."""
    arguments = (COPY, mime, LEFT, Qt.KeyboardModifier.NoModifier)
    with warnings.catch_warnings():  # Qt 6.12 prefers a QPointF, which no older one takes
        warnings.simplefilter("ignore", DeprecationWarning)
        enter, move = QDragEnterEvent(at, *arguments), QDragMoveEvent(at, *arguments)
    enter.ignore()
    QApplication.sendEvent(widget, enter)
    if enter.isAccepted():
        QApplication.sendEvent(widget, move)
    return enter.isAccepted()


def drop(widget: QWidget, mime: QMimeData, at: QPoint) -> bool:
    """Drag ``mime`` over ``widget`` and let go; whether it was taken."""
    if not drag_over(widget, mime, at):
        return False
    arguments = (COPY, mime, LEFT, Qt.KeyboardModifier.NoModifier)
    release = QDropEvent(QPointF(at), *arguments)
    QApplication.sendEvent(widget, release)
    return release.isAccepted()


def drop_block(window: MainWindow, type_name: str, at: QPoint) -> None:
    """Drag a block from the palette onto the canvas."""
    row = palette_row(window, type_name)
    assert drop(window.canvas, row.model().mimeData([row]), at)


def drop_file(window: MainWindow, path: Path) -> bool:
    """Drop a file onto the window."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    return drop(window, mime, QPoint(300, 300))


def palette_row(window: MainWindow, type_name: str) -> QModelIndex:
    """The row of a block type in the palette."""
    model = window.palette_panel.tree.model()
    for family in range(model.rowCount()):
        head = model.index(family, 0)
        for row in range(model.rowCount(head)):
            if model.index(row, 0, head).data() == type_name:
                return model.index(row, 0, head)
    raise AssertionError(f"{type_name} is not in the palette")


def click_block(qtbot: QtBot, window: MainWindow, name: str) -> None:
    """Select a block with the mouse: press its face, clear of its ports."""
    face = window.canvas.block_rect(name)
    at = QPoint(face.center().x(), face.top() + 8)
    qtbot.mouseClick(window.canvas, LEFT, pos=at)


def wire(qtbot: QtBot, window: MainWindow, source: str, target: str) -> None:
    """Drag a wire from an output to an input."""
    start, end = (window.canvas.port_position(*end.split(".", 1)) for end in (source, target))
    pull(qtbot, window.canvas, start, end)


def retype(qtbot: QtBot, field: QWidget, text: str) -> None:
    """Click into a field, type over what it holds, press Enter."""
    inner = field.viewport() if hasattr(field, "viewport") else field
    qtbot.mouseClick(inner, LEFT)
    qtbot.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
