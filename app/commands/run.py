"""The Run menu: evaluate again, and train step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QInputDialog

from runtime.diagram import Batch, Change, Diagram, SetParameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from app.document.document import Document
    from app.evaluation.evaluator import Evaluator
    from app.evaluation.worker import Worker
    from app.services.settings import Settings


class RunCommands(QObject):
    """Runs the diagram of one window."""

    def __init__(
        self,
        document: Document,
        evaluator: Evaluator,
        workers: Sequence[Worker],
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._parent = parent
        self._document = document
        self._evaluator = evaluator
        self._workers = workers
        self._settings = settings
        evaluator.stepped.connect(self._take_step)
        evaluator.problem.connect(self._refuse_step)

    def evaluate(self) -> None:
        """Compute everything again."""
        self._evaluator.refresh(self._document.diagram)

    def cancel(self) -> None:
        """Give up everything that is being computed."""
        self._evaluator.cancel()
        for worker in self._workers:
            worker.abandon()

    def step(self) -> None:
        """Take one step of gradient descent, as one undo."""
        self._evaluator.step(self._document.diagram, self._settings.rate)

    def rate(self) -> None:
        """Ask for the learning rate."""
        rate, accepted = QInputDialog.getDouble(
            self._parent,
            self.tr("Learning rate"),
            self.tr("A gradient step subtracts this times its gradient from each variable:"),
            self._settings.rate,
            0.0,
            1e6,
            6,
        )
        if accepted:
            self._settings.rate = rate

    def _take_step(self, after: Diagram) -> None:
        changes = tuple(_moved_values(self._document.diagram, after))
        if changes:
            self._document.apply(Batch(self.tr("Gradient step"), changes))

    def _refuse_step(self, reason: str) -> None:
        self._document.problem.emit(self.tr("The gradient step was not taken. {0}").format(reason))
        self.evaluate()


def _moved_values(before: Diagram, after: Diagram) -> list[Change]:
    """The changes that set the values of ``after`` in ``before``."""
    return [
        SetParameters(name, {"value": getattr(block, "value", None)}, page=title)
        for title, page in after.pages.items()
        for name, block in page.blocks.items()
        if block != before.pages[title].blocks[name]
    ]
