"""The editors that ``tests.benchmarks.canvas`` measures: ours, and how others draw the same."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, QSettings, Qt, QThread
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QUndoCommand, QUndoStack
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QGraphicsItem,
    QGraphicsPathItem,
    QGraphicsScene,
    QGraphicsView,
    QWidget,
)

from gradwire.app.canvas.input.entry.candidates import type_candidate
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.evaluation.evaluator import EvaluationResult, Evaluator, evaluate
from gradwire.app.services.garbage import GarbageCollector
from gradwire.app.services.settings import Settings
from gradwire.app.shell.windows import OpenWindows
from gradwire.runtime.diagram import Diagram, Point, load, save
from tests.benchmarks.diagrams import ROWS, Drawing, result_of

Act = Callable[[], object]
SIZE = (1600, 1000)
DROP, ZOOM = "drop one", "zoom step"
ADD, CONNECT, DELETE, BACK = "add one", "connect", "delete one", "undo of delete one"
SELECT, MOVE, UNDO = "select all", "select all and move", "undo of delete all"
SAVE, LOAD = "save", "load"
ONCE = frozenset({DROP, ADD, CONNECT, DELETE, BACK, SELECT, MOVE, UNDO, SAVE, LOAD})
COLOURS = [Qt.GlobalColor.gray] * 8 + [Qt.GlobalColor.red, Qt.GlobalColor.lightGray]
"""By state."""
GRABBED = ROWS + 5
"""The block that is dragged."""
COARSE = 0.4
"""Zoom below which a view with a level of detail draws blocks without text."""
_STEPS = ((10.0, 5.0), (-590.0, -295.0))
"""Of a drag: on, and back."""


def turn() -> None:
    """Let everything be painted that is to be painted."""
    QApplication.processEvents()
    QApplication.processEvents()


def frames(act: Act, before: Act = lambda: None) -> Iterator[Act]:
    """Frames of the same act for ever; ``before`` each comes what is not measured."""

    def frame() -> None:
        act()
        turn()

    while True:
        before()
        turn()
        yield frame


class Gradwire:
    """The real window; its canvas has the size of the others' views."""

    def __init__(self) -> None:
        self._application = QApplication.instance() or QApplication([])
        self._garbage = GarbageCollector()
        self._folder = tempfile.TemporaryDirectory()
        self._results: dict[tuple[int, int], list[EvaluationResult]] = {}
        store = QSettings(f"{self._folder.name}/settings.ini", QSettings.Format.IniFormat)
        with patch("gradwire.app.shell.main_window.Evaluator", partial(Evaluator, self._read)):
            self._window = OpenWindows(Settings(store)).new()
        self._canvas = self._window.canvas
        self._window.resize(*SIZE)
        turn()
        missing = [a - b for a, b in zip(SIZE, self._canvas.size().toTuple(), strict=True)]
        self._window.resize(*(a + b for a, b in zip(SIZE, missing, strict=True)))
        turn()

    def prepare(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._read(drawing.diagram, None)

    def open(self) -> None:
        self._window.document.open(self._drawing.path)
        turn()

    def measurements(self) -> Mapping[str, Callable[[], Iterator[Act]]]:
        return {
            "full view": self._full_view,
            "pan at 100 %": partial(self._pan, 1.0),
            "pan at 50 %": partial(self._pan, 0.5),
            ZOOM: self._zoom,
            "drag one": self._drag,
            DROP: self._drop,
            ADD: self._add,
            CONNECT: self._connect,
            DELETE: self._delete,
            BACK: self._undo_delete,
            SELECT: lambda: frames(self._canvas.select_all, lambda: self._canvas.select(())),
            "recolour all": self._recolour,
            MOVE: self._move_all,
            UNDO: self._undo,
            SAVE: lambda: frames(lambda: save(self._window.document.diagram, self._drawing.path)),
            LOAD: lambda: frames(lambda: load(self._drawing.path)),
        }

    def _read(self, diagram: Diagram, superseded: object) -> EvaluationResult:
        QThread.msleep(100)  # a run takes its time, and its result comes after the frame
        return self._two_results(diagram)[0]

    def _two_results(self, diagram: Diagram) -> list[EvaluationResult]:
        """The results of a diagram, which are those of another one of its size."""
        size = len(diagram.main.blocks), len(diagram.main.wires)
        if size not in self._results:
            self._results[size] = self._computed(diagram)
        return self._results[size]

    def _computed(self, diagram: Diagram) -> list[EvaluationResult]:
        return [result_of(diagram), result_of(diagram, 1)]

    def _settle(self) -> None:
        for _ in range(2000):
            if not self._window.evaluator.busy:
                break
            QTest.qWait(5)
        for _ in range(100):
            self._canvas.repaint()
            turn()

    def _full_view(self) -> Iterator[Act]:
        self._canvas.zoom_to_fit()
        self._settle()
        return frames(self._canvas.update)

    def _pan(self, zoom: float) -> Iterator[Act]:
        canvas = self._canvas
        canvas.set_camera(Camera(zoom, -300.0, -300.0))
        self._settle()
        return frames(lambda: canvas.set_camera(canvas.view.camera.panned(-9.0, -4.0)))

    def _drag(self) -> Iterator[Act]:
        canvas, steps = self._canvas, count(1)
        canvas.set_camera(Camera(1.0, -50.0, -50.0))
        self._settle()
        at = canvas.block_rect(canvas.view.scene.names[GRABBED]).topLeft() + QPoint(40, 8)
        QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)
        try:
            yield from frames(
                lambda: QTest.mouseMove(canvas, at + QPoint(10, 5) * (next(steps) % 60))
            )
        finally:
            QTest.keyClick(canvas, Qt.Key.Key_Escape)
            QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=at)

    def _zoom(self) -> Iterator[Act]:
        """Steps of the wheel, in and out about a block, between 50 and 100 %."""
        canvas, steps = self._canvas, count()
        canvas.set_camera(Camera(1.0, -300.0, -300.0))
        self._settle()
        at = QRectF(canvas.rect()).center()
        return frames(lambda: canvas.zoom_at(0.87 if next(steps) % 10 < 5 else 1 / 0.87, at))

    def _drop(self) -> Iterator[Act]:
        """Releases of a block that was dragged, which is an edit of the diagram."""
        canvas, turns = self._canvas, count()
        canvas.set_camera(Camera(1.0, -50.0, -50.0))
        place = QPoint()

        def drag() -> None:
            nonlocal place
            self._settle()
            at = canvas.block_rect(canvas.view.scene.names[GRABBED]).topLeft() + QPoint(40, 8)
            place = at + QPoint(60, 30) * (-1) ** next(turns)
            QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)
            for step in (0.5, 1.0):
                QTest.mouseMove(canvas, at + (place - at) * step)
                turn()

        return frames(
            lambda: QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=place), drag
        )

    def _add(self) -> Iterator[Act]:
        """A block from the palette is dropped where there is room."""
        new, at = type_candidate("Tanh"), Point(20.0, -80.0)
        return self._edits(lambda: self._canvas.add(new, at), self._start_over)

    def _connect(self) -> Iterator[Act]:
        """Releases of a wire that was drawn from one port to another."""
        canvas, start, end = self._canvas, QPoint(), QPoint()

        def draw() -> None:
            nonlocal start, end
            self._start_over()
            scene = canvas.view.scene
            wire = int(scene.wires_of(np.array([GRABBED]))[0])
            ports = scene.port_points(scene.wire_ports[wire])
            places = canvas.view.camera.to_widget(ports).astype(int).tolist()
            start, end = (QPoint(*place) for place in places)
            canvas.select_wire(scene.wire_keys[wire])
            canvas.delete_selection()
            canvas.select_wire(None)
            self._settle()
            QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
            for step in (0.5, 1.0):
                QTest.mouseMove(canvas, start + (end - start) * step)
                turn()

        return self._edits(
            lambda: QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=end), draw
        )

    def _delete(self) -> Iterator[Act]:
        def select() -> None:
            self._start_over()
            self._canvas.select([f"b{GRABBED}"])
            self._settle()

        return self._edits(self._canvas.delete_selection, select)

    def _undo_delete(self) -> Iterator[Act]:
        def delete() -> None:
            self._start_over()
            self._canvas.select([f"b{GRABBED}"])
            self._canvas.delete_selection()
            self._settle()

        return self._edits(self._window.document.undo_stack.undo, delete)

    def _edits(self, act: Act, before: Act) -> Iterator[Act]:
        """Frames of an act that changes the diagram."""

        def edit() -> None:
            known = self._window.document.diagram
            act()
            assert self._window.document.diagram is not known

        return frames(edit, before)

    def _start_over(self) -> None:
        """Undo all edits."""
        self._window.document.jump(0)
        self._canvas.set_camera(Camera(1.0, -50.0, -50.0))
        self._settle()

    def _recolour(self) -> Iterator[Act]:
        self._canvas.zoom_to_fit()
        self._settle()
        results, turns = self._two_results(self._window.document.diagram), count()
        changed = self._window.evaluator.resultChanged
        return frames(lambda: changed.emit(results[next(turns) % 2]))

    def _move_all(self) -> Iterator[Act]:
        def act() -> None:
            self._canvas.select_all()
            self._canvas.nudge(10.0, 0.0)

        return frames(act, self._settle)

    def _undo(self) -> Iterator[Act]:
        def delete_all() -> None:
            self._canvas.select_all()
            self._canvas.delete_selection()
            self._settle()

        return frames(self._window.document.undo_stack.undo, delete_all)


