"""The canvas with explanations: routes of verdicts, traced wires, trials, and guesses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QTimer, Signal

from gradwire.app.canvas.paint.blocks.faces import symbol_place
from gradwire.app.canvas.paint.guesses import paint_guesses
from gradwire.app.canvas.paint.trial import paint_trial
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.app.canvas.scene.hits import block_at
from gradwire.app.canvas.stage import Stage
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.diagram import MAIN

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.state.marks.guesses import GuessMarks
    from gradwire.app.canvas.state.marks.route import Route
    from gradwire.app.canvas.state.marks.trial import TrialMarks
    from gradwire.runtime.diagram import Diagram

_TRACE_AFTER = 250
"""Milliseconds of hovering over a wire before it is traced."""


class ExplainingStage(Stage):
    """Shows routes and trials, and emits requests for them."""

    whyRequested = Signal(str)
    """Key of the wire to explain."""
    whyBlockRequested = Signal(str)
    """Name of the block to explain."""
    cutHovered = Signal(str)
    """Key of the wire under the pointer while cuts are previewed; empty for none."""
    cutTried = Signal(str)
    """Key of a wire that was clicked while cuts are previewed."""
    derivativeRequested = Signal(str)
    """Name of the block whose symbol was double-clicked."""
    stopTried = Signal(str)
    """Name of a StopGradient whose symbol was clicked."""
    explanationLeft = Signal()
    """The user pressed Esc, which closes what explains the selection."""
    trialLeft = Signal()
    """The user wants to end the trial."""
    cameraChanged = Signal(object)
    """The Camera through which the page is shown now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._trial_marks: TrialMarks | None = None
        self._guess_marks: GuessMarks | None = None
        self._hovered_wire: str | None = None
        self._previewing_cuts = False
        self._hovered: str | None = None
        self._hover_timer = QTimer(self, singleShot=True, interval=_TRACE_AFTER)
        self._hover_timer.timeout.connect(self._show_trace)
        self.explained = ""
        """Key of the wire, or name of the block, that a card is about; it needs no tooltip."""

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page of ``diagram``. Each page keeps its own camera. What is new on it is not
        dimmed: the route is left.
        """
        known = len(self.view.scene.page.blocks)
        super().set_diagram(diagram, page)
        route = self.view.route if len(self.view.scene.page.blocks) <= known else None
        before, self.view = self.view, replace(self.view, near_port=None, marks={}, route=route)
        overlaid = not (self._trial_marks is None and self._guess_marks is None)
        if overlaid or self.view != before:
            self.update()

    def set_camera(self, camera: Camera) -> None:
        """Show the page through another camera."""
        super().set_camera(camera)
        self.cameraChanged.emit(camera)

    def route(self) -> Route | None:
        """The route shown, if any."""
        return self.view.route

    def show_route(self, route: Route | None) -> None:
        """Show a route, or none."""
        if route != self.view.route:
            self.view = replace(self.view, route=route)
            self.update()

    def trial_marks(self) -> TrialMarks | None:
        """The trial shown, if any."""
        return self._trial_marks

    def show_trial(self, marks: TrialMarks | None) -> None:
        """Show a trial, or none."""
        if marks != self._trial_marks:
            self._trial_marks = marks
            self.update()

    def guess_marks(self) -> GuessMarks | None:
        """The questions and guesses shown, if any."""
        return self._guess_marks

    def show_guesses(self, marks: GuessMarks | None) -> None:
        """Show questions and guesses, or none."""
        if marks != self._guess_marks:
            self._guess_marks = marks
            self.update()

    def leave_explanation(self) -> bool:
        """Hide the route, or else end the trial; False if neither was shown."""
        self.explanationLeft.emit()
        if self.view.route is not None:
            self.show_route(None)
        elif self._trial_marks is not None:
            self.trialLeft.emit()
        else:
            return False
        return True

    def explain(self, wire: str) -> None:
        """Request an explanation of a wire."""
        self.whyRequested.emit(wire)

    def explain_block(self, name: str) -> None:
        """Request an explanation of a variable."""
        self.whyBlockRequested.emit(name)

    def explain_port(self, port: int) -> None:
        """Request an explanation of the wire into an input, or of the first from an output."""
        scene = self.view.scene
        ends = scene.wire_ports[:, 1 if scene.port_is_input[port] else 0]
        for wire in (ends == port).nonzero()[0][:1].tolist():
            self.explain(scene.wire_keys[wire])

    def try_cut(self) -> bool:
        """Request a trial cut of the wire under the pointer; False unless cuts are previewed."""
        if self._previewing_cuts and self._hovered_wire is not None:
            self.cutTried.emit(self._hovered_wire)
        return self._previewing_cuts

    def try_stop(self, name: str) -> None:
        """Request to toggle a StopGradient in the trial."""
        self.stopTried.emit(name)

    def is_on_stop(self, at: QPointF) -> bool:
        """Whether the symbol of a StopGradient is at a widget position."""
        scene, camera = self.view.scene, self.view.camera
        block = block_at(scene, camera, at.x(), at.y())
        if block is None or not isinstance(scene.blocks[block], StopGradient):
            return False
        return symbol_place(self.view, block).contains(at)

    def symbol_at(self, at: QPointF) -> str | None:
        """Name of the block whose symbol is at a widget position; far away, of any block there."""
        scene, camera = self.view.scene, self.view.camera
        block = block_at(scene, camera, at.x(), at.y())
        if block is None or not (
            camera.zoom < PLAIN or symbol_place(self.view, block).contains(at)
        ):
            return None
        return scene.names[block]

    def show_derivative(self, name: str) -> None:
        """Request the derivative card of a block."""
        self.derivativeRequested.emit(name)

    def trace(self, wire: str | None) -> None:
        """Trace a wire after a short delay; None ends tracing at once."""
        if wire == self._hovered:
            return
        self._hovered = wire
        self.hover(wire)
        if wire is None:
            self._hover_timer.stop()
            self._show_trace()
        elif self.view.traced is not None:
            self._show_trace()
        else:
            self._hover_timer.start()

    def toggle_trace(self) -> None:
        """Trace the selected wire at once, or stop tracing."""
        self._hover_timer.stop()
        self._hovered = None if self.view.traced else self.view.selection.wire
        self._show_trace()

    def _show_trace(self) -> None:
        if self.view.traced != self._hovered:
            self.view = replace(self.view, traced=self._hovered)
            self.update()

    def hover(self, wire: str | None) -> None:
        """Record the wire under the pointer."""
        self._hovered_wire = wire
        if self._previewing_cuts:
            self.cutHovered.emit(wire or "")

    def paint_over(self, painter: QPainter) -> None:
        super().paint_over(painter)
        if self._guess_marks is not None:
            below = {} if self._trial_marks is None else self._trial_marks.changes
            paint_guesses(painter, self.view, self._guess_marks, below)
        if self._trial_marks is not None:
            paint_trial(painter, self.view, self._trial_marks)

    def preview_cuts(self, *, on: bool) -> None:
        """Turn previews of cutting the wire under the pointer on or off."""
        if on != self._previewing_cuts:
            self._previewing_cuts = on
            self.cutHovered.emit((self._hovered_wire or "") if on else "")
