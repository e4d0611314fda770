"""Trains the diagram of one window: plays, pauses, steps, and goes back to any step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal

from gradwire.app.controllers.training.beginning import (
    Beginning,
    Runs,
    about_memory,
    about_past,
    undo_text,
)
from gradwire.app.document.merging import same_values
from gradwire.app.evaluation.training import Begun, EndedError, TrainingControl, TrainingWorker
from gradwire.app.panels.bars.banner import OfferBar
from gradwire.app.panels.training.bar import TrainingBar
from gradwire.app.panels.training.curves import Curves
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import Cancelled
from gradwire.runtime.diagram import same_meaning
from gradwire.runtime.training import Frame

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.document.document import Document
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Address, Diagram
    from gradwire.runtime.flow import ObservedFlow
    from gradwire.runtime.training import Alarm, FollowedCourse, Lane

_FAMILY = "activations"


def measured(result: EvaluationResult) -> dict[str, float]:
    """Numbers of curves: ``gradient/VARIABLE``, the Euclidean norm of its gradient, and
    ``dead/BLOCK``, the share of an activation's units that are 0 for all rows of the batch.

    A variable without a gradient has no number. The last axis is that of units.
    """
    found = {}
    for name, gradient in result.gradients.items():
        if gradient is not None:
            found[f"gradient/{name}"] = float(np.linalg.norm(np.asarray(gradient, dtype=float)))
    if result.flow is None:
        return found
    program = result.flow.program
    for port in program.ports:
        value = result.values.get(port)
        instance = program.instances.get(port.block)
        if value is None or instance is None or instance.block.family != _FAMILY or not value.size:
            continue
        units = np.reshape(value, (-1, value.shape[-1] if value.ndim else 1))
        found[f"dead/{port.block}"] = float(np.mean(~np.any(units, axis=0)))
    return found


_MOST = 64
"""Diagrams whose steps are remembered for undo and redo."""


class DocumentSteps:
    """Writes steps into a document, and tells apart what somebody else changes in it."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._marks: list[tuple[Diagram, int]] = []
        self._newest: tuple[Diagram, int] | None = None
        """What was shown last with its step, unless it is among the marks."""
        self._shown: Diagram | None = None
        """The document with the numbers and values that the courses have."""
        self._is_own = False
        self._prepared: tuple[Diagram, Diagram, Callable[[Diagram], Diagram], str] | None = None

    def begin(self, step: int = 0) -> None:
        """Show the document as it is as a step; those of other courses are not reached any more."""
        if not step:
            self.forget()
        self._shown = self._document.diagram
        self.mark(step)

    def forget(self) -> None:
        """Know of no step any more."""
        self._shown, self._marks, self._newest = None, [], None

    def advance(self, change: Callable[[Diagram], Diagram], label: str) -> None:
        """Change the document as a part of the run: see ``Document.advance``."""
        self._is_own = True
        try:
            self._document.advance(change, label)
        finally:
            self._is_own = False
        self._shown = self._document.diagram

    def prepare(self, change: Callable[[Diagram], Diagram], label: str) -> Diagram:
        """Have a change ready that ``show`` makes; returns the diagram that it leads to."""
        before = self._document.diagram
        after = change(before)
        self._prepared = before, after, change, label
        return after

    def show(self, step: int) -> bool:
        """Make the change that was prepared, unless an edit has changed more than layout since."""
        if self._prepared is None:
            return False
        (before, after, change, label), self._prepared = self._prepared, None
        if not same_meaning(before, self._document.diagram):
            return False
        self.advance(lambda diagram: after if diagram is before else change(diagram), label)
        self._newest = self._document.diagram, step
        return True

    @property
    def is_untouched(self) -> bool:
        """Whether the document is as it was shown last, but for layout."""
        shown, now = self._shown, self._document.diagram
        return shown is not None and shown.training == now.training and same_meaning(shown, now)

    def mark(self, step: int) -> None:
        """Remember which step the diagram that is shown is."""
        if self._shown is not None:
            self._marks.append((self._shown, step))
            del self._marks[:-_MOST]

    def forget_after(self, step: int) -> None:
        """Forget later steps, as the run goes on from this one."""
        if self._newest is not None:
            self._marks, self._newest = [*self._marks, self._newest], None
        self._marks = [mark for mark in self._marks if mark[1] <= step]

    def step_of(self, diagram: Diagram) -> int | None:
        """The step whose values a diagram has, if that is remembered."""
        known = [*self._marks, *([self._newest] if self._newest else [])]
        return next((step for shown, step in reversed(known) if same_values(shown, diagram)), None)

    def return_to(self, change: Callable[[Diagram], Diagram]) -> None:
        """Count the values that ``change`` stores as what the courses have."""
        if self._shown is not None:
            shown, now = change(self._shown), self._document.diagram
            self._shown = now if _same_numbers(shown, now) else shown

    def take_edit(self, step: int) -> tuple[Diagram, Diagram] | None:
        """What somebody else has changed since the last step or edit: before and after.

        None if nothing but layout. ``step`` is the one whose values the document has.
        """
        before, now = self._shown, self._document.diagram
        if self._is_own or before is None:
            return None
        if self._newest is not None:
            self._marks, self._newest = [*self._marks, self._newest], None
        self._shown = now
        if not self._document.is_previewing and self.step_of(now) is None:
            self.mark(step)
        return None if _same_numbers(before, now) else (before, now)


