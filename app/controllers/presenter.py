"""Decides what a window shows: the current page and the newest result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram


class Presenter(WindowPart):
    """Follows document, navigation and evaluator, and emits what to show.

    Each of ``overlays`` adjusts results before they are shown: for the chosen loss, a trial,
    gradient checks, or a timeline.
    """

    pageShown = Signal(object, str)
    """A Diagram and the name of its current page; ``resultShown`` follows."""
    resultShown = Signal(object, object)
    """The newest Result, and the InstancePath of the current use of the page."""

    def __init__(
        self,
        workspace: Workspace,
        overlays: Iterable[Callable[[EvaluationResult], EvaluationResult]],
    ) -> None:
        super().__init__(workspace)
        self._overlays = [*overlays]
        self._document.opened.connect(lambda: self._navigation.go(()))
        self._document.diagramChanged.connect(self.show_diagram)
        self._navigation.changed.connect(self.show_page)
        self._evaluator.resultChanged.connect(self._show_result)

    def overlay(self, overlay: Callable[[EvaluationResult], EvaluationResult]) -> None:
        """Adjust results by one more from now on, after the others."""
        self._overlays.append(overlay)

    def show_diagram(self, diagram: Diagram) -> None:
        """Show the document's diagram and evaluate it."""
        self._navigation.set_diagram(diagram)
        self.show_page()
        self._evaluator.request(diagram)

    def show_page(self) -> None:
        """Show the current page with the newest result."""
        self.pageShown.emit(self._document.diagram, self._navigation.page)
        self.show_result()

    def show_result(self) -> None:
        """Show the newest result with the current overlays."""
        if self._evaluator.result is not None:
            self._show_result(self._evaluator.result)

    def _show_result(self, result: EvaluationResult) -> None:
        for overlay in self._overlays:
            result = overlay(result)
        self.resultShown.emit(result, self._navigation.use)
