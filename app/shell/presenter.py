"""What a window shows of its document: the page it is on, and the newest result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.document.document import Document
    from app.document.navigation import Navigation
    from app.evaluation.evaluator import Evaluator
    from app.evaluation.result import Result
    from runtime.diagram import Diagram


class Presenter(QObject):
    """Follows document, navigation and evaluator, and says what is to be shown.

    Each of ``overlays`` puts its findings over the results on their way: which loss they are
    about, a trial, the checks of gradients.
    """

    pageShown = Signal(object, str)
    """A Diagram, and the page of it that the window is on; ``resultShown`` follows."""
    resultShown = Signal(object, object)
    """The newest Result, and the use (an InstancePath) of the page that is shown."""

    def __init__(
        self,
        document: Document,
        navigation: Navigation,
        evaluator: Evaluator,
        overlays: Sequence[Callable[[Result], Result]],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._navigation = navigation
        self._evaluator = evaluator
        self._overlays = overlays
        document.opened.connect(lambda: navigation.go(()))
        document.diagramChanged.connect(self.show_diagram)
        navigation.changed.connect(self.show_page)
        evaluator.resultChanged.connect(self._show_result)

    def show_diagram(self, diagram: Diagram) -> None:
        """Show the document's diagram, and have it evaluated."""
        self._navigation.set_diagram(diagram)
        self.show_page()
        self._evaluator.request(diagram)

    def show_page(self) -> None:
        """Show the page that the window is on, as it is now, with the newest result."""
        self.pageShown.emit(self._document.diagram, self._navigation.page)
        self.show_result()

    def show_result(self) -> None:
        """Show the newest result, with what is put over it now."""
        if self._evaluator.result is not None:
            self._show_result(self._evaluator.result)

    def _show_result(self, result: Result) -> None:
        for overlay in self._overlays:
            result = overlay(result)
        self.resultShown.emit(result, self._navigation.use)
