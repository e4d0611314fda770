"""Opens, edits and closes diagrams in a real window, without a screen: ``editor.py FILE...``.

Each file is copied first. A block is selected and moved by keys, another one is added by its name,
and everything is undone, all by events such as a user's. What goes wrong is written to standard
error: by Qt, by Python, or here.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import (
    QEvent,
    QEventLoop,
    QMessageLogContext,
    QPoint,
    QSettings,
    Qt,
    QTimer,
    QtMsgType,
    qInstallMessageHandler,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.services.settings import Settings
from gradwire.app.shell.windows import OpenWindows

if TYPE_CHECKING:
    from gradwire.app.shell.main_window import MainWindow

KEY = Qt.Key
PATIENCE = 60_000
"""Milliseconds until a wait is given up."""


def show_message(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
    """Write what Qt says; a window without a screen can't be raised, nor given hints."""
    if not text.startswith("This plugin does not support"):
        print(f"{kind.name} {context.category}: {text}", file=sys.stderr)


def rest(window: MainWindow) -> None:
    """Wait until everything is computed and painted."""
    loop, clock = QEventLoop(), QTimer(interval=20)
    clock.timeout.connect(lambda: window.evaluator.busy or loop.quit())
    clock.start()
    QTimer.singleShot(PATIENCE, loop.quit)
    loop.exec()
    QApplication.processEvents()
    if window.evaluator.busy:
        print(f"{window.document.path}: not computed in {PATIENCE} ms", file=sys.stderr)


def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """Press a key where the focus is."""
    QTest.keyClick(QApplication.focusWidget(), key, modifier)


def edit(window: MainWindow) -> None:
    """Move a block, add one, undo both."""
    before = window.document.diagram
    canvas = window.canvas
    canvas.setFocus()
    name = next(name for name in before.main.blocks if not canvas.block_rect(name).isEmpty())
    face = canvas.block_rect(name)
    at = QPoint(face.center().x(), face.top() + 8)
    QTest.mouseMove(canvas, at)
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    rest(window)
    press(KEY.Key_Right, Qt.KeyboardModifier.ControlModifier)
    rest(window)
    press(KEY.Key_Tab)
    QTest.keyClicks(QApplication.focusWidget(), "variable")
    press(KEY.Key_Return)
    rest(window)
    if len(window.document.diagram.main.blocks) != len(before.main.blocks) + 1:
        print(f"{window.document.path}: the block was not added", file=sys.stderr)
    canvas.setFocus()
    while window.document.undo_stack.canUndo():
        press(KEY.Key_Z, Qt.KeyboardModifier.ControlModifier)
        rest(window)
    if window.document.diagram != before:
        print(f"{window.document.path}: undo does not restore the diagram", file=sys.stderr)


def main() -> None:
    """Try each file in a window of its own."""
    qInstallMessageHandler(show_message)
    application = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        store = QSettings(str(Path(folder, "settings.ini")), QSettings.Format.IniFormat)
        windows = OpenWindows(Settings(store))
        first = windows.new()  # when the last window closes, so does the editor
        for file in sys.argv[1:]:
            copy = Path(shutil.copy(file, folder))
            window = windows.new(copy)
            rest(window)
            edit(window)
            window.close()
            application.sendPostedEvents(None, QEvent.Type.DeferredDelete)
            if windows.listed != (first,):
                print(f"{copy}: the window does not close", file=sys.stderr)
                return
        first.close()


if __name__ == "__main__":
    main()
