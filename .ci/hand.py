"""A scripted hand in the editor: ``hand.py FILE...``, on an X display with a window manager.

The editor is started as its command does, and does with a copy of each file what a user does, all
by events of the display: rest on a block, drag a number, drop a block, insert a stop, undo, redo,
copy, paste, rename, delete, play the training and undo while it plays, play the timeline, start and
leave the lesson, save and close. What goes wrong is written to standard error: by Qt, by Python, or
here.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from events import Awaited, Player, Script, click, complain, drag, followed, point, press, write
from PySide6.QtCore import QPoint, QRect
from PySide6.QtWidgets import QApplication, QLineEdit

from gradwire.app.canvas.paint.blocks.numbers import number_box, number_boxes
from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.canvas.scene.hits import bend_at, block_at, port_at, wire_at
from gradwire.app.shell import application
from gradwire.app.shell.main_window import MainWindow

if TYPE_CHECKING:
    from gradwire.app.document.numbers import NumberCell
    from gradwire.runtime.diagram import Diagram, Page

STEPS = 3
"""Training steps that are seen before something else is done."""
EDGE = 12
"""Pixels between the edge of the canvas and what the hand reaches for."""


def windows() -> list[MainWindow]:
    """The windows that are open."""
    return [
        w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow) and w.isVisible()
    ]


class Visit:
    """What the hand does in one window."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.canvas, self.document = window.canvas, window.document

    def everything(self) -> Script:
        """All of it, each part from the diagram of the file."""
        yield self.settled("the first result")
        yield from self.decline_lesson()
        start = self.diagram
        parts: tuple[Callable[[], Script], ...] = (
            self.rest, self.drag_a_number, self.drop_a_block, self.stop_a_wire, self.copy_and_paste,
            self.rename, self.delete,
        )  # fmt: skip
        for part in parts:
            yield from self.focus()
            yield from part()
            yield self.settled(part.__name__)
            yield from self.undo_to(start)
        yield from self.redo_and_undo()
        yield from self.play_timeline()
        if start.training is not None:
            yield from self.play_training()
        if start.lesson is not None and start.lesson.steps:
            yield from self.play_lesson()
        yield from self.save_and_close()

    @property
    def diagram(self) -> Diagram:
        """The diagram as it is."""
        return self.document.diagram

    def page(self) -> Page:
        """The page that is shown."""
        return self.diagram.main

    def settled(self, what: str) -> Awaited:
        """Until nothing is computed."""
        return Awaited(f"{what} is computed", lambda: not self.window.evaluator.busy)

    def until(self, what: str, is_there: Callable[[], bool]) -> Awaited:
        """Until the editor has followed."""
        return Awaited(what, is_there)

    # ---- finding ------------------------------------------------------------------------------

    def is_reachable(self, at: QPoint) -> bool:
        """Whether a place of the canvas is in view, and nothing lies over it."""
        inner = self.canvas.rect().adjusted(EDGE, EDGE, -EDGE, -EDGE)
        return inner.contains(at) and self.canvas.childAt(at) is None

    def face(self, name: str) -> QPoint:
        """A place on a block that is no port, number nor name."""
        rect: QRect = self.canvas.block_rect(name)
        return QPoint(rect.center().x(), rect.top() + max(2, min(8, rect.height() // 6)))

    def blocks(self) -> list[str]:
        """The blocks that can be pressed."""
        view = self.canvas.view
        found = []
        for name in view.scene.names:
            at = self.face(name)
            hit = block_at(view.scene, view.camera, at.x(), at.y())
            port = port_at(view.scene, view.camera, at.x(), at.y())
            if port is None and hit == view.scene.index[name] and self.is_reachable(at):
                found.append(name)
        return found

    def wires(self) -> list[QPoint]:
        """Places on wires that can be pressed."""
        view, found = self.canvas.view, []
        for key in view.scene.wire_index:
            at = self.canvas.wire_position(key)
            place = view.scene, view.camera, at.x(), at.y()
            others = (block_at(*place), port_at(*place), bend_at(*place))
            if wire_at(*place) is not None and others == (None,) * 3 and self.is_reachable(at):
                found.append(at)
        return found

    def numbers(self) -> list[tuple[NumberCell, QPoint]]:
        """The numbers on faces that can be dragged, with their places."""
        view, found = self.canvas.view, []
        for i in range(len(view.scene.names)):
            for number in number_boxes(view.annotations, i, view.camera.zoom):
                box = number_box(view, number)
                at = None if box is None else box.center().toPoint()
                if (
                    at is not None
                    and self.is_reachable(at)
                    and self.is_reachable(at + QPoint(40, 0))
                ):
                    found.append((number, at))
        return found

    def free_place(self) -> QPoint:
        """A place of the canvas where nothing is."""
        view, rect = self.canvas.view, self.canvas.rect()
        for y in range(EDGE, rect.height(), 24):
            for x in range(EDGE, rect.width(), 24):
                place = view.scene, view.camera, float(x), float(y)
                if wire_at(*place) is None and block_at(*place) is None and port_at(*place) is None:
                    at = QPoint(x, y)
                    if self.is_reachable(at):
                        return at
        raise LookupError("the page leaves no place free")

    # ---- doing --------------------------------------------------------------------------------

    def focus(self) -> Script:
        """Give the canvas the keyboard, and show all of the page."""
        yield self.settled("what was done")
        click(self.canvas, self.free_place())
        yield self.until("the canvas has the focus", self.canvas.hasFocus)
        press("ctrl+0")
        yield self.settled("the whole page")

    def select(self, name: str) -> Script:
        """Press a block."""
        click(self.canvas, self.face(name))
        yield self.until(f"{name} is selected", lambda: self.canvas.selection() == {name})

    def undo_to(self, diagram: Diagram) -> Script:
        """Undo all, one by one."""
        yield from self.focus()
        stack = self.document.undo_stack
        while stack.canUndo():
            before = stack.index()
            press("ctrl+z")
            yield self.until("a change is undone", lambda before=before: stack.index() < before)
        yield self.settled("what was undone")
        if self.diagram != diagram:
            complain(f"{self.document.path}: undo does not restore the diagram")

    def rest(self) -> Script:
        """Rest on blocks and wires until they say something."""
        for at in (*map(self.face, self.blocks()[:3]), *self.wires()[:2]):
            point(self.canvas, at)
            for _ in range(12):
                yield followed("resting")

    def drag_a_number(self) -> Script:
        """Drag the first number that a hand can reach, of the first block that shows one."""
        if self.canvas.view.camera.zoom < NUMBERS:
            press("ctrl+1")
            yield self.until("actual size", lambda: self.canvas.view.camera.zoom >= NUMBERS)
        numbers = self.numbers()
        for name in () if numbers else self.blocks()[:3]:
            press("ctrl+0")
            yield followed("the whole page")
            yield from self.select(name)
            press("ctrl+2")
            yield followed("the zoom")
            if numbers := self.numbers():
                break
        if not numbers:
            return
        before, (number, at) = self.diagram, numbers[0]
        yield from drag(self.canvas, at, self.canvas, at + QPoint(40, 0))
        yield self.until(f"{number} is changed", lambda: self.diagram != before)

    def drop_a_block(self) -> Script:
        """Drag a block from the palette onto the page."""
        palette = self.window.palette_panel
        click(palette.search_line)
        yield self.until("the search has the focus", palette.search_line.hasFocus)
        press("ctrl+a")
        write("StopGradient")
        tree = palette.tree
        model = tree.model()

        def row() -> QRect:
            return tree.visualRect(model.index(0, 0, model.index(0, 0)))

        def found() -> bool:
            index = model.index(0, 0, model.index(0, 0))
            return index.data() == "StopGradient" and not row().isEmpty()

        yield self.until("the palette shows StopGradient", found)
        before = len(self.page().blocks)
        yield from drag(tree.viewport(), row().center(), self.canvas, self.free_place())
        yield self.until("the block is on the page", lambda: len(self.page().blocks) == before + 1)
        click(palette.search_line)
        yield self.until("the search has the focus", palette.search_line.hasFocus)
        press("ctrl+a", "BackSpace")
        yield followed("the search")

    def stop_a_wire(self) -> Script:
        """Insert a StopGradient into a wire."""
        if not (places := self.wires()):
            return
        before = len(self.page().blocks)
        click(self.canvas, places[len(places) // 2])
        yield self.until("a wire is selected", lambda: self.canvas.view.selection.wire is not None)
        press("ctrl+shift+i")
        yield self.until("the stop is there", lambda: len(self.page().blocks) == before + 1)

    def copy_and_paste(self) -> Script:
        """Copy a block and paste it."""
        before = len(self.page().blocks)
        yield from self.select(self.blocks()[0])
        press("ctrl+c")
        yield followed("the copy")
        press("ctrl+v")
        yield self.until("the copy is there", lambda: len(self.page().blocks) == before + 1)

    def rename(self) -> Script:
        """Give a block another name."""
        name = self.blocks()[-1]
        yield from self.select(name)
        press("F2")
        yield self.until("the name is edited", lambda: self.typing_into() is not None)
        press("ctrl+a")
        write("renamed_by_hand")
        press("Return")
        yield self.until("the block is renamed", lambda: "renamed_by_hand" in self.page().blocks)

    def typing_into(self) -> QLineEdit | None:
        """The field of the canvas that takes what is typed."""
        field = QApplication.focusWidget()
        is_own = isinstance(field, QLineEdit) and self.canvas.isAncestorOf(field)
        return field if is_own else None

    def delete(self) -> Script:
        """Remove a block."""
        name = self.blocks()[0]
        yield from self.select(name)
        press("Delete")
        yield self.until(f"{name} is removed", lambda: name not in self.page().blocks)

    def redo_and_undo(self) -> Script:
        """Delete a block, undo, redo, undo."""
        start = self.diagram
        yield from self.focus()
        yield from self.delete()
        without = self.diagram
        press("ctrl+z")
        yield self.until("the block is back", lambda: self.diagram == start)
        press("ctrl+shift+z")
        yield self.until("the block is gone again", lambda: self.diagram == without)
        yield from self.undo_to(start)

    def play_timeline(self) -> Script:
        """Play the timeline for a while, then leave it."""
        yield from self.focus()
        timeline = self.window.timeline
        press("F8")
        yield self.until("the timeline is shown", lambda: timeline.is_on)
        while not timeline.is_playing:  # it is being recorded
            click(timeline.bar.play)
            yield followed("the button")
        yield self.until("the timeline plays", lambda: timeline.position > 2)
        press("F8")
        yield self.until("the timeline is left", lambda: not timeline.is_on)

    def play_training(self) -> Script:
        """Play the training, undo an edit while it plays, go back to the beginning."""
        yield from self.focus()
        training, stack, start = self.window.training, self.document.undo_stack, self.diagram
        yield from self.rename()
        press("F7")
        yield self.until("the training plays", lambda: training.step_shown >= STEPS)
        yield from self.focus()
        press("ctrl+z")
        yield self.until("an edit is undone while it plays", stack.canRedo)
        yield followed("the undo")
        if training.is_playing:
            press("F7")
        yield self.until("the training is paused", lambda: not training.is_playing)
        yield self.settled("the training")
        yield from self.undo_to(start)

    def decline_lesson(self) -> Script:
        """Say Not Now where a lesson is offered, which hides what it asks for."""
        offer, curtain = self.window.lesson_offer, self.window.curtain
        if self.diagram.lesson is not None and self.diagram.lesson.steps:
            yield self.until("the lesson is offered", lambda: len(offer.buttons) == 2)
            yield self.until("its answers are hidden", lambda: curtain.is_drawn)
            click(offer.buttons[1])
            yield self.until("nothing is hidden", lambda: not curtain.is_drawn)
            yield self.settled("the result")

    def play_lesson(self) -> Script:
        """Start the lesson, look at its first steps, leave it."""
        yield from self.focus()
        others = windows()
        press("shift+F8")
        yield self.until("the lesson has begun", lambda: len(windows()) > len(others))
        (learner,) = (w for w in windows() if w not in others)
        visit = Visit(learner)
        yield self.until("the lesson has the focus", learner.isActiveWindow)
        yield visit.settled("the lesson")
        player = learner.player
        for _ in range(2):
            button = player.panel.next
            if button.isVisible() and button.isEnabled():
                click(button)
                yield visit.settled("the next step")
        press("shift+F8")  # leaves it
        yield self.until("its window is closed", lambda: len(windows()) == len(others))
        yield self.until("the window is in front again", self.window.isActiveWindow)

    def save_and_close(self) -> Script:
        """Save, close, and compare nothing: what is open at the end is reported."""
        press("ctrl+s")
        yield self.until("the file is saved", lambda: self.document.is_clean)
        yield from self.close()

    def close(self) -> Script:
        """Close the window."""
        closed = []
        self.window.closed.connect(lambda: closed.append(True))
        press("ctrl+w")
        yield self.until("the window closes", lambda: bool(closed))


def script(files: list[Path], folder: Path) -> Script:
    """Visit each file; after a failure go on with the next one."""
    (first,) = windows()
    for file in files:
        copy = Path(shutil.copy(file, folder))
        print(copy.name, flush=True)
        try:
            yield from visit(first, copy)
        except Exception:  # whatever goes wrong with one file, the others are tried
            picture = Path(tempfile.gettempdir(), f"{copy.stem}.png")
            QApplication.primaryScreen().grabWindow(0).save(str(picture))
            complain(f"{copy.name}, as {picture} shows:\n{traceback.format_exc()}")
            press("Escape")
            for window in windows():
                if window is not first:
                    window.document.undo_stack.setClean()
                    window.close()
        yield Awaited("the other windows are closed", lambda: windows() == [first])
    press("ctrl+q")
    yield Awaited("the editor ends", lambda: not windows())


def visit(first: MainWindow, file: Path) -> Script:
    """Open a file by the dialog of a new window, and do everything there."""
    yield Awaited("the first window has the focus", first.isActiveWindow)
    press("ctrl+shift+n")
    yield Awaited("another window", lambda: len(windows()) == 2)
    (window,) = (w for w in windows() if w is not first)
    yield Awaited("the new window has the focus", window.isActiveWindow)
    press("ctrl+o")
    yield Awaited("the dialog", lambda: QApplication.activeModalWidget() is not None)
    press("ctrl+a")
    write(str(file))
    while QApplication.activeModalWidget() is not None:  # the first may close the completion
        press("Return")
        yield followed("the choice")
    yield Awaited("the file is open", lambda: window.document.path == file)
    yield from Visit(window).everything()


def main() -> int:
    """Start the editor as its command does; its event loop begins with the hand."""
    files, plain, players = list(map(Path, sys.argv[1:])), QApplication.exec, []
    with tempfile.TemporaryDirectory(prefix="hand-") as folder:

        def with_hand(*_: object) -> int:
            players.append(Player(script(files, Path(folder)), QApplication.quit))
            return plain()

        QApplication.exec = with_hand
        del sys.argv[1:]
        return application.run(None)


if __name__ == "__main__":
    sys.exit(main())