class RealGradwire(Gradwire):
    """The same window with the results of runs, the first before anything is measured."""

    def _computed(self, diagram: Diagram) -> list[EvaluationResult]:
        real = evaluate(diagram)
        assert real is not None and not real.error
        return [real, replace(real, values=dict(real.values))]


class _Block(QGraphicsItem):
    def __init__(self, name: str, x: float, y: float) -> None:
        super().__init__()
        self.name, self.wires = name, []
        self.setPos(x, y)
        self.setFlags(self.GraphicsItemFlag.ItemIsMovable
                      | self.GraphicsItemFlag.ItemIsSelectable
                      | self.GraphicsItemFlag.ItemSendsGeometryChanges)  # fmt: skip

    def boundingRect(self) -> QRectF:
        return QRectF(-5.0, -1.0, 170.0, 82.0)

    def paint(self, painter: QPainter, option: object, widget: QWidget | None = None) -> None:
        painter.setPen(QPen(Qt.GlobalColor.darkGray, 1.0))
        painter.setBrush(QColor(250, 250, 250))
        painter.drawRoundedRect(QRectF(0.0, 0.0, 160.0, 80.0), 4.0, 4.0)
        painter.setPen(Qt.GlobalColor.black)
        painter.drawText(QPointF(10.0, 18.0), self.name)
        painter.drawText(QPointF(10.0, 60.0), "[1.00 2.00]")
        painter.setBrush(Qt.GlobalColor.white)
        for x, y in ((0.0, 35.0), (0.0, 57.0), (160.0, 35.0)):
            painter.drawEllipse(QPointF(x, y), 4.0, 4.0)

    def itemChange(self, change: Any, value: Any) -> Any:
        if change == self.GraphicsItemChange.ItemPositionHasChanged:
            for wire in self.wires:
                wire.follow()
        return super().itemChange(change, value)


