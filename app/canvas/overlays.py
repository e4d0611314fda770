"""What is shown over a page: the route of a verdict, a trial, and guesses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.app.canvas.paint.guesses import paint_guesses
from gradwire.app.canvas.paint.trial import paint_trial

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.state.marks.guesses import GuessMarks
    from gradwire.app.canvas.state.marks.route import Route
    from gradwire.app.canvas.state.marks.trial import TrialMarks


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
