"""The Run menu: evaluate again, give up, the engine, and the learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QInputDialog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from gradwire.app.document.document import Document
    from gradwire.app.evaluation.evaluator import Evaluator
    from gradwire.app.services.settings import Settings


class Computing(Protocol):
    """What computes in the background."""

    def abandon(self) -> None:
        """Give up all that is under way."""


class RunCommands(QObject):
    """Runs the diagram of one window."""

    def __init__(
        self,
        document: Document,
        evaluator: Evaluator,
        workers: Sequence[Computing],
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._document = document
        self._evaluator = evaluator
        self._workers = workers
        self._settings = settings
        evaluator.problem.connect(document.problem)

    def evaluate(self) -> None:
        """Compute everything again."""
        self._evaluator.refresh(self._document.diagram)

    def cancel(self) -> None:
        """Give up everything that is being computed."""
        self._evaluator.cancel()
        for worker in self._workers:
            worker.abandon()

    def use_engine(self, name: str) -> None:
        """Let another engine compute, in all windows."""
        self._evaluator.engines.choose(name)

    def rate(self) -> None:
        """Ask for the learning rate."""
        rate, accepted = QInputDialog.getDouble(
            self._parent,
            self.tr("Learning rate"),
            self.tr(
                "Without a recipe, a step subtracts this times its gradient from each variable:"
            ),
            self._settings.rate,
            0.0,
            1e6,
            6,
        )
        if accepted:
            self._settings.rate = rate
