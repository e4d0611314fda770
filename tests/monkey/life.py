"""A monkey at the windows of an editor: each of its acts follows from a number alone.

What an act does follows from its number and from what the windows show, so a life is replayed by
its seed, and a shorter one is made by leaving numbers out. Questions that stop everything are
answered by the same dice; time goes on by a step an act, as far as the history is concerned.
"""

from __future__ import annotations

import collections
import random
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest.mock import patch

from PySide6.QtCore import QSettings, QTimer
from PySide6.QtPrintSupport import QPrintDialog
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFileDialog,
    QMessageBox,
    QPushButton,
    QWidget,
)

from gradwire.app.services.settings import Settings
from gradwire.app.shell.windows import OpenWindows
from gradwire.runtime.diagram import Diagram, dumps
from tests.app.closing import give_up
from tests.app.mouse import let_go
from tests.monkey import edits, events
from tests.monkey.laws import Alarm, agrees, told_to_all, valid

if TYPE_CHECKING:
    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.shell.main_window import MainWindow

MOST_BLOCKS = 200
MOST_PAGES = 8
MOST_WINDOWS = 2
TICK = 0.2
"""Seconds an act takes, as the history counts them."""
PATIENCE = 100
"""Times an act is looked after before the menu that it opened, and waits for, is closed."""
TOLD = 30
"""Acts told of at a failure."""

ACTS: tuple[tuple[float, Callable[[Monkey], None]], ...] = (
    (12, events.click), (4, events.double_click), (3, events.press), (6, events.move),
    (3, events.release), (14, events.drag), (3, events.wheel), (1, events.pinch),
    (16, events.key), (8, events.shortcut), (8, events.history), (5, events.text),
    (6, events.action), (10, events.panel), (3, events.drop_block),
    (1.5, events.tip), (0.4, events.resize), (0.5, events.rest),
    (10, edits.change), (5, edits.grow), (1.5, edits.clipboard), (1, edits.autosave),
    (0.7, edits.save), (0.2, edits.meddle), (0.1, edits.drop_any_file),
    (0.1, edits.other_window), (3, edits.settle),
)  # fmt: skip
WEIGHTS, CHOICES = zip(*ACTS, strict=True)


class Failed(AssertionError):
    """A law was broken. ``number`` is that of the last act."""

    def __init__(self, number: int, reason: str, acts: Iterable[str]) -> None:
        super().__init__(f"after act {number}:\n{reason}\nlast acts:\n  " + "\n  ".join(acts))
        self.number = number
        self.reason = reason


