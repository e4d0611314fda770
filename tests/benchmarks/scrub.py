"""How soon the canvas follows a dragged number: ``python -m tests.benchmarks.scrub [BLOCKS]``.

In a whole window a number is dragged by mouse moves. Each line gives the median and the 95th
percentile of the milliseconds from a move to the end of the painting that shows the new value and
the states that follow from it; both are asserted. The processor time of the same, all threads
together, is what a machine without other load needs. Not a test: it prints numbers.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from unittest.mock import patch

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QEvent, QEventLoop, QPoint, QPointF, QSettings, Qt, QTimer
from PySide6.QtGui import QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.paint.blocks.numbers import number_box
from gradwire.app.canvas.view import CanvasView
from gradwire.app.document.numbers import NumberCell
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.garbage import GarbageCollector
from gradwire.app.services.settings import Settings
from gradwire.app.shell import main_window
from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import MAIN, Arrange, Diagram, apply
from tests.benchmarks.edits import Drawing

BLOCKS = 1_000
MOVES = 60
PATIENCE = 30.0
"""Seconds after which a move that shows nothing fails."""
NUMBER = NumberCell("w0", "value", (0,))
RELU, ADDN, MEAN = registry().get("Relu"), registry().get("AddN"), registry().get("Mean")


def layered(blocks: int):
    """Rows of products and relus that all read one vector, each with a weight of its own."""
    drawing = Drawing()
    drawing.put("w0", Variable(value=[1.0, -2.0, 0.5]))
    terms = {}
    generator = np.random.default_rng(0)
    for i in range((blocks - 4) // 3):
        weight = generator.standard_normal(3).round(2).tolist()
        drawing.put(f"v{i}", Variable(value=weight))
        drawing.put(f"m{i}", Mul(), a="w0", b=f"v{i}")
        drawing.put(f"r{i}", RELU(), x=f"m{i}")
        terms[f"terms_{i}"] = f"r{i}"
    drawing.put("sum", ADDN(), **terms)
    drawing.put("mean", MEAN(), x="sum")
    drawing.put("loss", Loss(), x="mean")
    return apply(drawing.diagram(), Arrange()).after


def chained(blocks: int):
    """Products and relus one behind the other, in rows."""
    drawing = Drawing()
    last = drawing.put("w0", Variable(value=[1.0, -2.0, 0.5]))
    for i in range((blocks - 3) // 2):
        last = drawing.put(f"m{i}", Mul(b=1.001), a=last)
        last = drawing.put(f"r{i}", RELU(), x=last)
    drawing.put("mean", MEAN(), x=last)
    drawing.put("loss", Loss(), x="mean")
    return apply(drawing.diagram(), Arrange()).after


def paged(blocks: int):
    """Uses of one page of four blocks, a layer with a weight of its own, one behind the other."""
    layer = Drawing()
    layer.put("x", PageInput())
    layer.put("w", Variable(value=[1.01, 0.99, 1.0]))
    layer.put("m", Mul(), a="x", b="w")
    layer.put("r", RELU(), x="m")
    layer.put("y", PageOutput(), x="r")
    drawing = Drawing()
    last = drawing.put("w0", Variable(value=[1.0, -2.0, 0.5]))
    for i in range((blocks - 3) // 6):
        use = drawing.put(f"layer{i}", PageBlock(page="layer"), x=last)
        last = f"{use}.y"
    drawing.put("mean", MEAN(), x=last)
    drawing.put("loss", Loss(), x="mean")
    pages = {MAIN: drawing.page(), "layer": layer.page()}
    return apply(Diagram(pages), Arrange()).after


def several(blocks: int):
    """The rows of ``layered`` for four losses, whose lanes lie side by side."""
    drawing = Drawing()
    drawing.put("w0", Variable(value=[1.0, -2.0, 0.5]))
    groups: list[dict[str, str]] = [{} for _ in range(4)]
    for i in range((blocks - 13) // 3):
        terms = groups[i % 4]
        drawing.put(f"v{i}", Variable(value=[0.1 * (i % 7) - 0.3, 1.0, -0.5]))
        drawing.put(f"m{i}", Mul(), a="w0", b=f"v{i}")
        terms[f"terms_{len(terms)}"] = drawing.put(f"r{i}", RELU(), x=f"m{i}")
    for i, terms in enumerate(groups):
        drawing.put(f"sum{i}", ADDN(), **terms)
        drawing.put(f"mean{i}", MEAN(), x=f"sum{i}")
        drawing.put(f"loss{i}", Loss(), x=f"mean{i}")
    return apply(drawing.diagram(), Arrange()).after


WORKLOADS = {"chain": chained, "fan": layered, "pages": paged, "losses": several}


class Hand:
    """Drags one number of a window and waits for each picture."""

    def __init__(self, window: main_window.MainWindow) -> None:
        self.window = window
        self.canvas = window.canvas
        self._start = self._at = QPoint()
        # Events that are only sent don't press the application's button.
        self._held = patch("gradwire.app.services.garbage.QGuiApplication")

    def press(self) -> None:
        self._held.start().mouseButtons.return_value = Qt.MouseButton.LeftButton
        box = number_box(self.canvas.view, NUMBER)
        assert box is not None, "the number is not shown"
        self._start = box.center().toPoint()
        self._send(QEvent.Type.MouseMove, self._start, pressed=False)
        self._send(QEvent.Type.MouseButtonPress, self._start)

    def move(self, x: int) -> tuple[float, float]:
        """Milliseconds, on the wall and of the processors, until ``x`` is painted with states."""
        canvas, document = self.canvas, self.window.document
        before = document.diagram
        start, spent = time.perf_counter(), time.process_time()
        self._at = self._start + QPoint(x, 0)
        self._send(QEvent.Type.MouseMove, self._at)
        assert document.diagram is not before, "the move changed nothing"
        canvas.painted = 0
        while not self._shows(document.diagram):
            QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
            assert time.perf_counter() - start < PATIENCE, "nothing was painted"
        return 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - spent)

    def release(self) -> None:
        self._held.stop()
        self._send(QEvent.Type.MouseButtonRelease, self._at)

    def _shows(self, diagram) -> bool:
        page = self.canvas.view.annotations.page
        if page.result is None or page.result.diagram is not diagram:
            self.canvas.painted = 0
            return False
        wanted = diagram.main.blocks[NUMBER.block].value.array[NUMBER.cell]
        assert page.result.values[f"{NUMBER.block}.out"][NUMBER.cell] == wanted
        return self.canvas.painted > 0 and not self.canvas.context.painter.faces.behind

    def _send(self, kind: QEvent.Type, at: QPoint, *, pressed: bool = True) -> None:
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        button = none if kind == QEvent.Type.MouseMove else left
        held = left if pressed and kind != QEvent.Type.MouseButtonRelease else none
        place = QPointF(self.canvas.mapToGlobal(at))
        plain = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(
            self.canvas, QMouseEvent(kind, QPointF(at), place, button, held, plain)
        )


class Canvas(CanvasView):
    """A canvas that counts its finished paintings."""

    painted = 0

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        self.painted += 1


def measure(window: main_window.MainWindow, diagram, zoom: float | None) -> str:
    window.document._begin(diagram, None)
    hand = Hand(window)
    window.canvas.painted = 0
    limit = time.perf_counter() + PATIENCE
    while window.evaluator.busy or not window.canvas.painted:
        QApplication.processEvents()
        assert time.perf_counter() < limit, "the first result did not come"
    if zoom is not None:
        window.canvas.set_zoom(zoom)
        window.canvas.reveal(window.canvas.view.scene.bounds_of([NUMBER.block]))
    for _ in range(20):
        QApplication.processEvents()
        time.sleep(0.01)
    states = set()
    hand.press()
    times = []
    for i in range(1, MOVES + 1):
        times.append(hand.move(-8 * i))
        result = window.evaluator.result
        states.add(tuple(result.states.values()))
        time.sleep(0.005)
    hand.release()
    assert window.document.undo_stack.count() == 1
    assert window.evaluator.result.states == evaluate(window.document.diagram).states
    columns = [sorted(column) for column in zip(*times, strict=True)]
    found = [f"{statistics.median(c):7.1f} {c[int(0.95 * len(c))]:7.1f}" for c in columns]
    return f"{'  '.join(found)}   {len(states):4d}"


def main() -> None:
    blocks = int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS
    application = QApplication(sys.argv[:1])
    collector = GarbageCollector()
    folder = tempfile.TemporaryDirectory()
    settings = Settings(QSettings(f"{folder.name}/settings.ini", QSettings.Format.IniFormat))
    main_window.CanvasView = Canvas
    window = main_window.MainWindow(settings)
    window.resize(1600, 1000)
    window.show()
    waker = QTimer(interval=50)  # so that waiting for events ends
    waker.start()
    print(f"{blocks} blocks           wall ms    95 %   cpu ms    95 %   sets of states")
    for name, make in WORKLOADS.items():
        diagram = make(blocks)
        for zoom in (0.65, 1.0):
            print(
                f"{name:8} at {100 * zoom:3.0f} %      {measure(window, diagram, zoom)}", flush=True
            )
    collector.collect()
    window.document.undo_stack.setClean()
    window.close()
    application.processEvents()
    folder.cleanup()


if __name__ == "__main__":
    main()
