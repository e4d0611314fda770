"""Importing models of other systems: what to import and how, and what came of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.bars.banner import OfferBar
from gradwire.app.panels.layouts import path_to_open
from gradwire.app.panels.workspace import WindowPart
from gradwire.runtime.interchange import FORMATS, endings

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.panels.dialogs.import_sheet import ImportReport, ImportSheet
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.interchange import Imported


class ImportCommands(WindowPart):
    """Asks for the models to import, and shows the remarks of imports."""

    modelChosen = Signal(object, object)
    """Path of a model, and the ImportOptions."""

    def __init__(self, workspace: Workspace, show_block: Callable[[str], object]) -> None:
        super().__init__(workspace)
        self._show_block = show_block
        self.offer = OfferBar(self._frame)
        """Says what was imported, and offers the report."""
        self.sheet: ImportSheet | None = None
        """The open sheet of options."""
        self.report: ImportReport | None = None
        """The open report of the last import."""
        self._document.opened.connect(self._forget_import)

    def choose(self) -> None:
        """Ask for a model, and how to import it."""
        title = self.tr("Import a model")
        path = path_to_open(self._frame, title, self._filter(), self._folder())
        if path is not None:
            self.ask(path)

    def ask(self, path: Path) -> None:
        """Ask how to import a model."""
        from gradwire.app.panels.dialogs.import_sheet import ImportSheet

        if self.sheet is not None:
            self.sheet.reject()
        self.sheet = sheet = ImportSheet(path, self._frame)
        sheet.accepted.connect(lambda: self.modelChosen.emit(sheet.path, sheet.options))
        sheet.finished.connect(self._forget_sheet)
        sheet.finished.connect(sheet.deleteLater)
        sheet.open()

    def announce(self, name: str, imported: Imported) -> None:
        """Say that a model was imported, and offer its remarks."""
        if not imported.remarks:
            return
        from gradwire.app.panels.dialogs.import_sheet import kind_text

        kinds = Counter(remark.kind for remark in imported.remarks)
        counts = ", ".join(f"{kind_text(kind)}: {count}" for kind, count in kinds.items())
        self.offer.ask(
            self.tr("Imported from {0}. Remarks: {1}.").format(name, counts),
            {
                self.tr("&Show Remarks"): lambda: self.show_report(name, imported),
                self.tr("&Dismiss"): lambda: None,
            },
        )

    def show_report(self, name: str, imported: Imported) -> None:
        """Show what the import of a model has to say, beside the window."""
        from gradwire.app.panels.dialogs.import_sheet import ImportReport

        self._close_report()
        self.report = report = ImportReport(name, imported, self._frame)
        report.blockRequested.connect(self._show_block)
        report.finished.connect(self._forget_report)
        report.finished.connect(report.deleteLater)
        report.show()

    def _forget_import(self) -> None:
        self.offer.withdraw()
        self._close_report()

    def _close_report(self) -> None:
        if self.report is not None:
            self.report.reject()

    def _forget_sheet(self) -> None:
        self.sheet = None

    def _forget_report(self) -> None:
        self.report = None

    def _filter(self) -> str:
        groups = [(self.tr("Models"), endings())]
        groups += [(known.title, known.endings) for known in FORMATS if known.endings]
        shown = [f"{title} ({' '.join(f'*{end}' for end in ends)})" for title, ends in groups]
        return ";;".join([*shown, self.tr("All files (*)")])
