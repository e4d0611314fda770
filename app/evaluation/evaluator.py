"""Runs the diagram away from the window, and drops what comes too late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.evaluation.badges import badges_without_run
from app.evaluation.result import Result, numbered
from app.evaluation.worker import Job, Superseded, Worker
from blocks.errors import GradwireError
from runtime.diagram import Diagram
from runtime.diagram.model import same_meaning
from runtime.engine import SGD, Session
from runtime.flow import ObservedFlow, Thresholds, analyse
from runtime.flow.numbers.rules import THRESHOLDS
from runtime.flow.observed import run_losses

MOST_LOSSES = 8
"""Up to so many losses each is run by itself, for numbers per loss; beyond, only their sum."""


class Evaluation:
    """Makes results one after the other, and keeps the session of the last: a diagram of which
    only numbers have changed is not planned anew.
    """

    def __init__(self) -> None:
        self._session: Session | None = None
        self.thresholds: Thresholds = THRESHOLDS
        """Of the numeric states."""

    def __call__(self, diagram: Diagram, superseded: Superseded = lambda: False) -> Result | None:
        """Lower, analyse and run ``diagram``; None when it was superseded on the way.

        Never raises for what is wrong with the diagram: the result then holds what could be
        found out, and the error.
        """
        result = Result(diagram)
        try:
            session = self._session_of(diagram)
            if superseded():
                return None
            flow = analyse(session.program)
            losses = tuple(session.losses)
            result = replace(
                result,
                diagnostics=tuple(session.diagnostics),
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
            runs = run_losses(session, flow, most=MOST_LOSSES, superseded=superseded)
            if runs is None:
                return None
            first = next(iter(runs.values()))
            result = replace(
                result,
                diagnostics=(*session.program.diagnostics, *first.problems),
                values=first.values,
            )
            flow.prepare()  # here, not when the window asks
            return numbered(result, ObservedFlow(flow, runs, self.thresholds, diagram))
        except GradwireError as error:
            return replace(result, error=str(error))
        except Exception as error:  # a plug-in's block may raise anything; the window must live on
            return replace(result, error=f"{type(error).__name__}: {error}")

    def _session_of(self, diagram: Diagram) -> Session:
        session, self._session = self._session, None  # none is kept where this fails
        if session is None:
            session = Session(diagram, partial=True)
        else:
            session.update(diagram)
        self._session = session
        return session


def evaluate(diagram: Diagram, superseded: Superseded = lambda: False) -> Result | None:
    """One result by itself."""
    return Evaluation()(diagram, superseded)


def train(diagram: Diagram, rate: float) -> Diagram:
    """The diagram after one step of gradient descent; raises GradwireError."""
    session = Session(diagram)
    session.step(SGD(lr=rate))
    return session.diagram_with_values()


class Evaluator(QObject):
    """Results of the newest diagram, made by one thread of its own.

    ``request`` returns at once. While a run is under way only the newest request waits; a result
    that a newer request has overtaken is dropped, so what is shown is never older than what was
    shown before, and never of another diagram. A change of layout alone runs nothing.
    """

    resultChanged = Signal(object)
    busyChanged = Signal(bool)
    stepped = Signal(object)
    """The Diagram with the values after a training step."""
    problem = Signal(str)
    """Why a training step could not be made."""

    def __init__(
        self,
        run: Callable[[Diagram, Superseded], Result | None] | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._run = run or Evaluation()
        self._result: Result | None = None
        self._awaited: Diagram | None = None
        self._worker = Worker(self)
        self._worker.finished.connect(self._receive)

    @property
    def result(self) -> Result | None:
        """The last result, of the newest diagram unless ``busy``."""
        return self._result

    @property
    def busy(self) -> bool:
        """A result is on its way."""
        return self._awaited is not None

    def request(self, diagram: Diagram) -> None:
        """Make a result of ``diagram``; overtakes every request before."""
        if self._awaited is not None and same_meaning(self._awaited, diagram):
            self._awaited = diagram
        elif not self.busy and self._result and same_meaning(self._result.diagram, diagram):
            self._show(replace(self._result, diagram=diagram))
        else:
            self.refresh(diagram)

    def refresh(self, diagram: Diagram) -> None:
        """Make a result of ``diagram`` even if nothing has changed."""
        self._post(diagram, partial(self._run, diagram))

    def judge(self, thresholds: Thresholds) -> None:
        """Tell states by other thresholds, those of the newest result first, without a run."""
        if isinstance(self._run, Evaluation) and thresholds != self._run.thresholds:
            self._run.thresholds = thresholds
            if (result := self._result) is None or result.flow is None:
                return
            if not self.busy:
                self._post(result.diagram, lambda superseded: result.judged(thresholds))
            elif self._awaited is not None:
                self.refresh(self._awaited)

    def step(self, diagram: Diagram, rate: float) -> None:
        """One step of gradient descent; ``stepped`` brings the diagram with the new values."""
        self._post(diagram, lambda superseded: train(diagram, rate))

    def shutdown(self) -> None:
        """Drop what is under way and end the thread."""
        self._worker.shutdown()

    def _post(self, diagram: Diagram, job: Job) -> None:
        self._worker.submit("run", job)  # of one kind, since each makes the others outdated
        self._await(diagram)

    def _receive(self, kind: str, result: object) -> None:
        awaited = self._awaited
        self._await(None)
        if isinstance(result, Result) and awaited is not None:
            self._show(replace(result, diagram=awaited))
        elif isinstance(result, Diagram):
            self.stepped.emit(result)
        elif isinstance(result, Exception):
            self.problem.emit(str(result))

    def _show(self, result: Result) -> None:
        self._result = result
        self.resultChanged.emit(result)

    def _await(self, diagram: Diagram | None) -> None:
        was_busy, self._awaited = self.busy, diagram
        if self.busy != was_busy:
            self.busyChanged.emit(self.busy)
