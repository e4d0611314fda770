"""What explains a page: the route of a verdict, a trial, guesses, and the trace of a wire.

Also requests for explanations of what is on a canvas.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QTimer

from gradwire.app.canvas.paint.blocks.faces import symbol_place
from gradwire.app.canvas.paint.overlays import paint_guesses, paint_trial
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.blocks.library.gradient import StopGradient

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.state.marks import GuessMarks, Route, TrialMarks


class Overlays:
    """Shows and hides what explains the page."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._trial: TrialMarks | None = None
        self._guesses: GuessMarks | None = None

    def route(self) -> Route | None:
        """The route shown, if any."""
        return self._context.view.route

    def show_route(self, route: Route | None) -> None:
        """Show a route, or none."""
        if route != self._context.view.route:
            self._context.show(route=route)

    def trial_marks(self) -> TrialMarks | None:
        """The trial shown, if any."""
        return self._trial

    def show_trial(self, marks: TrialMarks | None) -> None:
        """Show a trial, or none."""
        if marks != self._trial:
            self._trial = marks
            self._context.redraw()

    def guess_marks(self) -> GuessMarks | None:
        """The questions and guesses shown, if any."""
        return self._guesses

    def show_guesses(self, marks: GuessMarks | None) -> None:
        """Show questions and guesses, or none."""
        if marks != self._guesses:
            self._guesses = marks
            self._context.redraw()

    def leave_explanation(self) -> bool:
        """Hide the route, or else end the trial; False if neither was shown."""
        self._context.widget.explanationLeft.emit()
        if self._context.view.route is not None:
            self.show_route(None)
        elif self._trial is not None:
            self._context.widget.trialLeft.emit()
        else:
            return False
        return True

    def follow(self, known: int) -> None:
        """Follow the page, which had ``known`` blocks before; marks of a gesture go.

        What is new on it is not dimmed: the route is left.
        """
        before = self._context.view
        route = before.route if len(before.scene.page.blocks) <= known else None
        self._context.view = replace(before, near_port=None, marks={}, route=route)
        overlaid = not (self._trial is None and self._guesses is None)
        if overlaid or self._context.view != before:
            self._context.redraw()

    def paint(self, painter: QPainter) -> None:
        """Paint guesses and the trial over the page."""
        view = self._context.view
        if self._guesses is not None:
            below = {} if self._trial is None else self._trial.changes
            paint_guesses(painter, view, self._guesses, below)
        if self._trial is not None:
            paint_trial(painter, view, self._trial)


_TRACE_AFTER = 250
"""Milliseconds of hovering over a wire before it is traced."""


class Explaining:
    """Emits requests for explanations, and traces wires."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.hovered: str | None = None
        """Key of the wire under the pointer, which is traced once it stays there."""
        self._under_pointer: str | None = None
        self._previewing_cuts = False
        self._timer = QTimer(context.widget, singleShot=True, interval=_TRACE_AFTER)
        self._timer.timeout.connect(self._show_trace)

    def explain(self, wire: str) -> None:
        """Request an explanation of a wire."""
        self._context.widget.whyRequested.emit(wire)

    def explain_block(self, name: str) -> None:
        """Request an explanation of a variable."""
        self._context.widget.whyBlockRequested.emit(name)

    def explain_port(self, port: int) -> None:
        """Request an explanation of the wire into an input, or of the first from an output."""
        scene = self._context.view.scene
        ends = scene.wire_ports[:, 1 if scene.port_is_input[port] else 0]
        for wire in (ends == port).nonzero()[0][:1].tolist():
            self.explain(scene.wire_keys[wire])

    def try_cut(self) -> bool:
        """Request a trial cut of the wire under the pointer; False unless cuts are previewed."""
        if self._previewing_cuts and self._under_pointer is not None:
            self._context.widget.cutTried.emit(self._under_pointer)
        return self._previewing_cuts

    def is_on_stop(self, at: QPointF) -> bool:
        """Whether the symbol of a StopGradient is at a widget position."""
        view = self._context.view
        block = self._context.places.block_at(at)
        if block is None or not isinstance(view.scene.blocks[block], StopGradient):
            return False
        return symbol_place(view, block).contains(at)

    def symbol_at(self, at: QPointF) -> str | None:
        """Name of the block whose symbol is at a widget position; far away, of any block there."""
        view = self._context.view
        block = self._context.places.block_at(at)
        if block is None or not (
            view.camera.zoom < PLAIN or symbol_place(view, block).contains(at)
        ):
            return None
        return view.scene.names[block]

    def trace(self, wire: str | None) -> None:
        """Trace a wire after a short delay; None ends tracing at once."""
        if wire == self.hovered:
            return
        self.hovered = wire
        self._hover(wire)
        if wire is None:
            self._timer.stop()
            self._show_trace()
        elif self._context.view.traced is not None:
            self._show_trace()
        else:
            self._timer.start()

    def toggle_trace(self) -> None:
        """Trace the selected wire at once, or stop tracing."""
        self._timer.stop()
        self.hovered = None if self._context.view.traced else self._context.view.selection.wire
        self._show_trace()

    def preview_cuts(self, *, on: bool) -> None:
        """Turn previews of cutting the wire under the pointer on or off."""
        if on != self._previewing_cuts:
            self._previewing_cuts = on
            self._context.widget.cutHovered.emit((self._under_pointer or "") if on else "")

    def _hover(self, wire: str | None) -> None:
        """Record the wire under the pointer."""
        self._under_pointer = wire
        if self._previewing_cuts:
            self._context.widget.cutHovered.emit(wire or "")

    def _show_trace(self) -> None:
        if self._context.view.traced != self.hovered:
            self._context.show(traced=self.hovered)
