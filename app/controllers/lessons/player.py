"""Plays a lesson in a window: its diagram is the learner's copy, which no file belongs to."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QInputDialog, QWidget

from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.controllers.lessons import step_views
from gradwire.app.controllers.lessons.painting import Painting
from gradwire.app.panels.layouts import path_to_save
from gradwire.app.panels.lessons.player import LessonPanel
from gradwire.app.panels.workspace import QueryingPart
from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.diagram import (
    ROOT,
    BuildStep,
    ChangeStep,
    CheckStep,
    InstancePath,
    PaintStep,
    PredictStep,
    ShowStep,
    replace_file,
    same_meaning,
)
from gradwire.runtime.lessons import (
    Answer,
    Facts,
    GoalState,
    Phase,
    Walk,
    asked_about,
    goal_states,
    lesson_digest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.document.document import Document
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session
    from gradwire.runtime.lessons import PredictionOutcome

TASKS = (ChangeStep, BuildStep)
"""Steps in which the diagram is changed."""

_T = TypeVar("_T")
_GOALS = "goals"
_PLAYED = {
    "forward": (Phase.FORWARD, Phase.FORWARD),
    "backward": (Phase.SEED, Phase.BACKWARD),
    "all": (Phase.FORWARD, Phase.BACKWARD),
}


class LessonPlayer(QueryingPart):
    """The lesson of one window."""

    toggled = Signal(bool)
    """A lesson has begun or ended."""
    panelRequested = Signal()
    advanced = Signal(str, object)
    """The digest of the lesson, and the Progress in it: a step was shown or answered."""
    left = Signal()
    """The learner is done with the lesson."""

    def __init__(
        self, workspace: Workspace, curtain: Curtain, timeline: TimelineController, reveal: Reveal
    ) -> None:
        super().__init__(workspace)
        self._curtain = curtain
        self._timeline = timeline
        self._use = ROOT
        self._walk: Walk | None = None
        self._typed = ""
        self._hints: list[str] = []
        self._is_stepping = False
        """Whether the player itself changes the diagram."""
        self.panel = LessonPanel(self._frame)
        self._file = AnswersFile(self.panel, self._document, self._settings)
        self.painting = Painting(self._canvas, self.panel.form, self._accept, self)
        self.painting.changed.connect(self._show_painted)
        self._connect_panel(reveal)
        self._document.opened.connect(self._stop)
        self._document.diagramChanged.connect(self._watch)

    def _connect_panel(self, reveal: Reveal) -> None:
        panel = self.panel
        panel.backRequested.connect(self.back)
        panel.nextRequested.connect(self.advance)
        panel.hintRequested.connect(self.hint)
        panel.playRequested.connect(self._play)
        panel.saveRequested.connect(lambda: self._file.choose(self._walk))
        panel.endRequested.connect(self.leave)
        panel.form.typed.connect(lambda name, text: self._type(text))
        panel.form.committed.connect(self._commit)
        panel.options.committed.connect(lambda place: self._answer(Answer(option=place)))
        panel.outcomes.placeRequested.connect(lambda place: reveal.path(InstancePath(place)))

    @property
    def is_on(self) -> bool:
        """Whether a lesson is being played."""
        return self._walk is not None

    @property
    def walk(self) -> Walk | None:
        """The way through the lesson, if one is played."""
        return self._walk

    @property
    def _current(self) -> Walk:
        """The way through the lesson that is played."""
        assert self._walk is not None
        return self._walk

    def start(self, seed: int = 0) -> None:
        """Play the lesson of the document, whose diagram is the learner's from now on."""
        try:
            walk = Walk(self._document.diagram, seed)
        except GradwireError as error:
            self._document.problem.emit(str(error))
            return
        self._walk = walk
        self.toggled.emit(True)
        self.panelRequested.emit()
        self._enter()
        self._canvas.zoom_to_fit()

    def leave(self) -> None:
        """End the lesson."""
        if self.is_on:
            self._stop()
            self.left.emit()

    def _stop(self) -> None:
        """End the lesson without changing the document."""
        if not self.is_on:
            return
        self._timeline.leave()
        self._walk = None
        self.worker.cancel(_GOALS)
        self._show_marks()
        self._canvas.show_route(None)
        self._curtain.hide(())
        self.toggled.emit(False)

    # ---- steps --------------------------------------------------------------------------------

    def advance(self) -> None:
        """Go to the next step; from the last one, leave the lesson."""
        if self._walk is not None and not self._walk.advance():
            self.leave()
        elif self._walk is not None:
            self._enter()

    def back(self) -> None:
        """Go to the step before."""
        if self._walk is not None and self._walk.back():
            self._enter()

    def show_answer(self) -> None:
        """Show the answer to the step without giving one, as a teacher does."""
        if self._walk is not None:
            self.panel.show_answer(self._written(partial(step_views.answer, self._walk)) or "")

    def _report(self) -> None:
        """Report how far the learner is."""
        walk = self._current
        self.advanced.emit(lesson_digest(walk.file), step_views.progress(walk))

    def hint(self) -> None:
        """Show the next hint."""
        if self._walk is None:
            return
        text = self._written(self._walk.hint)
        if text:
            self._hints.append(text)
        self._show_hints()

    def _enter(self) -> None:
        """Show the step that the walk is at, on its diagram."""
        walk = self._current
        self._timeline.leave()
        self._typed, self._hints = "", []
        self.painting.wires.clear()
        self._show_diagram(walk.diagram)
        self._show_curtain()
        title = walk.file.title or self.tr("Lesson")
        panel = self.panel
        panel.show_step(title, step_views.dots(walk), walk.index, self._written(walk.text) or "")
        self._show_hints()
        self._ask()
        self._light()
        self._show_marks()
        if walk.index in walk.outcomes:
            self._show_outcome(walk.outcomes[walk.index])
        self._show_buttons()
        self._report()
        if isinstance(walk.step, ShowStep) and walk.step.play:
            panel.play.show()
            self._play()

    def _show_diagram(self, diagram: Diagram) -> None:
        self._is_stepping = True
        try:
            self._document.practise(diagram)
        finally:
            self._is_stepping = False

    def _ask(self) -> None:
        """Show what the step asks for."""
        walk, panel = self._current, self.panel
        step, is_open = walk.step, not walk.is_done
        if isinstance(step, PredictStep):
            field = step_views.field_of(step, walk.facts)
            panel.form.ask({step_views.asked_path(step): field}, ())
        elif isinstance(step, PaintStep):
            panel.form.ask({}, step_views.offered(step, walk.facts))
            panel.form.show_painted(0, len(step.wires))
        elif isinstance(step, CheckStep):
            panel.options.ask(self._written(walk.options) or [o.text for o in step.options])
        asks = isinstance(step, PredictStep | PaintStep)
        panel.form.setVisible(asks and is_open)
        panel.options.setVisible(isinstance(step, CheckStep) and is_open)
        if isinstance(step, TASKS):
            self._find_goals(walk.diagram)
        elif asks and is_open:
            panel.form.focus_first()
        elif not is_open:
            panel.next.setFocus()

    def _light(self) -> None:
        """Dim everything but what the step is to be looked at."""
        walk, scene = self._current, self._canvas.view.scene
        step = walk.step
        route = step_views.lit(step, scene.page, self._use) if isinstance(step, ShowStep) else None
        self._canvas.show_route(route)

    def _play(self) -> None:
        if self._walk is not None and isinstance(self._walk.step, ShowStep):
            first, last = _PLAYED[self._walk.step.play or "all"]
            self._timeline.play(first, last)

    def _written(self, text: Callable[[], _T]) -> _T | None:
        """A text with its numbers; None, with the reason below, if one of them has no value."""
        try:
            return text()
        except GradwireError as error:
            self.panel.show_problem(str(error))
            return None

    # ---- answers ------------------------------------------------------------------------------

    def _type(self, text: str) -> None:
        self._typed = text.strip()
        self._show_marks()

    def _accept(self, block: str, text: str) -> bool:
        """Take what was typed on the canvas; whether it is an answer shows when it is given."""
        self._type(text)
        for name in self.panel.form.fields:
            self.panel.form.show_typed(name, text)
        return True

    def _show_painted(self) -> None:
        walk = self._current
        assert isinstance(walk.step, PaintStep)
        self.panel.form.show_painted(len(self.painting.wires), len(walk.step.wires))
        self._show_curtain()
        self._show_marks()

    def _show_curtain(self) -> None:
        """Hide what the step hides, and what it asks for until that is answered."""
        walk = self._current
        hidden = {*walk.hidden, *(() if walk.is_done else asked_about(walk.step))}
        self._curtain.hide(hidden, self.painting.by_name)

    def _commit(self, confidence: int) -> None:
        walk = self._current
        if isinstance(walk.step, PaintStep):
            painted = {wire: str(state) for wire, state in self.painting.by_name.items()}
            self._answer(Answer(painted=painted, confidence=confidence))
        else:
            self._answer(Answer(text=self._typed, confidence=confidence))

    def _answer(self, answer: Answer) -> None:
        """Give the answer to the step, and show what became of it."""
        walk = self._current
        try:
            outcome = walk.answer(answer)
        except GradwireError as error:
            self.panel.show_problem(str(error))
            return
        self.panel.form.hide()
        self.panel.options.hide()
        self._canvas.set_selection(NOTHING)
        self._show_curtain()
        self._show_marks()
        self._show_outcome(outcome)
        self.panel.show_dots(step_views.dots(walk), walk.index)
        self._show_buttons()
        self._report()
        self.panel.next.setFocus()

    def _show_outcome(self, outcome: PredictionOutcome) -> None:
        walk = self._current
        after = self._written(walk.after) or ""
        if walk.is_last and walk.is_done:
            total = step_views.points(walk)
            after = f"{after}\n\n**{total}**".strip()
        self.panel.show_outcome([step_views.row(walk, outcome)], after)

    # ---- goals --------------------------------------------------------------------------------

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Follow the page, and look whether the goals are met."""
        self._use = self.painting.use = use
        walk = self._walk
        if walk is None:
            return
        self._show_marks()
        if isinstance(walk.step, ShowStep) and self._canvas.route() is None:
            self._light()
        if isinstance(walk.step, TASKS) and not self._document.is_previewing:
            self._find_goals(result.diagram)

    def _find_goals(self, diagram: Diagram) -> None:
        if self._walk is not None and isinstance(self._walk.step, TASKS):
            job = partial(find_goals, step=self._walk.step, diagram=diagram)
            self.worker.query(_GOALS, diagram, job)

    def _take(self, kind: str, answer: object) -> None:
        walk = self._walk
        if walk is None or not isinstance(walk.step, TASKS) or not isinstance(answer, Goals):
            return
        reasons = not self._curtain.is_drawn
        self.panel.show_goals(answer.states, reasons=reasons)
        if answer.are_met and not walk.is_done and answer.diagram is self._document.diagram:
            self._answer(Answer(diagram=answer.diagram))

    def _watch(self, diagram: Diagram) -> None:
        """Take back a change of meaning where the step asks for none."""
        walk = self._walk
        if walk is None or self._is_stepping or self._document.is_previewing:
            return
        if not isinstance(walk.step, TASKS) and not same_meaning(diagram, walk.diagram):
            text = self.tr("In this step the diagram stays as it is.")
            self._canvas.hint(text)
            QTimer.singleShot(0, self, self._restore)

    def _restore(self) -> None:
        if self._walk is not None:
            self._show_diagram(self._walk.diagram)

    # ---- showing ------------------------------------------------------------------------------

    def _show_hints(self) -> None:
        walk = self._current
        self.panel.show_hints(self._hints, more=walk.hints_taken < len(walk.step.hints))

    def _show_buttons(self) -> None:
        walk, panel = self._current, self.panel
        panel.back.setEnabled(walk.index > 0)
        panel.hint.setVisible(bool(walk.step.hints) and not walk.is_done)
        done = self.tr("&Finish") if walk.is_last else self.tr("&Next")
        panel.next.setText(done if walk.is_done else self.tr("S&kip"))
        panel.next.setDefault(walk.is_done)

    def _show_marks(self) -> None:
        walk = self._walk
        marks = None
        if walk is not None:
            marks = step_views.marks(walk, self._use, self._typed, self.painting.wires)
        self.painting.show(marks)


class Goals(NamedTuple):
    """The goals of a step, for one diagram."""

    diagram: Diagram
    states: list[GoalState]

    @property
    def are_met(self) -> bool:
        """Whether there is nothing left to do."""
        return all(state.met for state in self.states)


def find_goals(session: Session, step: ChangeStep | BuildStep, diagram: Diagram) -> Goals:
    """The goals of a step for a diagram, which ``session`` runs."""
    return Goals(diagram, goal_states(step, Facts(session, step.losses)))


class AnswersFile(QObject):
    """Asks for the learner's name and a file."""

    def __init__(self, parent: QWidget, document: Document, settings: Settings) -> None:
        super().__init__(parent)
        self._parent, self._document, self._settings = parent, document, settings

    def choose(self, walk: Walk | None) -> None:
        """Ask for a name and a file, and write the answers given so far."""
        if walk is None:
            return
        name, accepted = QInputDialog.getText(
            self._parent,
            self.tr("Save answers"),
            self.tr("Your name, as your teacher knows it:"),
            text=self._settings.learner,
        )
        if not accepted or not name.strip():
            return
        self._settings.learner = name.strip()
        title, kinds = self.tr("Save answers"), self.tr("Answers (*.json)")
        path = path_to_save(self._parent, title, kinds, f"{name.strip()}.answers.json")
        if path is not None:
            self.write(walk, path, name.strip())

    def write(self, walk: Walk, path: Path, learner: str) -> None:
        """Write the answers."""
        text = json.dumps(walk.answers(learner), ensure_ascii=False, indent=1)
        try:
            replace_file(path, f"{text}\n".encode())
        except (OSError, FileError) as error:
            text = self.tr("{0} was not written. {1}")
            self._document.problem.emit(text.format(path.name, error))
        else:
            self._document.succeeded.emit((path,))
