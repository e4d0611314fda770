"""The Run menu: evaluate again, give up, the engine, and the learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtWidgets import QInputDialog

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.panels.workspace import Workspace


class BackgroundRuns(Protocol):
    """What computes in the background."""

    def abandon(self) -> None:
        """Give up all that is under way."""


class RunCommands(WindowPart):
    """Runs the diagram of one window."""

    def __init__(self, workspace: Workspace, workers: Sequence[BackgroundRuns]) -> None:
        super().__init__(workspace)
        self._workers = workers
        self._evaluator.problem.connect(self._document.problem)

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
            self._frame,
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
