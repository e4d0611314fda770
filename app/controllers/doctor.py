"""Keeps the doctor's findings up to date while they, or their number, are visible."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.app.panels import labels
from gradwire.app.panels.tables.doctor import FindingsTree
from gradwire.app.panels.why.why import WIRE
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.runtime.diagram import InstancePath, PortPath, same_meaning
from gradwire.runtime.flow import Cause, Thresholds, causes, contracts_of, diagnose, reassurance

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.app.controllers.explanation import Explanation
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session


_COUNT_AFTER = 400
"""Milliseconds of rest after which findings that nobody waits for are looked for."""


class DoctorController(QueryingPart):
    """Diagnoses the diagram of one window on a thread."""

    countChanged = Signal(int)
    """The number of causes."""

    def __init__(self, workspace: Workspace, explanation: Explanation, reveal: Reveal) -> None:
        super().__init__(workspace)
        self._explanation = explanation
        self._reveal = reveal
        self._result: EvaluationResult | None = None
        self._visible = self._counted = False
        self._later = QTimer(self, singleShot=True, interval=_COUNT_AFTER)
        self._later.timeout.connect(self._update)
        self._diagnosed: Diagram | None = None
        self._thresholds = self._settings.thresholds
        self._step_number = 0
        self.panel = FindingsTree(self._frame)
        self.panel.causeRequested.connect(self.reveal)
        self.panel.victimRequested.connect(self.show_victim)

    def set_result(self, result: EvaluationResult) -> None:
        """Diagnose another result, at once if the panel is visible."""
        before, self._result = self._result, result
        is_training = before is not None and before.step_number != result.step_number
        if self._visible and not is_training:
            self._update()
        elif (self._visible and not self._later.isActive()) or (
            self._counted and not self._visible
        ):
            self._later.start()  # of a training some steps are diagnosed

    def set_visible(self, visible: bool) -> None:
        """Record whether the panel is visible, and diagnose if it is."""
        self._visible = visible
        self._update()

    def set_counted(self, counted: bool) -> None:
        """Record whether the number of findings is shown, and diagnose if it is."""
        self._counted = counted
        if counted:
            self._later.start()
        else:
            self._later.stop()

    def reveal(self, cause: Cause) -> None:
        """Go to a culprit and light it, with a route that leads through it if there is one."""
        culprit = InstancePath(cause.culprit)
        near = (
            victim.key for victim in cause.victims if InstancePath(victim.key).use == culprit.use
        )
        through = cause.place if cause.place != culprit else next(near, culprit)
        self.show_victim(through)
        if through != culprit:
            self._reveal.path(culprit)
        if self._canvas.zoom() < NUMBERS:
            self._canvas.zoom_to_selection()

    def show_victim(self, key: str) -> None:
        """Go to a wire, variable, block or port; a wire or variable is shown with its route."""
        flow = None if self._result is None else self._result.flow
        explanation = self._explanation
        if flow is not None and key in flow.program.wire_sources:
            explanation.follow_link(WIRE + key)
            if (wire := self._canvas.selected_wire()) is not None:
                explanation.explain(wire)
        elif flow is not None and key in flow.program.sources("variable"):
            explanation.explain_variable(key)
        else:
            explanation.follow_link(PortPath(key).block)

    def _update(self) -> None:
        if self._document.is_previewing:  # a hand is at work
            self._later.start()
            return
        result = self._result
        if result is None or not (self._visible or self._counted):
            return
        if reason := labels.withheld(result):
            self._diagnosed = None
            self._show_nothing(reason)
            return
        before, now = self._diagnosed, result.diagram
        alike = before is not None and before.contracts == now.contracts
        thresholds = self._settings.thresholds
        is_known = thresholds == self._thresholds and self._step_number == result.step_number
        if is_known and alike and before and same_meaning(before, now):
            return
        self._diagnosed, self._thresholds = result.diagram, thresholds
        self._step_number = result.step_number
        if not result.losses:
            self._show_nothing(result.error or self.tr("There is no loss yet."))
            return
        query = partial(_findings, diagram=now, file=self._document.path, thresholds=thresholds)
        self.worker.query("doctor", now, query)

    def _show_nothing(self, reason: str) -> None:
        self.worker.cancel("doctor")
        self.panel.show_causes((), reason)
        self.countChanged.emit(0)
        self._mark({})

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, list):
            self.panel.show_causes(answer, "")
        else:
            if isinstance(answer, Cancelled):
                self._diagnosed = None  # so that the next result is diagnosed
            self.panel.show_causes((), str(answer))
        causes = self.panel.causes
        self.countChanged.emit(len(causes))
        self._mark(
            {InstancePath(cause.culprit): cause.severity for cause in causes if cause.is_serious}
        )

    def _mark(self, severities: dict[InstancePath, str]) -> None:
        """Mark the blocks at fault, unless they are marked: all of the canvas is painted anew."""
        if severities != self._canvas.view.culprits:
            self._canvas.mark_culprits(severities)


def _findings(
    session: Session, diagram: Diagram, file: Path | None, thresholds: Thresholds
) -> list[Cause] | str:
    """The findings by cause, or a sentence if there are none.

    The contracts are those of ``diagram``, since the session's diagram may differ in them.
    """
    contracts = contracts_of(diagram, file)
    found = diagnose(session, contracts=contracts, thresholds=thresholds)
    return causes(found) or reassurance(session.program, session.program.heads())
