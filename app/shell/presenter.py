"""What a window shows of its document: diagram, place and result, led to canvas and panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from app.evaluation.result import Result
    from app.shell.main_window import MainWindow
    from runtime.diagram import Diagram


class Presenter(QObject):
    """Leads what document and evaluator say to all that shows it."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._fit_wanted = False
        document = window.document
        document.opened.connect(self._begin)
        document.diagramChanged.connect(self.show_diagram)
        document.restored.connect(window.commands.show_restored)
        document.pathChanged.connect(self._show_title)
        document.cleanChanged.connect(self._show_title)
        document.problem.connect(window.notice.tell)
        window.autosave.failed.connect(self._warn_of_autosave)
        window.navigation.changed.connect(self.show_place)
        window.evaluator.resultChanged.connect(self._show_result)

    def show_diagram(self, diagram: Diagram) -> None:
        """Show the document's diagram, and have it evaluated."""
        window = self._window
        window.notice.dismiss()
        window.navigation.set_diagram(diagram)
        self.show_place()
        self._show_title()
        self._show_welcome()
        if self._fit_wanted:
            self._fit_wanted = False
            window.canvas.zoom_to_fit()
        window.evaluator.request(diagram)

    def show_place(self) -> None:
        """Show the page that the window is on, as it is now, with the newest result."""
        window = self._window
        diagram, page = window.document.diagram, window.navigation.page
        window.canvas.set_diagram(diagram, page)
        window.inspector.set_diagram(diagram, page)
        window.why.set_diagram(diagram, page)
        window.find_bar.set_diagram(diagram)
        window.palette_panel.set_diagram(diagram, page)
        window.breadcrumbs.show_trail(window.navigation.trail, window.navigation.root)
        window.actions_by_name["leave_page"].setEnabled(bool(window.navigation.prefix))
        if window.evaluator.result is not None:
            self._show_result(window.evaluator.result)

    def _begin(self) -> None:
        window = self._window
        window.notice.dismiss()
        window.inspector.forget()
        window.navigation.go(())
        window.canvas.select(())
        window.canvas.select_wire(None)
        self._fit_wanted = True

    def _show_result(self, result: Result) -> None:
        window = self._window
        prefix, result = window.navigation.prefix, window.trial.over(window.losses.about(result))
        result = window.gradient_check.over(result)
        window.canvas.set_result(result, prefix)
        window.inspector.set_result(result, prefix)
        window.why.set_result(result, prefix)
        window.explanation.show_result(result)
        window.find_bar.set_result(result)
        window.variables.show_result(result)
        window.problems.show_problems(result.diagnostics)
        window.doctor.show_result(result)
        window.loss_comparison.show_result(result)
        if result.error is not None:
            window.notice.tell(result.error)

    def _warn_of_autosave(self, reason: str) -> None:
        self._window.notice.tell(
            self.tr("What you change is not kept safe until you save it. {0}").format(reason)
        )

    def _show_welcome(self) -> None:
        document, welcome = self._window.document, self._window.welcome
        empty = not any(page.blocks or page.notes for page in document.diagram.pages.values())
        if empty and document.path is None and not welcome.isVisible():
            welcome.show_recent(self._window.settings.recent)
        welcome.setVisible(empty and document.path is None)

    def _show_title(self) -> None:
        window = self._window
        window.setWindowTitle(f"{window.files.title()}[*] — Gradwire")
        window.setWindowFilePath(str(window.document.path or ""))
        window.setWindowModified(not window.document.is_clean)
