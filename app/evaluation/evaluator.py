"""Runs the diagram on a thread, and drops results that come too late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gradwire.app.evaluation.badges import badges_without_run
from gradwire.app.evaluation.result import EvaluationResult, numbered
from gradwire.app.evaluation.worker import Engines, Job, Superseded, Worker
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError, Location, reason_of
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagnostic, Diagram, same_meaning
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import THRESHOLDS, ObservedFlow, Thresholds, run_losses
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.lessons import note_trials
from gradwire.runtime.views import Views

if TYPE_CHECKING:
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.views import RecordedNumbers

MAX_LOSSES = 8
"""Losses up to which each is run on its own as well; with more, only their sum is run."""


_REST = 200
"""Milliseconds without another result until what single losses bring back is computed."""
_LOSSES = "losses"


class Evaluation:
    """Computes results of diagrams. Keeps the last session, so that a diagram in which only numbers
    changed is not planned again.
    """

    def __init__(self, engines: Engines | None = None) -> None:
        self._engines = engines
        self._session: Session | None = None
        self._engine: str | Engine = ""
        """The engine that the session was given."""
        self._views = Views()
        self.thresholds: Thresholds = THRESHOLDS
        """The thresholds of the numeric states."""
        self.history: RecordedNumbers | None = None
        """What training has recorded, for plots."""
        self.step_number = 0
        """The training step for which Random and Dataset blocks draw."""

    def __call__(
        self, diagram: Diagram, superseded: Superseded = lambda: False
    ) -> EvaluationResult | None:
        """Lower, analyse and run ``diagram``; None if it is superseded meanwhile.

        Never raises because of the diagram: the result then has the error, and whatever could be
        found out.
        """
        result = EvaluationResult(diagram, step_number=self.step_number)
        try:
            session = self._session_of(diagram)
            session.step_number = self.step_number
            if superseded():
                return None
            flow = analyse(session.program)
            losses = tuple(session.losses)
            result = replace(
                result,
                diagnostics=(*_left_out(), *session.diagnostics),
                states=flow.states(),
                verdict=flow.verdict,
                variable=flow.variable,
                ports=session.program.ports,
                trees=session.program.trees,
                wire_trees=session.program.wire_trees,
                losses=losses,
                badges=badges_without_run(flow),
            )
            if superseded():
                return None
            runs = run_losses(session, flow, most=MAX_LOSSES, superseded=superseded)
            if runs is None:
                return None
            first = next(iter(runs.values()))
            pictures = self._views.pictures(
                diagram, session.program, first.values, session.step_number, self.history
            )
            result = replace(
                result,
                diagnostics=(
                    *_left_out(),
                    *session.program.diagnostics,
                    *_unfit(session),
                    *first.problems,
                ),
                values=first.values,
                pictures=pictures,
            )
            flow.prepare()  # here, so that the window need not wait
            observed = ObservedFlow(flow, runs, self.thresholds, diagram)
            found = (origin.diagnostic for origin in observed.origins)
            trials = note_trials(session, MAX_LOSSES)
            result = replace(result, diagnostics=(*result.diagnostics, *found), trials=trials)
            return numbered(result, observed)
        except GradwireError as error:
            return replace(result, error=str(error))
        except Exception as error:  # a plug-in's block may raise anything; the window must live on
            return replace(result, error=reason_of(error))

    def another(self) -> Evaluation:
        """One with the same thresholds and no session: this one's may be in use still."""
        made = Evaluation(self._engines)
        made.thresholds, made.history = self.thresholds, self.history
        made.step_number = self.step_number
        return made

    def _session_of(self, diagram: Diagram) -> Session:
        session, self._session = self._session, None  # none is kept if this fails
        engine = "numpy" if self._engines is None else self._engines.open()
        if session is None or engine is not self._engine:
            self._engine = engine  # that of the session is another where this one is unfit
            session = Session(diagram, partial=True, engine=engine)
        else:
            session.update(diagram)
        self._session = session
        return session


def _left_out() -> tuple[Diagnostic, ...]:
    """Plug-ins that could not be loaded: listed with every diagram, because blocks are missing."""
    return tuple(
        Diagnostic("warning", Location(), what, code="plugin-left-out")
        for what in registry().left_out
    )


def _unfit(session: Session) -> tuple[Diagnostic, ...]:
    """Why NumPy computes the diagram in place of the chosen engine, if so."""
    return tuple(found for found in session.diagnostics if found.code == "unfit-engine")


def evaluate(diagram: Diagram, superseded: Superseded = lambda: False) -> EvaluationResult | None:
    """The result of one diagram, computed in this thread."""
    return Evaluation()(diagram, superseded)


