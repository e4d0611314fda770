"""Keeps the doctor's findings up to date while their panel is visible."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.evaluation.worker import SessionWorker
from app.panels.tables.doctor import Findings
from app.panels.why.answers import WIRE
from app.services.background import Cancelled
from runtime.diagram.model import same_meaning
from runtime.diagram.paths import PortPath
from runtime.flow import Finding, Thresholds, contracts_of, diagnose, reassurance

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from app.canvas.view import CanvasView
    from app.controllers.explanation import Explanation
    from app.document.document import Document
    from app.evaluation.result import Result
    from app.services.settings import Settings
    from runtime.diagram import Diagram
    from runtime.engine import Session


class DoctorController(QObject):
    """Diagnoses the diagram of one window on a thread."""

    countChanged = Signal(int)
    """The number of findings."""

    def __init__(
        self,
        document: Document,
        settings: Settings,
        canvas: CanvasView,
        explanation: Explanation,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._settings = settings
        self._canvas = canvas
        self._explanation = explanation
        self._result: Result | None = None
        self._visible = False
        self._diagnosed: Diagram | None = None
        self._thresholds = settings.thresholds
        self.panel = Findings(parent)
        self.worker = SessionWorker(self)
        self.worker.finished.connect(self._take)
        self.panel.findingRequested.connect(self.reveal)

    def set_result(self, result: Result) -> None:
        """Diagnose another result, at once if the panel is visible."""
        self._result = result
        self._update()

    def set_visible(self, visible: bool) -> None:
        """Record whether the panel is visible, and diagnose if it is."""
        self._visible = visible
        self._update()

    def reveal(self, finding: Finding) -> None:
        """Go to the wire, variable, block or port of a finding; a wire is shown with its route."""
        flow = None if self._result is None else self._result.flow
        explanation = self._explanation
        if flow is not None and finding.key in flow.program.wire_sources:
            explanation.follow_link(WIRE + finding.key)
            if (wire := self._canvas.selected_wire()) is not None:
                explanation.explain(wire)
        elif flow is not None and finding.key in flow.program.sources("variable"):
            explanation.explain_variable(finding.key)
        else:
            explanation.follow_link(PortPath(finding.key).block)

    def _update(self) -> None:
        result = self._result
        if result is None or not self._visible:
            return
        before, now = self._diagnosed, result.diagram
        alike = before is not None and before.contracts == now.contracts
        thresholds = self._settings.thresholds
        if thresholds == self._thresholds and alike and before and same_meaning(before, now):
            return
        self._diagnosed, self._thresholds = result.diagram, thresholds
        if not result.losses:
            self.worker.cancel("doctor")
            self.panel.show_findings((), result.error or self.tr("There is no loss yet."))
            return
        query = partial(_findings, diagram=now, file=self._document.path, thresholds=thresholds)
        self.worker.query("doctor", now, query)

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, list):
            self.panel.show_findings(answer, "")
        else:
            if isinstance(answer, Cancelled):
                self._diagnosed = None  # so that the next result is diagnosed
            self.panel.show_findings((), str(answer))
        self.countChanged.emit(len(self.panel.table.findings))


def _findings(
    session: Session, diagram: Diagram, file: Path | None, thresholds: Thresholds
) -> list[Finding] | str:
    """The findings, or a sentence if there are none.

    The contracts are those of ``diagram``, since the session's diagram may differ in them.
    """
    contracts = contracts_of(diagram, file)
    found = diagnose(session, contracts=contracts, thresholds=thresholds)
    return found or reassurance(session.program, session.program.heads())
