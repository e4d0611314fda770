"""Keeps the doctor's list to the newest result, while the list is in view."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.evaluation.worker import Asker
from app.panels.tables.doctor import Doctor
from app.panels.why.answers import WIRE
from runtime.diagram.model import same_meaning
from runtime.flow import Finding, Thresholds, contracts_of, diagnose

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QDockWidget

    from app.evaluation.result import Result
    from app.shell.main_window import MainWindow
    from runtime.diagram import Diagram
    from runtime.engine import Session


class DoctorController(QObject):
    """Has the diagram of one window looked through by a thread of its own."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._result: Result | None = None
        self._seen = False
        self._looked_at: Diagram | None = None
        self._thresholds = window.settings.thresholds
        self.panel = Doctor(window)
        self.asker = Asker(self)
        window.closed.connect(self.asker.shutdown)
        self.asker.answered.connect(self._take)
        self.panel.findingRequested.connect(self.reveal)

    def show_result(self, result: Result) -> None:
        """Look through another diagram, at once if the list is in view."""
        self._result = result
        self._look()

    def see(self, seen: bool) -> None:
        """The list has come into view, or gone out of it: hidden behind another tab."""
        self._seen = seen
        self._look()

    def reveal(self, finding: Finding) -> None:
        """Show the wire with its route, the variable, the block or the port of a finding."""
        flow = None if self._result is None else self._result.flow
        explanation, canvas = self._window.explanation, self._window.canvas
        if flow is not None and finding.key in flow.program.wire_sources:
            explanation.follow_link(WIRE + finding.key)
            if (wire := canvas.selected_wire()) is not None:
                explanation.explain(wire)
        elif flow is not None and finding.key in flow.program.sources("variable"):
            explanation.explain_variable(finding.key)
        else:
            path, _, name = finding.key.rpartition("/")
            block = name.partition(".")[0]
            explanation.follow_link(f"{path}/{block}" if path else block)

    def _look(self) -> None:
        result = self._result
        if result is None or not self._seen:
            return
        before, now = self._looked_at, result.diagram
        alike = before is not None and before.contracts == now.contracts
        thresholds = self._window.settings.thresholds
        if thresholds == self._thresholds and alike and before and same_meaning(before, now):
            return
        self._looked_at, self._thresholds = result.diagram, thresholds
        if not result.losses:
            self.asker.forget("doctor")
            self.panel.show_findings((), self.tr("There is no loss yet."))
            return
        question = partial(
            _findings, diagram=now, file=self._window.document.path, thresholds=thresholds
        )
        self.asker.ask("doctor", now, question)

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, list):
            well = self.tr("Every variable that is trained gets a gradient.")
            self.panel.show_findings(answer, well)
        else:
            self.panel.show_findings((), str(answer))
        count_in(self._window.docks["doctor"], len(self.panel.table.findings))


def _findings(
    session: Session, diagram: Diagram, file: Path | None, thresholds: Thresholds
) -> list[Finding]:
    """Contracts are those of ``diagram``: the session may have another of the same meaning."""
    return diagnose(session, contracts=contracts_of(diagram, file), thresholds=thresholds)


def count_in(dock: QDockWidget, count: int) -> None:
    """Let the title of ``dock`` say how much it lists."""
    title = dock.windowTitle().partition(" (")[0]
    dock.setWindowTitle(f"{title} ({count})" if count else title)
