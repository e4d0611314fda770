"""Frame times of the canvas: ``python -m tests.benchmarks.canvas [BLOCKS …]``.

Prints median and 95th percentile of CPU milliseconds a frame in a window of 1,600 × 1,000 px, for
diagrams with one and a half wires a block, all of them with values and a state.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QApplication

from app.canvas import CanvasView
from app.canvas.camera import Camera
from app.canvas.dragging import Drag
from blocks.registry import registry
from runtime.diagram import Diagram, Page, Point, PortName
from runtime.flow import State, Verdict

ROWS = 25
FRAMES = 60


@dataclass(frozen=True)
class Reading:
    """A reading of made-up numbers."""

    diagram: Diagram
    values: dict[str, Any]
    gradients: dict[str, Any]
    states: dict[str, State]
    norms: dict[str, float | None]
    diagnostics: tuple[()] = ()
    verdict: Callable[..., Verdict | None] = field(default=lambda wire: None)


def diagram_of(count: int) -> Diagram:
    """Columns of 25 blocks, each of which reads one or two blocks of the column before."""
    get = registry().get
    variable, one, two = get("Variable")(value=[[1.0, 2.0]]), get("Tanh")(), get("Mul")()
    blocks, wires, layout = {}, {}, {}
    for i in range(count):
        column, row = divmod(i, ROWS)
        name = f"b{i}"
        layout[name] = Point(column * 240.0, row * 110.0)
        blocks[name] = variable if column == 0 else (one, two)[row % 2]
        if column:
            ports = ("x",) if row % 2 == 0 else ("a", "b")
            for step, port in enumerate(ports):
                source = (column - 1) * ROWS + (row + step * 2) % ROWS
                wires[PortName(name, port)] = PortName(f"b{source}", "out")
    return Diagram({"main": Page(blocks, wires, layout)})


def reading_of(diagram: Diagram, shift: int = 0) -> Reading:
    """Small matrices everywhere, and the states by turns."""
    rng = np.random.default_rng(0)
    page, states = diagram.main, [State.CARRIES] * 8 + [State.STOPPED, State.NOTHING_TO_TRAIN]
    keys = [str(target) for target in page.wires]
    return Reading(
        diagram,
        {f"{name}.out": rng.normal(size=(1, 2)).astype(np.float32) for name in page.blocks},
        {name: rng.normal(size=(1, 2)).astype(np.float32) for name in list(page.blocks)[:ROWS]},
        {key: states[(i + shift) % len(states)] for i, key in enumerate(keys)},
        {key: float(10.0 ** rng.uniform(-4, 2)) for key in keys},
    )


def measured(frames: Iterator[Callable[[], None]]) -> str:
    """Median and 95th percentile of the calls' CPU time."""
    times = []
    for frame in frames:
        start = time.process_time()
        frame()
        times.append(1e3 * (time.process_time() - start))
    return f"{np.median(times):8.1f} {np.percentile(times, 95):8.1f}"


def settled(canvas: CanvasView) -> None:
    """Wait until every face has its picture."""
    for _ in range(200):
        canvas.repaint()
        QApplication.processEvents()
    canvas.repaint()


def opening(canvas: CanvasView, diagram: Diagram, reading: Reading) -> Iterator[Callable[[], None]]:
    """The first sight of a diagram."""

    def frame() -> None:
        canvas.set_diagram(diagram)
        canvas.set_reading(reading)
        canvas.repaint()

    yield frame


def pan(canvas: CanvasView, zoom: float) -> Iterator[Callable[[], None]]:
    """Frames that each move the view a little further."""
    canvas.look(Camera(zoom, -300.0, -300.0))
    settled(canvas)
    for _ in range(FRAMES):

        def frame() -> None:
            canvas.look(canvas.view.camera.panned(-9.0, -4.0))
            canvas.repaint()

        yield frame


def zoom(canvas: CanvasView) -> Iterator[Callable[[], None]]:
    """Frames of a turn of the wheel each, in and out."""
    for i in range(FRAMES):

        def frame(step: float = 1.1 if i % 20 < 10 else 1 / 1.1) -> None:
            canvas.zoom_at(step, QPointF(800.0, 500.0))
            canvas.repaint()

        yield frame


def drag(canvas: CanvasView) -> Iterator[Callable[[], None]]:
    """Frames that each move a block by one step of the grid."""
    canvas.look(Camera(1.0, -300.0, -300.0))
    scene = canvas.view.scene
    block = scene.names[min(ROWS + 5, len(scene.names) - 1)]
    canvas.select([block])
    settled(canvas)
    gesture = Drag(canvas, QPointF(0, 0), scene.rects[scene.index[block], :2])
    for i in range(FRAMES):

        def frame(i: int = i) -> None:
            gesture.move(QPointF(10.0 * i, 5.0 * i))
            QApplication.processEvents()

        yield frame
    gesture.cancel()


def full_view(canvas: CanvasView) -> Iterator[Callable[[], None]]:
    """The whole diagram, again and again."""
    canvas.zoom_to_fit()
    settled(canvas)
    for _ in range(FRAMES):
        yield canvas.repaint


def recolour(canvas: CanvasView, readings: list[Reading]) -> Iterator[Callable[[], None]]:
    """The whole diagram with the states of another reading each time."""
    canvas.zoom_to_fit()
    settled(canvas)
    for i in range(FRAMES):

        def frame(i: int = i) -> None:
            canvas.set_reading(readings[i % 2])
            canvas.repaint()

        yield frame


def undo_delete_all(canvas: CanvasView, diagram: Diagram) -> Iterator[Callable[[], None]]:
    """Everything comes back after it was deleted."""
    for _ in range(10):
        canvas.set_diagram(Diagram())
        canvas.repaint()

        def frame() -> None:
            canvas.set_diagram(diagram)
            canvas.repaint()

        yield frame


def main(counts: list[int]) -> None:
    """Print the table."""
    application = QApplication.instance() or QApplication([])
    assert application is not None
    print(f"{'':28}{'median':>8} {'p95':>8}   ms a frame")
    for count in counts:
        diagram = diagram_of(count)
        readings = [reading_of(diagram), reading_of(diagram, 1)]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        canvas = CanvasView()
        canvas.resize(1600, 1000)
        canvas.show()

        print(f"{count} blocks, {len(diagram.main.wires)} wires")
        for title, frames in {
            "open": opening(canvas, diagram, readings[0]),
            "pan at 100 %": pan(canvas, 1.0),
            "pan at 50 %": pan(canvas, 0.5),
            "drag": drag(canvas),
            "wheel": zoom(canvas),
            "full view": full_view(canvas),
            "recolour": recolour(canvas, readings),
            "undo of delete all": undo_delete_all(canvas, diagram),
        }.items():
            print(f"  {title:26}{measured(frames)}")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"  {'memory':26}{grown / 1024:8.0f} MiB more at its peak")
        canvas.close()


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [100, 1_000, 10_000])
