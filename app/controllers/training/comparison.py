"""Trains the diagram with stops closed and open, on two halves of the window."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.canvas.view import CanvasView
from gradwire.app.controllers.training.training import measured
from gradwire.app.evaluation.evaluator import Evaluator
from gradwire.app.panels.training.curves import colour_of
from gradwire.app.panels.training.halves import Halves
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.theme import LIGHT, follow_theme
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.diagram import InstancePath, PortPath, apply
from gradwire.runtime.flow import CloseStop, OpenStop, change_of, number, open_stops

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.controllers.training.training import TrainingController
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.training import Frame, Lane


class StopComparison(WindowPart):
    """Shows the document's diagram in one half and the same with stops toggled in the other.

    Both are trained step by step from the same values and seeds. The other half shows a diagram
    that belongs to no document and can't be edited; it follows every move of the first.
    """

    toggled = Signal(bool)
    """A comparison is shown, or was left."""

    def __init__(self, workspace: Workspace, training: TrainingController) -> None:
        super().__init__(workspace)
        self._training = training
        self.halves = Halves(self._canvas, self._frame)
        self.other: CanvasView | None = None
        """The canvas of the right half; None before the first comparison."""
        self.evaluator = Evaluator(parent=self, engines=training.beginning.engines)
        self._steps: tuple[OpenStop | CloseStop, ...] = ()
        self._lane: Lane | None = None
        """What is being evaluated."""
        self._next: Lane | None = None
        self._is_following = False
        self._theme = LIGHT
        self.evaluator.resultChanged.connect(self._show_result)
        training.stepShown.connect(self._show_frame)
        training.bar.compareRequested.connect(self.toggle)
        self._document.opened.connect(self.leave)
        self._document.diagramChanged.connect(lambda: self._follow_document())
        self._navigation.changed.connect(self._show_page)
        follow_theme(self)

    @property
    def is_on(self) -> bool:
        """Whether two diagrams are compared."""
        return bool(self._steps)

    def toggle(self) -> None:
        """Compare the selected stops, or else all, closed and open; or leave the comparison."""
        if self.is_on:
            self.leave()
            return
        stops = self._stops()
        if not stops:
            self._canvas.hint(self.tr("There is no StopGradient to compare with and without."))
            self.toggled.emit(False)
            return
        opened = open_stops(self._document.diagram, stops)
        is_open = len(opened) == len(stops)
        self._steps = tuple(
            CloseStop(path) if is_open else OpenStop(path)
            for path in stops
            if is_open or path not in opened
        )
        names = self.tr("stopped"), self.tr("unstopped")
        self._begin(names[::-1] if is_open else names)

    def leave(self) -> None:
        """Show one diagram again: that of the document, with the values that it has by now."""
        if not self.is_on:
            return
        self._steps, self._lane, self._next = (), None, None
        self._training.compare((), ())
        self._training.bar.compare.setChecked(False)
        self.halves.show_one()
        self._canvas.zoom_to_fit()
        self.toggled.emit(False)

    def shutdown(self) -> None:
        """End the thread of the right half."""
        self.evaluator.shutdown()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme`` for the titles."""
        self._theme = theme
        self._name_halves({}, {})

    def _begin(self, names: tuple[str, str]) -> None:
        if self.other is None:
            self.other = self._made()
        other, training = self.other, self._training
        self.halves.show_two(other)
        training.compare((self._variant,), names)
        self.evaluator.set_step(0, None)
        self._show(self._variant(self._document.diagram))
        self._canvas.zoom_to_fit()
        self._name_halves({}, {})
        training.bar.compare.setChecked(True)
        text = self.tr("{0} differs between the halves. Play trains both from the same values.")
        if training.is_begun:
            text += " " + self.tr("Back to the start takes those before the training.")
        training.bar.show_text(text.format(", ".join(step.block for step in self._steps)))
        self.toggled.emit(True)

    def _made(self) -> CanvasView:
        """The second canvas: it follows the first, and the first follows it."""
        other, canvas = CanvasView(self._canvas.parentWidget()), self._canvas
        other.setAccessibleName(self.tr("Diagram that is compared"))
        follow_theme(other)
        other.cameraChanged.connect(partial(self._follow_camera, canvas))
        canvas.cameraChanged.connect(partial(self._follow_camera, other))
        other.selectionChanged.connect(partial(self._follow_selection, canvas))
        canvas.selectionChanged.connect(partial(self._follow_selection, other))
        other.pageEntered.connect(self._navigation.enter)
        text = self.tr("Edit in the left half; this one follows.")
        other.changeRequested.connect(lambda: other.hint(text))
        return other

    def _stops(self) -> list[InstancePath]:
        """The selected stops, or else all that run."""
        use, blocks = self._navigation.use, self._canvas.view.scene.page.blocks
        chosen = [
            use / name
            for name in sorted(self._canvas.selection())
            if isinstance(blocks[name], StopGradient)
        ]
        flow = self._training.flow
        if chosen or flow is None:
            return chosen
        instances = flow.program.instances.items()
        return [path for path, about in instances if isinstance(about.block, StopGradient)]

    def _variant(self, diagram: Diagram) -> Diagram:
        """The diagram with the stops toggled; as it is, once they are gone."""
        try:
            return apply(diagram, change_of(diagram, self._steps)).after
        except GradwireError:
            return diagram

    # ---- following -----------------------------------------------------------------------------

    def _follow_document(self) -> None:
        """Leave when the stops are gone; else follow an edit while nothing is trained."""
        if not self.is_on:
            return
        try:
            change_of(self._document.diagram, self._steps)
        except GradwireError:
            self.leave()
            return
        if not self._training.courses:
            self._show(self._variant(self._document.diagram))

    def _follow_camera(self, follower: CanvasView, camera: Camera) -> None:
        self._once(partial(follower.set_camera, camera))

    def _follow_selection(self, follower: CanvasView, selection: Selection) -> None:
        self._once(partial(follower.set_selection, selection))

    def _once(self, follow: partial[None]) -> None:
        """Follow, unless it is this that is followed."""
        if self.is_on and not self._is_following:
            self._is_following = True
            try:
                follow()
            finally:
                self._is_following = False

    # ---- showing -------------------------------------------------------------------------------

    def _show_frame(self, frame: Frame) -> None:
        if not self.is_on or len(frame.lanes) < 2:
            return
        left, right = frame.lanes
        self._name_halves(left.losses, right.losses)
        if self.evaluator.busy:
            self._next = right
        else:
            self._show_lane(right)

    def _show_lane(self, lane: Lane) -> None:
        self._lane = lane
        self.evaluator.set_step(lane.step_number, self._training.courses[1].recording)
        from gradwire.runtime.training import stored  # with all that trains

        self._show(stored(self._variant(self._document.diagram), lane.values))

    def _show(self, diagram: Diagram) -> None:
        if self.other is not None:
            self._once(partial(self.other.set_diagram, diagram, self._navigation.page))
            self.evaluator.request(diagram)

    def _show_page(self) -> None:
        if self.is_on and self.evaluator.result is not None:
            self._show(self.evaluator.result.diagram)

    def _show_result(self, result: EvaluationResult) -> None:
        if not self.is_on or self.other is None:
            return
        self.other.set_result(result, self._navigation.use)
        lane, self._lane = self._lane, None
        courses = self._training.courses
        if lane is not None and len(courses) > 1:
            courses[1].measure(lane.step, measured(result))
        lane, self._next = self._next, None
        if lane is not None and len(courses) > 1:
            self._show_lane(lane)

    def _name_halves(self, left: Mapping[str, float], right: Mapping[str, float]) -> None:
        if not self.is_on:
            return
        courses = self._training.courses
        for half, (name, losses) in enumerate(zip(self._names(), (left, right), strict=True)):
            values = [f"{PortPath(port).block} {number(loss)}" for port, loss in losses.items()]
            recording = courses[half].recording if half < len(courses) else None
            colour = colour_of(self._training.runs.place_of(recording, half), self._theme)
            self.halves.name(half, "    ".join([name, *values[:3]]), colour)

    def _names(self) -> Sequence[str]:
        return self._training.beginning.names or ("", "")
