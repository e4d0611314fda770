"""Compares the open diagram with a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from gradwire.app.commands.files import folder_of
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.dialogs.comparison import Comparison
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.pictures.diff_picture import DiffPicture
from gradwire.app.services.background import Cancelled
from gradwire.app.services.examples import SUFFIX
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import load
from gradwire.runtime.publish import DiffReport, diff_report, plain, visible

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import Result
    from gradwire.runtime.diagram import Diagram


class CompareCommands(WindowPart):
    """Compare With, in the File menu."""

    def compare(self) -> None:
        """Ask for a file, and show what changed from it to the open diagram."""
        name, _ = QFileDialog.getOpenFileName(
            self._window,
            self.tr("Compare with"),
            str(folder_of(self._document, self._settings)),
            self.tr("Gradwire diagram (*{0});;JSON (*.json)").format(SUFFIX),
        )
        if name:
            self._compare_with(Path(name))

    def _compare_with(self, path: Path) -> None:
        diagram, shown = self._document.diagram, self._document.name
        try:
            report, result = self._background.run(
                self.tr("Comparing with {0}").format(path.name),
                lambda pulse: _compared(path, diagram, shown),
                pure=True,
            )
        except Cancelled:
            return
        except GradwireError as error:  # of the file, or because another job is running
            self._document.problem.emit(str(error))
            return
        self._document.succeeded.emit(())
        self._show(report, result)

    def _show(self, report: DiffReport, result: Result | None) -> None:
        here = self._navigation.page
        differing = [each.page for each in report.changes.pages if each.page is not None]
        pages = sorted(differing, key=lambda page: page != here) or [here]
        dialog = Comparison(
            self.tr("{0} compared with {1}").format(report.after, report.before),
            visible(plain(report.parts())),
            pages,
            lambda page, theme: DiffPicture(
                report.changes, report.effects, page, result, theme=theme
            ),
            self._window,
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.show()


def _compared(path: Path, diagram: Diagram, name: str) -> tuple[DiffReport, Result | None]:
    """The report on a file and a diagram, and the result of the diagram."""
    return diff_report(load(path), diagram, (path.name, name)), evaluate(diagram)