class Evaluator(QObject):
    """Computes results of the newest diagram on a thread of its own.

    ``request`` returns at once. While a run is under way, only the newest request waits. A result
    is dropped when a newer request has been made, so the results shown are always in order and
    always of the current diagram. A change of layout alone runs nothing.
    """

    resultChanged = Signal(object)
    busyChanged = Signal(bool)
    problem = Signal(str)
    """Why a run ended without a result."""
    stepChosen = Signal(int)
    """The training step of the results from now on."""

    def __init__(
        self,
        run: Callable[[Diagram, Superseded], EvaluationResult | None] | None = None,
        parent: QObject | None = None,
        engines: Engines | None = None,
    ) -> None:
        super().__init__(parent)
        self.engines = engines or Engines()
        self._run = run or Evaluation(self.engines)
        self._result: EvaluationResult | None = None
        self._awaited: Diagram | None = None
        self._cancelled: Diagram | None = None
        """The diagram whose run the user has given up; it is run again on request only."""
        self._is_outdated = False
        """Whether the step has changed since the last run."""
        self._rest = QTimer(self, singleShot=True, interval=_REST)
        self._rest.timeout.connect(self._prepare_losses)
        self._worker = Worker(self)
        self._worker.finished.connect(self._receive)

    @property
    def result(self) -> EvaluationResult | None:
        """The last result: of the newest diagram unless ``busy`` or cancelled."""
        return self._result

    @property
    def busy(self) -> bool:
        """Whether a result is still to come."""
        return self._awaited is not None

    def request(self, diagram: Diagram) -> None:
        """Compute a result of ``diagram`` unless it is known, or was given up by the user.

        A change of layout shows the last result with it; for the very same diagram nothing is done.

        Supersedes all earlier requests.
        """
        if self._is_outdated:
            self.refresh(diagram)
        elif self._awaited is not None and same_meaning(self._awaited, diagram):
            self._awaited = diagram
        elif not self.busy and self._result and self._result.diagram is diagram:
            return
        elif not self.busy and self._result and same_meaning(self._result.diagram, diagram):
            self._show(replace(self._result, diagram=diagram))
        elif self._cancelled is None or not same_meaning(self._cancelled, diagram):
            self.refresh(diagram)

    def refresh(self, diagram: Diagram) -> None:
        """Compute a result of ``diagram`` even if nothing has changed."""
        self._post(diagram, partial(self._run, diagram))

    def judge(self, thresholds: Thresholds) -> None:
        """Use other thresholds, also for the newest result, for which nothing is run again."""
        if isinstance(self._run, Evaluation) and thresholds != self._run.thresholds:
            self._run.thresholds = thresholds
            if (result := self._result) is None or result.flow is None:
                return
            if not self.busy:
                self._post(result.diagram, lambda superseded: result.judged(thresholds))
            elif self._awaited is not None:
                self.refresh(self._awaited)

    def set_step(self, number: int, history: RecordedNumbers | None) -> None:
        """Draw what Random and Dataset blocks draw at a training step, and plot what was recorded
        until then; from the next request on.
        """
        if isinstance(self._run, Evaluation):
            about = number, history
            self._is_outdated |= about != (self._run.step_number, self._run.history)
            self._run.step_number, self._run.history = about
            self.stepChosen.emit(number)

    @property
    def step_number(self) -> int:
        """The training step of the results."""
        return self._run.step_number if isinstance(self._run, Evaluation) else 0

    def cancel(self) -> None:
        """Give up what is under way, also inside a long kernel; the last result stays shown."""
        if not self.busy:
            return
        if isinstance(self._run, Evaluation):
            self._run = self._run.another()
        self._worker.abandon()

    def shutdown(self) -> None:
        """Drop the run under way and end the thread."""
        self._rest.stop()
        self._worker.shutdown()

    def _post(self, diagram: Diagram, job: Job) -> None:
        self._cancelled, self._is_outdated = None, False
        self._rest.stop()
        self._worker.cancel(_LOSSES)
        self._worker.submit("run", job)  # of one kind, since each makes the others outdated
        self._await(diagram)

    def _prepare_losses(self) -> None:
        if self._result is not None and self._result.is_by_loss and not self.busy:
            self._worker.submit(_LOSSES, self._result.prepare_losses)

    def _receive(self, kind: str, result: object) -> None:
        """Keep and emit what the worker has computed, unless another diagram is awaited."""
        if kind == _LOSSES:  # kept by the result itself
            return
        awaited = self._awaited
        self._await(None)
        if isinstance(result, EvaluationResult) and awaited is not None:
            self._show(replace(result, diagram=awaited))
        elif isinstance(result, Cancelled) and awaited is not None:
            self._cancelled = awaited
            last = self._result or EvaluationResult(awaited)
            self._show(replace(last, error=self.tr("The evaluation was cancelled.")))
        elif isinstance(result, Exception):
            self.problem.emit(str(result))

    def _show(self, result: EvaluationResult) -> None:
        self._result = result
        self._rest.start()
        self.resultChanged.emit(result)

    def _await(self, diagram: Diagram | None) -> None:
        was_busy, self._awaited = self.busy, diagram
        if self.busy != was_busy:
            self.busyChanged.emit(self.busy)
