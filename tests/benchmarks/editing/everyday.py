"""What everyday edits cost the window: ``python -m tests.benchmarks.editing.everyday [BLOCKS …]``.

Each line is one edit in the real window of ``tests.benchmarks.canvas``, with all its panels and a
made-up result: the median and the most over a few times of the edit, of its undo and of its redo,
in milliseconds of the GUI thread, from the request until what it changed is painted. ``--only``
names the edits to measure. Not a test: it prints numbers.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import TypeAlias

from PySide6.QtTest import QTest

from gradwire.app.canvas.input.spacing import make_space
from gradwire.app.canvas.scene.camera import Camera
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    Disconnect,
    Note,
    Point,
    PortName,
    RemoveBlocks,
    SetNote,
    SetParameters,
)
from tests.benchmarks.canvases import GRABBED, Gradwire, turn
from tests.benchmarks.diagrams import ROWS, Drawing

Act: TypeAlias = Callable[[], object]
TIMES = 5
REPAINTS = 6
"""Frames between two edits, after which nothing is left to be drawn."""
NAME = f"b{GRABBED}"
CHOSEN = frozenset(f"b{ROWS * 3 + i}" for i in range(50))
TIGHT = Point(240.0 * (GRABBED // ROWS) + 60.0, 110.0 * (GRABBED % ROWS) + 20.0)
"""A corner at which a block covers others in two rows."""


class Everyday(Gradwire):
    """The window, and what a user does in it all day."""

    def edits(self) -> dict[str, Act]:
        """Each edit by name."""
        canvas, apply = self._canvas, self._window.document.apply
        new = AddBlock("new", registry().get("Tanh")(), Point(-300.0, 0.0))
        tight = AddBlock("new", new.block, TIGHT)
        note = Note("hello", Point(0.0, -100.0))
        target = PortName(NAME, "a" if GRABBED % ROWS % 2 else "x")

        def move() -> None:
            canvas.select(CHOSEN)
            canvas.nudge(10.0, 0.0)

        return {
            "add a block": lambda: apply(new),
            "add where it is tight": lambda: apply(make_space(canvas.view.scene, tight, ["new"])),
            "make room alone": lambda: make_space(canvas.view.scene, tight, ["new"]),
            "delete a block": lambda: apply(RemoveBlocks((NAME,))),
            "delete 50": lambda: apply(RemoveBlocks(tuple(sorted(CHOSEN)))),
            "connect a wire": lambda: apply(Connect(PortName("b3", "out"), target)),
            "cut a wire": lambda: apply(Disconnect(target)),
            "type a value": lambda: apply(SetParameters("b3", {"value": [[3.0, 4.0]]})),
            "add a note": lambda: apply(SetNote("note", note)),
            "select all": canvas.select_all,
            "select and move 50": move,
        }

    def measured(self, act: Act) -> Iterator[tuple[float, ...]]:
        """Milliseconds of an edit, and if it can be undone of its undo and its redo."""
        stack = self._window.document.undo_stack
        self._canvas.set_camera(Camera(1.0, -50.0, -50.0))
        for _ in range(TIMES):
            self._canvas.select(())
            before, spent = stack.index(), self._spent(act)
            if stack.index() == before:
                yield (spent,)
            else:
                yield spent, self._spent(stack.undo), self._spent(stack.redo)
                stack.undo()

    def _spent(self, act: Act) -> float:
        self._settle()
        start = time.thread_time()
        act()
        turn()
        return 1e3 * (time.thread_time() - start)

    def _settle(self) -> None:
        while self._window.evaluator.busy:
            QTest.qWait(5)
        self._canvas.view.scene.refine()
        for _ in range(REPAINTS):
            self._canvas.repaint()
            turn()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("blocks", nargs="*", type=int, default=[10_000])
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    for count in chosen.blocks:
        editor, drawing = Everyday(), Drawing(count)
        editor.prepare(drawing)
        editor.open()
        print(f"{f'{count:,} blocks':24} {'edit':>17} {'undo':>17} {'redo':>17}")
        for name, act in editor.edits().items():
            if chosen.only in name:
                parts = zip(*editor.measured(act), strict=True)
                cells = [f"{median(part):8.1f} {max(part):8.1f}" for part in parts]
                print(f"{name:24}", *cells, flush=True)
    os._exit(0)  # not measured: the end of what was built


if __name__ == "__main__":
    main()