class Monkey:
    """Acts on a window of its own, and on a second one now and then."""

    def __init__(self, seed: int, trace: Path | None = None) -> None:
        self.seed = seed
        self.dice = random.Random(seed)
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self._temporary.name)
        self._trace = None if trace is None else trace.open("w", buffering=1)
        self._acts: collections.deque[str] = collections.deque(maxlen=TOLD)
        self._now = 0.0
        self._patches = [
            patch(
                "gradwire.app.document.document.time", SimpleNamespace(monotonic=lambda: self._now)
            ),
            patch.object(QFileDialog, "getOpenFileName", self._no_file),
            patch.object(QFileDialog, "getSaveFileName", self._some_file),
            patch.object(QPrintDialog, "exec", lambda dialog: 0),
        ]
        for each in self._patches:
            each.start()
        self._alarm = Alarm()
        settings = QSettings(str(self.folder / "settings.ini"), QSettings.Format.IniFormat)
        self.windows = OpenWindows(Settings(settings))
        self.window: MainWindow = self.windows.new()
        self.window.resize(1200, 800)
        self._histories: dict[MainWindow, History] = {}
        self._watch(self.window)
        self._open_before: QWidget | None = None
        self._waited = 0
        self._answerer = QTimer(interval=1)
        self._answerer.timeout.connect(self._answer)
        self._answerer.start()
        QTest.qWait(20)

    @property
    def canvas(self) -> CanvasView:
        """The canvas of the window that is acted upon."""
        return self.window.canvas

    def live(self, numbers: Iterable[int], every: int = 250) -> None:
        """Do the acts of these numbers; raises Failed at the first after which a law is broken."""
        number = -1
        try:
            for count, number in enumerate(numbers):
                self._act(number)
                if count % every == every - 1:
                    self._check()
            self._check()
            for window in self.windows.listed:
                self._watch(window).walk()
            self._check()
        except Failed:
            raise
        except Exception as error:
            heard = "\n".join(self._alarm.heard)
            raise Failed(number, f"{heard}\n{_told(error)}", self._acts) from error

    def close(self) -> None:
        """Release all buttons, close all windows and give everything back."""
        let_go(QWidget())
        for window in self.windows.listed:
            give_up(window)
        self._answerer.stop()
        QApplication.processEvents()
        self._alarm.close()
        for each in self._patches:
            each.stop()
        if self._trace is not None:
            self._trace.close()
        self._temporary.cleanup()

    def _act(self, number: int) -> None:
        self.dice = random.Random(f"{self.seed}/{number}")
        self._now += TICK
        listed = self.windows.listed
        self.window = listed[0] if self.dice.random() < 0.9 else listed[-1]
        act = self.dice.choices(CHOICES, WEIGHTS)[0]
        pages = self.window.document.diagram.pages
        if sum(len(p.blocks) for p in pages.values()) > MOST_BLOCKS or len(pages) > MOST_PAGES:
            act = edits.cull
        if QApplication.activeModalWidget() is not None:
            act = events.popup
        elif QApplication.activePopupWidget() is not None and act is not edits.settle:
            act = events.popup  # nothing else gets what a user does while it is open
        told = f"{number} {act.__name__} on window {listed.index(self.window)}"
        self._acts.append(told)
        self._open_before, self._waited = QApplication.activePopupWidget(), 0
        if self._trace is not None:
            self._trace.write(told + "\n")
        act(self)
        if self.dice.random() < 0.5:
            QApplication.processEvents()
        while len(self.windows.listed) > MOST_WINDOWS:
            self.windows.listed[-1].close()
        self._alarm.listen()
        for window in self.windows.listed:
            self._watch(window).note()

    def _check(self) -> None:
        QApplication.processEvents()
        for window in self.windows.listed:
            valid(window.document.diagram)
            agrees(window)
            told_to_all(window.canvas)
            window.canvas.repaint()
        self._alarm.listen()

    def _watch(self, window: MainWindow) -> History:
        if window not in self._histories:
            self._histories[window] = History(window)
            for name in ("close_window", "quit"):  # a life is that of the window
                window.actions_by_name[name].setEnabled(False)
        return self._histories[window]

    def _answer(self) -> None:
        """Answer a question that waits for an answer, and leave a menu that an act waits for."""
        self._waited += 1
        menu = QApplication.activePopupWidget()
        if menu is not None and menu is not self._open_before and self._waited > PATIENCE:
            menu.close()
        asking = QApplication.activeModalWidget()
        if not isinstance(asking, QDialog):
            return
        if isinstance(asking, QMessageBox) or self.dice.random() < 0.5:
            buttons = [b for b in asking.findChildren(QPushButton) if b.isEnabled()]
            if buttons:
                self.dice.choice(buttons).click()
                return
        if self.dice.random() < 0.3:
            asking.reject()

    def _no_file(self, *_: object) -> tuple[str, str]:
        return "", ""

    def _some_file(self, *arguments: object) -> tuple[str, str]:
        if "picture" in str(arguments[1]):
            ending = self.dice.choice((".svg", ".png", ".pdf", ".tex"))
            return str(self.folder / f"picture{ending}"), ""
        return "", ""


class History:
    """What a document was at each step of its undo stack, as far as it was seen there."""

    def __init__(self, window: MainWindow) -> None:
        self._document = window.document
        self._seen: dict[int, Diagram] = {}
        self._last = self._top = 0
        self._document.opened.connect(self._forget)
        self.note()

    def note(self) -> None:
        """See what the document is now."""
        stack = self._document.undo_stack
        index, count = stack.index(), stack.count()
        gone = range(self._last + 1, index) if index == count else range(0)
        for i in (*gone, *range(count + 1, self._top + 1)):
            self._seen.pop(i, None)
        self._seen[index] = self._document.diagram
        self._last, self._top = index, count

    def walk(self) -> None:
        """Undo everything, redo everything: all is as it was, to the bit."""
        document, stack = self._document, self._document.undo_stack
        index, end = stack.index(), dumps(document.diagram)
        while stack.canRedo():
            stack.redo()
            self._compare()
        while stack.canUndo():
            stack.undo()
            self._compare()
        assert 0 not in self._seen or dumps(document.diagram) == dumps(self._seen[0])
        while stack.index() < index:
            stack.redo()
            self._compare()
        assert dumps(document.diagram) == end, "redo∘undo is not the identity"

    def _compare(self) -> None:
        seen = self._seen.get(self._document.undo_stack.index())
        assert seen is None or seen is self._document.diagram or seen == self._document.diagram

    def _forget(self) -> None:
        self._seen = {}
        self._last = self._top = 0


def _told(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))