def _same_numbers(one: Diagram, other: Diagram) -> bool:
    """Whether two diagrams are trained alike: by the same recipe, and compute the same."""
    return one.training == other.training and (
        same_meaning(one, other) or _meaning(one) == _meaning(other)
    )


def _meaning(diagram: Diagram) -> dict[str, object]:
    return {name: (page.blocks, page.wires) for name, page in diagram.pages.items()}


class TrainingController(WindowPart):
    """Runs a course of the document's diagram in a process, and shows frames of it.

    The document has the values of the step that is shown; a run is one undo.
    """

    toggled = Signal(bool)
    """Playing has begun, or ended."""
    curvesRequested = Signal()
    """The panel of curves should be shown."""
    stepShown = Signal(object)
    """A Frame is shown."""

    def __init__(self, workspace: Workspace, reveal: Reveal) -> None:
        super().__init__(workspace)
        self.bar, self.curves = TrainingBar(self._frame), Curves(self._frame)
        self._notices = Notices(reveal, self.go, self._frame)
        self.alarm = self._notices.offer
        self.runs = Runs(self.curves)
        self.worker = TrainingWorker(self)
        self.beginning = Beginning(
            self._document, self.worker, self.runs, self._settings, self._evaluator.engines
        )
        self.courses: tuple[FollowedCourse, ...] = ()
        """What is trained: of the document, then of what it is compared with."""
        self._control: TrainingControl | None = None
        self._then: Callable[[], None] | None = None
        """What to do when the courses are made."""
        self._steps = DocumentSteps(self._document)
        self._lane: Lane | None = None
        """The lane whose result is awaited."""
        self._coming: Frame | None = None
        """The frame that is shown together with its result."""
        self.shown: Frame | None = None
        """The frame that the document has, with the states of the courses; None before one."""
        self._origin: dict[Address, Array] = {}
        """The values with which the training began."""
        self._edits = 0
        self._was_shown = False
        self._is_resumed = False
        """Whether the run has shown nothing yet, and began with an edit made while it paused."""
        self._is_silent = False
        """Whether the document has the values of the step to go to already."""
        self._is_going = False
        """Whether the courses are on their way to an earlier step."""
        self._is_restored = False
        """Whether the run took an undo or a redo last."""
        self._connect()

    def _connect(self) -> None:
        bar, document = self.bar, self._document
        bar.played.connect(self.toggle)
        bar.stepped.connect(self.step)
        bar.resetRequested.connect(self.reset)
        bar.moved.connect(self.go)
        bar.closed.connect(self.close)
        bar.paceChosen.connect(self._change_pace)
        bar.curvesRequested.connect(self.curvesRequested)
        self.curves.runForgotten.connect(self.runs.forget)
        self.worker.framed.connect(self._take_frame)
        self.worker.finished.connect(self._take)
        self._evaluator.resultChanged.connect(self._measure)
        document.diagramChanged.connect(lambda: self._follow())
        document.restored.connect(self._restore)
        document.opened.connect(self.forget)
        document.opened.connect(self.beginning.prepare)

    @property
    def is_playing(self) -> bool:
        """Whether steps are being made."""
        return self._control is not None or self._then is not None

    @property
    def is_begun(self) -> bool:
        """Whether there are values with which a training began."""
        return bool(self._origin)

    @property
    def step_shown(self) -> int:
        """The step whose values the document has."""
        return self.bar.scale.value()

    def toggle(self) -> None:
        """Play, or pause."""
        if self.is_playing:
            self.pause()
        else:
            self._play(TrainingControl(self.bar.chosen_pace))

    def step(self) -> None:
        """Make one step."""
        if not self.is_playing:
            self._play(TrainingControl(None, most=1))

    def pause(self) -> None:
        """Pause after the step under way."""
        self._then = None
        if self._control is not None:
            self._control.stop()
        else:
            self._end()

    def reset(self) -> None:
        """Go back to the values with which the training began, as one undo."""
        self._halt()
        self.alarm.withdraw()
        from gradwire.runtime.training import stored  # with all that trains

        self.beginning.lost, origin = (), self._origin
        self._steps.advance(lambda diagram: stored(diagram, origin), self.tr("Reset training"))
        self._document.settle()
        self.courses = ()
        self._steps.forget()
        self._show_start(self.tr("At the start. The curves of earlier runs stay for comparison."))
        self._show_step_number(0)

    def go(self, step: int) -> None:
        """Show a step that was reached before; Play goes on from there."""
        if not (self.courses or self.beginning.lost):
            return
        self._halt()
        self.alarm.withdraw()
        self._begin(partial(self._go, step))

    def close(self) -> None:
        """Pause, and put the bar away."""
        self.pause()
        self.alarm.withdraw()
        self.bar.hide()

    def compare(
        self, variants: tuple[Callable[[Diagram], Diagram], ...], names: tuple[str, ...]
    ) -> None:
        """Train the diagram and variants of it from its present values; none for it alone."""
        self._halt()
        beginning, self.courses = self.beginning, ()
        beginning.variants, beginning.names, beginning.lost = variants, names, ()
        self._steps.forget()
        self._show_start()
        self.bar.reset.setEnabled(self.is_begun)
        self.bar.show()

    @property
    def flow(self) -> ObservedFlow | None:
        """The flow of the document's newest result."""
        result = self._evaluator.result
        return None if result is None else result.flow

    def forget(self) -> None:
        """Forget the training: another diagram is open, or another kind of training begins."""
        self._halt()
        self.courses, self.beginning.lost, self.shown, self._origin = (), (), None, {}
        self.worker.forget()
        self._steps.forget()
        self.runs.clear()
        self.alarm.withdraw()
        self.bar.hide()
        self._show_start()
        self._evaluator.set_step(0, None)

    def _show_start(self, text: str = "") -> None:
        self.bar.show_step(0, 0)
        self.bar.show_losses({})
        self.bar.show_text(text)

    def _play(self, control: TrainingControl) -> None:
        if not self._was_shown:
            self._was_shown = True
            self.curvesRequested.emit()
        self.bar.show()
        self.alarm.withdraw()
        self._begin(partial(self._run, control))
        self.bar.show_playing(is_playing=True)
        self.toggled.emit(True)

    def _begin(self, then: Callable[[], None]) -> None:
        """Do something once there are courses of the diagram."""
        self._then = then
        if self.courses:
            if not self._is_going:
                self._go_on()
            return
        step = self.beginning.begin(self.shown if self._steps.is_untouched else None)
        self._steps.begin(step)
        if not step:
            self._show_start()
        self.bar.show_text(self.tr("Preparing …"))

    def _go_on(self) -> None:
        then, self._then = self._then or (lambda: None), None
        then()

    def _go(self, step: int) -> None:
        self._is_going = True
        self.worker.go(step)

    def _run(self, control: TrainingControl) -> None:
        self._control, self._edits, self._is_restored = control, 0, False
        step = self.courses[0].step
        self._steps.forget_after(step)
        if (edit := self._steps.take_edit(step)) is not None:
            self._send_edit(edit)
        else:
            self._steps.mark(step)
        self._is_resumed = True
        self.bar.show_text(self.beginning.about(self.courses))
        self.worker.play(self.beginning.names_from(step), control)

    def _change_pace(self) -> None:
        if self._control is not None:
            self._control.pace = self.bar.chosen_pace

    def _end(self) -> None:
        """Show that nothing runs."""
        self._control = self._then = None
        self._document.settle()
        self.bar.show_playing(is_playing=False)
        self.toggled.emit(False)

    def _halt(self) -> None:
        """End at once, without another frame."""
        if self._control is not None:
            self._control.stop()
        self.worker.cancel()
        self._lane, self._coming, self._is_silent, self._is_going = None, None, False, False
        self._end()

    def _take(self, answer: object) -> None:
        if isinstance(answer, Frame):
            self._finish(answer)
        elif isinstance(answer, Begun):
            self.courses = answer.courses
            self.beginning.hold(answer.frame)
            self._origin = {**answer.frame.lanes[0].values, **self._origin}
            self.runs.show(course.recording for course in self.courses)
            self._go_on()
        elif isinstance(answer, Cancelled | EndedError):
            self._lose(answer)
        elif isinstance(answer, Exception):
            self._halt()
            self.bar.show_text(self.tr("The training can't begin. {0}").format(answer))

    def _lose(self, error: Exception) -> None:
        """The process has ended; what is shown stays, and Play goes on from there."""
        shown = self.shown if self._steps.is_untouched else None
        text = self.beginning.lose(self.courses, shown, error)
        self.courses = ()
        self._halt()
        if not self.beginning.lost:
            self._show_start()
        self.bar.show_text(text)
        if isinstance(error, EndedError):
            self._notices.show_problem(text)

    def _finish(self, frame: Frame) -> None:
        control, is_silent, then = self._control, self._is_silent, self._then
        self._is_silent = self._is_going = False
        if frame.is_structural:
            self.courses = ()
            if then is not None:
                self._begin(then)
                return
            self._end()
            if control is not None and self._is_resumed:
                self._play(TrainingControl(control.pace, control.most))
            else:
                text = self.tr("Paused: this edit changes more than numbers. {0}")
                self.bar.show_text(text.format(self.tr("Play begins a new run.")))
                if self._is_restored:
                    self._offer_start(0)
            return
        if is_silent:
            from gradwire.runtime.training import stored

            self.shown = frame
            self._steps.return_to(partial(stored, values=frame.lanes[0].values))
            self._show_bar(frame)
            self._show_step_number(frame.lanes[0].step_number)
            self.stepShown.emit(frame)
        else:
            self._take_frame(frame)
            self._steps.mark(frame.step)
        if then is not None:
            self._document.settle()
            self._go_on()
            return
        self._end()
        if frame.problem:
            self._notices.show_problem(frame.problem, frame.place)
            self.bar.show_text(self.tr("The training has stopped."))
        elif self.courses:
            self._show_where(frame.step)

    def _take_frame(self, frame: Frame) -> None:
        """Show a frame, unless an edit was made since; the next one follows its result."""
        from gradwire.runtime.training import stored

        control = self._control
        if not self.courses or not frame.lanes:
            return
        for alarm in frame.lanes[0].alarms:
            self._notices.show_alarm(alarm)
        if frame.edits < self._edits and not frame.is_last:
            if control is not None:
                control.want_frame()
            return
        self._is_resumed = self._is_restored = False
        self.beginning.hold(frame)
        lane = self._lane = frame.lanes[0]
        self.runs.show(course.recording for course in self.courses)
        self._evaluator.set_step(lane.step_number, self.courses[0].recording)
        self._coming = frame
        after = self._steps.prepare(partial(stored, values=lane.values), undo_text(control))
        if frame.is_last or self._document.is_previewing:
            self._show_coming()
            self._evaluator.request(self._document.diagram)
        else:
            self._evaluator.request(after)

    def _show_coming(self) -> None:
        """Show the frame that was taken, unless an edit was made since."""
        if (frame := self._coming) is not None and self._steps.show(frame.step):
            self.shown = frame
            self._show_bar(frame)
            self.stepShown.emit(frame)
        self._coming = None

    def _show_step_number(self, number: int) -> None:
        """Let Random and Dataset blocks draw what they do at a step."""
        self._evaluator.set_step(number, self.courses[0].recording if self.courses else None)
        self._evaluator.request(self._document.diagram)

    def _show_bar(self, frame: Frame) -> None:
        course, lane = self.courses[0], frame.lanes[0]
        furthest = lane.step if self._control is not None else course.furthest
        self.bar.show_step(lane.step, furthest, lane.epoch)
        if lane.losses or self._control is None:
            self.bar.show_losses(lane.losses)
        self.bar.show_rate(frame.rate)

    def _show_where(self, step: int) -> None:
        self.bar.show_memory(about_memory([course.states for course in self.courses]))
        is_past = step < self.courses[0].furthest
        self.bar.show_text(about_past(step) if is_past else self.beginning.about(self.courses))

    def _measure(self, result: EvaluationResult) -> None:
        """Show a step with its result, take its numbers, and ask for the next one."""
        lane, self._lane = self._lane, None
        if lane is None or not self.courses:
            return
        self._show_coming()
        course = self.courses[0]
        if lane.step == course.recording.step or self._control is not None:
            course.measure(lane.step, measured(result))
        self.curves.grow()
        if self._control is not None:
            self._control.want_frame()  # which is made while this one is painted

    # ---- the document --------------------------------------------------------------------------

    def _follow(self) -> None:
        """Hand an edit over to the run under way."""
        if self._control is None or self._document.is_restoring:
            return
        if (edit := self._steps.take_edit(self.step_shown)) is not None:
            self._is_resumed = False
            self._send_edit(edit)

    def _send_edit(self, edit: tuple[Diagram, Diagram]) -> None:
        assert self._control is not None
        self._edits += 1
        self.shown = None  # its states are those before the edit
        self._control.edit(self.beginning.edit_of(edit))

    def _restore(self, before: Diagram, after: Diagram) -> None:
        """Follow an undo or a redo: play on if the values of the variables stay; else stop, and go
        to the step that they are of, if they are of one.
        """
        was_playing = self.is_playing
        if was_playing and same_values(before, after):
            self._is_restored = True
            self._follow()
            return
        if was_playing:
            self._halt()
        else:
            self._notices.withdraw_start()
        step = self._steps.step_of(after) if self.courses else None
        if step is not None:
            self._is_silent = True
            self._go(step)
        elif was_playing:
            self.courses = ()
            self._show_start()
        elif not (self.courses or self.beginning.lost):
            self.bar.show_text("")  # it was about what is undone
        if was_playing:
            self._offer_start(step or 0)

    def _offer_start(self, step: int) -> None:
        """Say that the history of the document has stopped the training, and offer to go on."""
        text = self.tr(
            "The training has stopped: what was undone or redone changes what it trains."
        )
        self.bar.show_text(text)
        self._notices.offer_start(text, step, self.toggle)