class _Wire(QGraphicsPathItem):
    def __init__(self, source: _Block, number: int, target: _Block) -> None:
        super().__init__()
        self._source, self._number, self._target = source, number, target
        source.wires.append(self)
        target.wires.append(self)
        self.setZValue(-1.0)
        self.follow()

    def follow(self) -> None:
        start = self._source.pos() + QPointF(160.0, 35.0)
        end = self._target.pos() + QPointF(0.0, 35.0 + 22.0 * self._number)
        path, reach = QPainterPath(start), QPointF(0.5 * abs(end.x() - start.x()), 0.0)
        path.cubicTo(start + reach, end - reach, end)
        self.setPath(path)


class _DeleteAll(QUndoCommand):
    def __init__(self, scene: QGraphicsScene) -> None:
        super().__init__()
        self._scene, self._items = scene, scene.items()

    def redo(self) -> None:
        for item in self._items:
            self._scene.removeItem(item)

    def undo(self) -> None:
        for item in self._items:
            self._scene.addItem(item)


class _Move(QUndoCommand):
    def __init__(self, block: _Block, by: QPointF) -> None:
        super().__init__()
        self._block, self._by = block, by

    def redo(self) -> None:
        self._block.moveBy(*self._by.toTuple())

    def undo(self) -> None:
        self._block.moveBy(*(-self._by).toTuple())


