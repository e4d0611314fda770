"""Writes curves to files, their numbers as CSV and their drawing as SVG, and reads runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog

from gradwire.app.commands.writing import WritingCommands
from gradwire.blocks.errors import GradwireError

if TYPE_CHECKING:
    from gradwire.app.panels.training.curves import Curves
    from gradwire.app.panels.workspace import Workspace


class CurveCommands(WritingCommands):
    """Exports what the panel of curves draws, and opens what was exported or trained elsewhere."""

    runsRead = Signal(object)
    """A list of Recordings."""

    def __init__(self, workspace: Workspace, curves: Curves) -> None:
        super().__init__(workspace)
        self._curves = curves
        curves.csvRequested.connect(self.export_numbers)
        curves.svgRequested.connect(self.export_drawing)
        curves.openRequested.connect(self.open_runs)

    def open_runs(self) -> None:
        """Show the runs of files beside those of the window."""
        from gradwire.runtime.training import read_recordings

        start = str(self._folder())
        kinds = self.tr("Runs (*.jsonl *.csv)")
        names, _ = QFileDialog.getOpenFileNames(self._frame, self.tr("Open runs"), start, kinds)
        if names:
            self._document.succeeded.emit(())
        for name in names:
            try:
                found = read_recordings(name)
            except GradwireError as error:
                self._document.problem.emit(str(error))
            else:
                self.runsRead.emit(found)

    def export_numbers(self) -> None:
        """Write all curves of the runs that are drawn."""
        from gradwire.runtime.training import csv_of

        shown = [run.recording for run in self._curves.runs if run.shown]
        self._export(".csv", csv_of(shown).encode())

    def export_drawing(self) -> None:
        """Write the plots as they are drawn."""
        if self._curves.plots is not None:
            self._export(".svg", self._curves.plots.svg())

    def _export(self, kind: str, content: bytes) -> None:
        if not self._curves.runs:
            self._document.problem.emit(
                self.tr("There are no curves yet. Play the training first.")
            )
            return
        path = self._ask_for_file(self.tr("Export curves"), kind, f"*{kind}", tail="_curves")
        if path is not None and self._write(path, content):
            self._document.succeeded.emit((path,))
