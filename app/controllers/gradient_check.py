"""Gradient checks: compares each block's derivative with a central difference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import QueryingPart
from gradwire.runtime.diagram import same_meaning
from gradwire.runtime.flow import Check, check_gradients

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram


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