class Notices(QObject):
    """Shows one notice at a time, until it is dismissed."""

    def __init__(self, reveal: Reveal, go: Callable[[int], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._reveal, self._go = reveal, go
        self.offer = OfferBar(parent)
        self._is_start = False
        """Whether it offers to start the training again."""

    def show_alarm(self, alarm: Alarm) -> None:
        """Say what goes wrong; lead to the block and to the step at which it began."""
        text = self.tr("Go to &Step {0}").format(f"{alarm.step:,}")
        self._ask(alarm.sentence, alarm.block, {text: partial(self._go, alarm.step)})

    def offer_start(self, text: str, step: int, start: Callable[[], object]) -> None:
        """Say why the training has stopped, and offer to start it again from a step."""
        self._ask(text, "", {self.tr("&Start again from step {0}").format(f"{step:,}"): start})
        self._is_start = True

    def withdraw_start(self) -> None:
        """Offer no longer to start again: the document has values of another step now."""
        if self._is_start:
            self.offer.withdraw()

    def show_problem(self, text: str, block: str = "") -> None:
        """Say why the training has stopped; lead to the block at fault."""
        self._ask(text, block, {})

    def _ask(self, text: str, block: str, answers: dict[str, Callable[[], object]]) -> None:
        self._is_start = False
        show: dict[str, Callable[[], object]] = {}
        if block:
            show[self.tr("&Show")] = partial(self._reveal.close_up, str(block))
        self.offer.ask(text, {**show, **answers, self.tr("&Dismiss"): lambda: None})
