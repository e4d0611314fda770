"""Keeps the matrix of losses and variables up to date while it is visible."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire.app.panels import labels
from gradwire.app.panels.tables.matrix import Matrix
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.runtime.flow import LossMatrix, ObservedFlow, loss_matrix

if TYPE_CHECKING:
    from gradwire.app.controllers.explanation import Explanation
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.engine import Session


class LossMatrixController(QueryingPart):
    """Compares the gradients of all losses on a thread."""

    def __init__(self, workspace: Workspace, explanation: Explanation) -> None:
        super().__init__(workspace)
        self._explanation = explanation
        self._result: EvaluationResult | None = None
        self._compared: ObservedFlow | None = None
        self._visible = False
        self.panel = Matrix(self._frame)
        self.panel.lossRequested.connect(self._losses.choose)
        self.panel.variableRequested.connect(self.reveal)

    def set_result(self, result: EvaluationResult) -> None:
        """Compare another result, at once if the matrix is visible."""
        self._result = result
        self._update()

    def set_visible(self, visible: bool) -> None:
        """Record whether the matrix is visible, and compare if it is."""
        self._visible = visible
        self._update()

    def reveal(self, variable: str, loss: str | None) -> None:
        """Show the route of a variable, for one loss if given."""
        if loss is not None:
            self._losses.choose(loss)
        self._explanation.explain_variable(variable)

    def _update(self) -> None:
        flow = None if self._result is None else self._result.flow
        if self._result is None or not self._visible:
            return
        if reason := labels.withheld(self._result):
            self._compared = None
            self.worker.cancel("matrix")
            self.panel.show_matrix(None, reason)
            return
        if flow is self._compared is not None:
            return
        self._compared = flow
        if flow is None or not flow.losses:
            self.worker.cancel("matrix")
            self.panel.show_matrix(None, self._result.error or self.tr("There is no loss yet."))
        elif any(flow.run(loss) is None for loss in flow.losses):
            self.worker.cancel("matrix")
            many = self.tr("There are {0} losses, too many to run each on its own.")
            self.panel.show_matrix(None, many.format(len(flow.losses)))
        else:
            self.worker.query("matrix", self._result.diagram, partial(_compared, flow=flow))

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, LossMatrix):
            empty = self.tr("No variable is trained.")
            self.panel.show_matrix(answer, "" if answer.variables else empty)
        else:
            if isinstance(answer, Cancelled):
                self._compared = None  # so that the next result is compared
            self.panel.show_matrix(None, str(answer))


def _compared(session: Session, flow: ObservedFlow) -> LossMatrix:
    """The matrix of ``flow``, which needs no further run of the session."""
    return loss_matrix(flow)