class GraphicsView:
    """A QGraphicsItem a block and a wire, which follows by itemChange."""

    block, wire = _Block, _Wire

    def __init__(self) -> None:
        self._application = QApplication.instance() or QApplication([])
        self._scene, self._stack = QGraphicsScene(), QUndoStack()
        self._view = QGraphicsView(self._scene)
        self._view.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._view.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.SmartViewportUpdate)
        self._view.resize(*SIZE)
        self._view.show()
        turn()

    def prepare(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def open(self) -> None:
        drawing = self._drawing
        load(drawing.path)
        self._blocks = {name: self.block(name, *at) for name, at in drawing.places.items()}
        self._wires = [
            self.wire(self._blocks[a], number, self._blocks[b]) for a, number, b in drawing.wires
        ]
        for item in (*self._blocks.values(), *self._wires):
            self._scene.addItem(item)
        self._fit()
        turn()

    def measurements(self) -> Mapping[str, Callable[[], Iterator[Act]]]:
        path = self._drawing.path.with_suffix(".view")
        return {
            "full view": self._full_view,
            "pan at 100 %": partial(self._pan, 1.0),
            "pan at 50 %": partial(self._pan, 0.5),
            ZOOM: self._zoom,
            "drag one": self._drag,
            DROP: self._drop,
            "recolour all": self._recolour,
            MOVE: self._move_all,
            UNDO: lambda: frames(
                self._stack.undo, lambda: self._stack.push(_DeleteAll(self._scene))
            ),
            SAVE: lambda: frames(lambda: path.write_text(json.dumps(self._stored()))),
            LOAD: lambda: frames(lambda: json.loads(path.read_text())),
        }

    def _stored(self) -> list[object]:
        return [
            {name: block.pos().toTuple() for name, block in self._blocks.items()},
            self._drawing.wires,
        ]

    def _fit(self) -> None:
        self._view.fitInView(self._scene.itemsBoundingRect(), Qt.AspectRatioMode.KeepAspectRatio)

    def _look(self, zoom: float) -> None:
        self._view.resetTransform()
        self._view.scale(zoom, zoom)
        self._view.centerOn(self._blocks[f"b{GRABBED}"])
        turn()

    def _full_view(self) -> Iterator[Act]:
        self._fit()
        return frames(self._view.viewport().update)

    def _pan(self, zoom: float) -> Iterator[Act]:
        self._look(zoom)
        bars = self._view.horizontalScrollBar(), self._view.verticalScrollBar()

        def act() -> None:
            for bar, step in zip(bars, (9, 4), strict=True):
                bar.setValue(bar.value() + step)

        return frames(act)

    def _drag(self) -> Iterator[Act]:
        self._look(1.0)
        block, steps = self._blocks[f"b{GRABBED}"], count(1)
        return frames(
            lambda: block.moveBy(*((10.0, 5.0) if next(steps) % 60 else (-590.0, -295.0)))
        )

    def _zoom(self) -> Iterator[Act]:
        self._look(1.0)
        steps = count()

        def act() -> None:
            factor = 0.87 if next(steps) % 10 < 5 else 1 / 0.87
            self._view.scale(factor, factor)

        return frames(act)

    def _drop(self) -> Iterator[Act]:
        """Moves by a command that can be undone."""
        self._look(1.0)
        block, turns = self._blocks[f"b{GRABBED}"], count()
        return frames(
            lambda: self._stack.push(_Move(block, QPointF(60.0, 30.0) * (-1) ** next(turns)))
        )

    def _recolour(self) -> Iterator[Act]:
        self._fit()
        turns = count()
        pens = [QPen(QColor(colour), 1.5) for colour in COLOURS]

        def act() -> None:
            for wire, state in zip(
                self._wires, self._drawing.colours[next(turns) % 2], strict=True
            ):
                wire.setPen(pens[state])

        return frames(act)

    def _move_all(self) -> Iterator[Act]:
        def act() -> None:
            for block in self._blocks.values():
                block.setSelected(True)
                block.moveBy(10.0, 0.0)

        return frames(act)


class _CoarseBlock(_Block):
    """Its picture is cached; from afar it is a rectangle."""

    def __init__(self, name: str, x: float, y: float) -> None:
        super().__init__(name, x, y)
        self.setCacheMode(self.CacheMode.DeviceCoordinateCache)

    def paint(self, painter: QPainter, option: object, widget: QWidget | None = None) -> None:
        if painter.worldTransform().m11() < COARSE:
            painter.fillRect(QRectF(0.0, 0.0, 160.0, 80.0), Qt.GlobalColor.lightGray)
        else:
            super().paint(painter, option, widget)


class _CoarseWire(_Wire):
    """From afar it is a line without smoothed edges."""

    def paint(self, painter: QPainter, option: Any, widget: QWidget | None = None) -> None:
        if painter.worldTransform().m11() < COARSE:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
            painter.setPen(QPen(self.pen().color(), 0.0))
            path = self.path()
            painter.drawLine(path.pointAtPercent(0.0), path.pointAtPercent(1.0))
        else:
            super().paint(painter, option, widget)


class CoarseGraphicsView(GraphicsView):
    """The same with cached items and a level of detail, as its documentation recommends."""

    block, wire = _CoarseBlock, _CoarseWire


class NodeGraphQt:
    """NodeGraphQt as its examples use it, without its own undo of what opens the file."""

    def __init__(self) -> None:
        library = import_module("NodeGraphQt")

        class Node(library.BaseNode):
            __identifier__ = "benchmark"
            NODE_NAME = "node"

            def __init__(self) -> None:
                super().__init__()
                self.add_input("a")
                self.add_input("b")
                self.add_output("out", multi_output=True)

        self._application = QApplication.instance() or QApplication([])
        self._graph = library.NodeGraph()
        self._graph.register_node(Node)
        self._view = self._graph.viewer()
        self._view.resize(*SIZE)
        self._view.show()
        turn()

    def prepare(self, drawing: Drawing) -> None:
        self._drawing = drawing

    def open(self) -> None:
        drawing = self._drawing
        load(drawing.path)
        make = self._graph.create_node
        self._nodes = {
            name: make("benchmark.Node", name=name, pos=list(at), push_undo=False, selected=False)
            for name, at in drawing.places.items()
        }
        for source, number, target in drawing.wires:
            output, into = self._nodes[source].output(0), self._nodes[target].input(number)
            output.connect_to(into, push_undo=False)
        turn()

    def measurements(self) -> Mapping[str, Callable[[], Iterator[Act]]]:
        path = str(Path(self._drawing.path).with_suffix(".nodes"))
        graph = self._graph
        return {
            "full view": self._full_view,
            "pan at 100 %": partial(self._pan, 1.0),
            "pan at 50 %": partial(self._pan, 0.5),
            "drag one": self._drag,
            "recolour all": self._recolour,
            MOVE: self._move_all,
            UNDO: lambda: frames(
                graph.undo_stack().undo, lambda: graph.delete_nodes(graph.all_nodes())
            ),
            SAVE: lambda: frames(lambda: graph.save_session(path)),
            LOAD: lambda: frames(lambda: json.loads(Path(path).read_text())),
        }

    def _look(self, zoom: float) -> None:
        self._view.reset_zoom(self._nodes[f"b{GRABBED}"].view.pos())
        self._view.scale(zoom, zoom)
        turn()

    def _fit(self) -> None:
        self._graph.select_all()
        self._graph.fit_to_selection()
        self._graph.clear_selection()
        turn()

    def _full_view(self) -> Iterator[Act]:
        self._fit()
        return frames(self._view.viewport().update)

    def _pan(self, zoom: float) -> Iterator[Act]:
        self._look(zoom)
        return frames(lambda: self._view._set_viewer_pan(-9.0, -4.0))

    def _drag(self) -> Iterator[Act]:
        self._look(1.0)
        item, steps = self._nodes[f"b{GRABBED}"].view, count(1)
        return frames(lambda: item.moveBy(*_STEPS[next(steps) % 60 == 0]))

    def _recolour(self) -> Iterator[Act]:
        self._fit()
        turns = count()
        pipes = self._view.all_pipes()
        colours = [QColor(colour).getRgb() for colour in COLOURS]

        def act() -> None:
            shift = next(turns) % 2
            for i, pipe in enumerate(pipes):
                pipe.set_pipe_styling(colours[(i + shift) % len(colours)])

        return frames(act)

    def _move_all(self) -> Iterator[Act]:
        def act() -> None:
            self._graph.select_all()
            for node in self._nodes.values():
                node.view.moveBy(10.0, 0.0)

        return frames(act)
