"""Questions about the diagram that are answered on threads of their own.

The derivative of a block, a check of all gradients, and the matrix of losses and variables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels import labels
from gradwire.app.panels.lessons.derivative import DerivativePanel
from gradwire.app.panels.tables.matrix import Matrix
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import ROOT, InstancePath, same_meaning
from gradwire.runtime.flow import Check, LossMatrix, ObservedFlow, check_gradients, loss_matrix

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.controllers.explanation import Explanation
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session
    from gradwire.runtime.lessons import VectorJacobian

_CARD, _ROW = "derivative", "row"


class DerivativeController(QueryingPart):
    """Writes cards on a thread: one for the selection, if it is a single block."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._result: EvaluationResult | None = None
        self._use = ROOT
        self._visible = False
        self.panel = DerivativePanel(self._frame)
        self.panel.rowRequested.connect(self._compute_row)

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Follow another result, at once if the card is visible."""
        self._result, self._use = result, use
        self._update()

    def set_selection(self, selection: Selection) -> None:
        """Follow the selection, at once if the card is visible."""
        self._update()

    def set_visible(self, visible: bool) -> None:
        """Record whether the card is visible, and write it if it is."""
        self._visible = visible
        self._update()

    def _update(self) -> None:
        result, chosen = self._result, self._canvas.selection()
        if not self._visible or result is None:
            return
        self.worker.cancel(_CARD)
        self.worker.cancel(_ROW)
        if reason := labels.withheld(result):
            self.panel.show_text(reason)
            return
        if len(chosen) != 1:
            self.panel.show_text(self.tr("Select a block to see its derivative."))
            return
        (name,) = chosen
        if isinstance(self._canvas.view.scene.page.blocks[name], PageBlock):
            self.panel.show_text(self.tr("This is a page: open it to see the derivatives inside."))
            return
        from gradwire.runtime.lessons import derivative_card

        loss = self._losses.chosen
        losses = None if loss is None else [loss]
        job = partial(derivative_card, block=self._use / name, losses=losses)
        self.worker.query(_CARD, result.diagram, job)

    def _compute_row(self, product: VectorJacobian, index: int) -> None:
        self.worker.submit(_ROW, lambda _: (product, index, product.row(index)))

    def _take(self, kind: str, answer: object) -> None:
        from gradwire.runtime.lessons import DerivativeCard

        if kind == _ROW and isinstance(answer, tuple):
            self.panel.show_row(*answer)
        elif isinstance(answer, DerivativeCard):
            self.panel.show_card(answer)
        elif not isinstance(answer, Cancelled):
            self.panel.show_text(str(answer))


class GradientCheck(QueryingPart):
    """Runs checks on request; blocks show their outcome until the diagram changes."""

    changed = Signal()
    """The checks to overlay on results have changed."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._diagram: Diagram | None = None
        self._checks: dict[str, Check] = {}

    def check_gradients(self) -> None:
        """Check every block of the diagram at its current values."""
        self._diagram, self._checks = self._document.diagram, {}
        self._canvas.hint(self.tr("Checking the gradients …"))
        self.worker.query("check", self._diagram, check_gradients)

    def overlay(self, result: EvaluationResult) -> EvaluationResult:
        """``result`` with the checks of its diagram."""
        if not self._checks or self._diagram is None:
            return result
        if not same_meaning(self._diagram, result.diagram):
            self._checks = {}
            return result
        badges = replace(result.badges, checks=self._checks)
        return replace(result, badges=badges)

    def _take(self, kind: str, answer: object) -> None:
        if not isinstance(answer, list):
            self._notice.show_message(self.tr("The gradients can't be checked. {0}").format(answer))
            return
        self._document.succeeded.emit(())
        self._checks = {check.block: check for check in answer}
        wrong = [check.sentence for check in answer if check.is_wrong]
        if wrong:
            self._notice.show_message("\n".join(wrong[:3]))
        agreeing = sum(check.agrees for check in answer)
        summary = self.tr("Gradient check: {0} blocks agree, {1} disagree, {2} are exempt.")
        rest = len(answer) - agreeing - len(wrong)
        self._canvas.hint(summary.format(agreeing, len(wrong), rest))
        self.changed.emit()


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
