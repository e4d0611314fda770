"""Compares the open diagram with a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from gradwire.app.commands.writing import WritingCommands
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.dialogs.merging import ComparisonDialog
from gradwire.app.panels.layouts import path_to_open
from gradwire.app.pictures.diff_picture import DiffPicture
from gradwire.app.services.examples import SUFFIX
from gradwire.runtime.diagram import load
from gradwire.runtime.publish import DiffReport, diff_report, plain, visible

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import Diagram


class CompareCommands(WritingCommands):
    """Compare With, in the File menu."""

    def compare(self) -> None:
        """Ask for a file, and show what changed from it to the open diagram."""
        kinds = self.tr("Gradwire diagram (*{0});;JSON (*.json)").format(SUFFIX)
        path = path_to_open(self._frame, self.tr("Compare with"), kinds, self._folder())
        if path is not None:
            self._compare_with(path)

    def _compare_with(self, path: Path) -> None:
        diagram, shown = self._document.diagram, self._document.name
        text = self.tr("Comparing with {0}").format(path.name)
        found = self._run(text, lambda pulse: _compared(path, diagram, shown), pure=True)
        if found is not None:
            self._document.succeeded.emit(())
            self._show(*found)

    def _show(self, report: DiffReport, result: EvaluationResult | None) -> None:
        here = self._navigation.page
        differing = [each.page for each in report.changes.pages if each.page is not None]
        pages = sorted(differing, key=lambda page: page != here) or [here]
        dialog = ComparisonDialog(
            self.tr("{0} compared with {1}").format(report.after, report.before),
            visible(plain(report.parts())),
            pages,
            lambda page, theme: DiffPicture(
                report.changes, report.effects, page, result, theme=theme
            ),
            self._frame,
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()


def _compared(
    path: Path, diagram: Diagram, name: str
) -> tuple[DiffReport, EvaluationResult | None]:
    """The report on a file and a diagram, and the result of the diagram."""
    return diff_report(load(path), diagram, (path.name, name)), evaluate(diagram)
