"""Small diagrams, results of them, and a shell that does what the canvas asks for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.paint.painter import PaintLimits
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Note, Page, Point, PortName, apply
from gradwire.runtime.flow import State
from tests.app import mouse

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.canvas.view import CanvasView
    from gradwire.blocks.block import Block


def block(kind: str, **parameters: Any) -> Block:
    return registry().get(kind)(**parameters)


def page(
    blocks: Mapping[str, Block],
    wires: Mapping[str, str] | None = None,
    layout: Mapping[str, tuple[float, float]] | None = None,
    notes: Mapping[str, Note] | None = None,
    bends: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> Page:
    parse = PortName.parse
    return Page(
        dict(blocks),
        {parse(target): parse(source) for target, source in (wires or {}).items()},
        {name: Point(*at) for name, at in (layout or {}).items()},
        dict(notes or {}),
        {parse(target): tuple(Point(*at) for at in ats) for target, ats in (bends or {}).items()},
    )


def diagram(*arguments: Any, **more: Any) -> Diagram:
    return Diagram({"main": page(*arguments, **more)})


def seed() -> Diagram:
    """loss = stop(3·b) + a, laid out in a row."""
    return diagram(
        {
            "a": block("Variable", value=[[1, 2]]),
            "b": block("Variable", value=[[0, 1]]),
            "mul1": block("Mul", a=3),
            "stop1": block("StopGradient"),
            "add1": block("Add"),
            "loss": block("Loss"),
        },
        {
            "mul1.b": "b.out",
            "stop1.x": "mul1.out",
            "add1.a": "stop1.out",
            "add1.b": "a.out",
            "loss.x": "add1.out",
        },
        {
            "b": (0, 0),
            "mul1": (240, 0),
            "stop1": (480, 0),
            "a": (480, 120),
            "add1": (720, 40),
            "loss": (960, 40),
        },
    )


def seed_result(shown: Diagram) -> EvaluationResult:
    values = {"a": [[1, 2]], "b": [[0, 1]], "mul1": [[0, 3]], "stop1": [[0, 3]]}
    values |= {"add1": [[1, 5]], "loss": [[1, 5]]}
    return EvaluationResult(
        shown,
        {f"{name}.out": np.array(value, np.float32) for name, value in values.items()},
        {"a": np.ones((1, 2), np.float32), "b": None},
        {
            "mul1.b": State.STOPPED,
            "stop1.x": State.STOPPED,
            "add1.a": State.NOTHING_TO_TRAIN,
            "add1.b": State.CARRIES,
            "loss.x": State.CARRIES,
        },
        {"add1.b": 1.0, "loss.x": 1.0},
    )


def unhurried(canvas: CanvasView) -> None:
    """Give a canvas all the time that it needs for a frame, however busy the machine is."""
    painter = canvas.context.painter
    painter.limits, painter.faces.budget = PaintLimits(), math.inf


class Shell:
    """Applies what the canvas asks for, as the document does, and remembers all it says."""

    def __init__(self, canvas: CanvasView, shown: Diagram) -> None:
        self.canvas = canvas
        self.diagram = shown
        self.changes: list[Any] = []
        self.previews: list[Any] = []
        self.selections: list[Selection] = []
        self.messages: list[str] = []
        self.pages: list[str] = []
        self.page = "main"
        canvas.changeRequested.connect(self._apply)
        canvas.previewRequested.connect(self._preview)
        canvas.selectionChanged.connect(self.selections.append)
        canvas.statusMessage.connect(self.messages.append)
        canvas.pageEntered.connect(self.pages.append)
        canvas.set_diagram(shown)

    def _apply(self, change: Any) -> None:
        self.changes.append(change)
        self.diagram = apply(self.diagram, change).after
        self.canvas.set_diagram(self.diagram, self.page)

    def _preview(self, change: Any) -> None:
        self.previews.append(change)
        shown = self.diagram if change is None else apply(self.diagram, change).after
        self.canvas.set_diagram(shown, self.page)

    @property
    def main(self) -> Page:
        return self.diagram.main


LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
NO_BUTTON = Qt.MouseButton.NoButton
PLAIN = Qt.KeyboardModifier.NoModifier


def drag(
    canvas: CanvasView,
    start: QPoint,
    end: QPoint,
    button: Qt.MouseButton = LEFT,
    modifiers: Qt.KeyboardModifier = PLAIN,
    *,
    release: bool = True,
) -> None:
    """Rest at ``start``, press, move in three steps, and release."""
    hover(canvas, start, modifiers)
    QTest.mousePress(canvas, button, modifiers, start)
    for share in (0.3, 0.7, 1.0):
        at = start + (end - start) * share
        move(canvas, at, button, modifiers)
    if release:
        QTest.mouseRelease(canvas, button, modifiers, end)


def click(
    canvas: CanvasView,
    at: QPoint,
    modifiers: Qt.KeyboardModifier = PLAIN,
    button: Qt.MouseButton = LEFT,
) -> None:
    """Rest there, then click."""
    hover(canvas, at, modifiers)
    QTest.mouseClick(canvas, button, modifiers, at)


def double_click(canvas: CanvasView, at: QPoint) -> None:
    """Rest there, click, and click again."""
    hover(canvas, at)
    mouse.double_click(canvas, at)


def press(canvas: CanvasView, at: QPoint, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    """Rest there, then press and hold the left button."""
    hover(canvas, at, modifiers)
    QTest.mousePress(canvas, LEFT, modifiers, at)


def hover(canvas: CanvasView, at: QPoint, modifiers: Qt.KeyboardModifier = PLAIN) -> None:
    """Come from a little way off and rest at ``at``, with no button pressed."""
    move(canvas, at + QPoint(9, 7), NO_BUTTON, modifiers)
    move(canvas, at, NO_BUTTON, modifiers)
    QApplication.processEvents()


def move(
    canvas: CanvasView,
    at: QPoint,
    button: Qt.MouseButton = LEFT,
    modifiers: Qt.KeyboardModifier = PLAIN,
) -> None:
    """Move to ``at`` with ``button`` pressed.

    The canvas gets the event itself: QTest presses no button while it moves, and sends nothing
    where the pointer already is.
    """
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(at),
        QPointF(canvas.mapToGlobal(at)),
        NO_BUTTON,
        button,
        modifiers,
    )
    QApplication.sendEvent(canvas, event)
