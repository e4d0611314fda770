"""What the parts of one window share: its document, its canvas, and where messages go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject

from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMainWindow

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.document.document import Document
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.evaluation.evaluator import Evaluator
    from gradwire.app.panels.bars.notice import Notice
    from gradwire.app.panels.tables.losses import Losses
    from gradwire.app.services.background import Background
    from gradwire.app.services.settings import Settings


@by_identity
class Workspace(NamedTuple):
    """The window of one document, and what nearly all of its parts work with."""

    window: QMainWindow
    settings: Settings
    background: Background
    document: Document
    navigation: Navigation
    evaluator: Evaluator
    canvas: CanvasView
    losses: Losses
    notice: Notice


class WindowPart(QObject):
    """A part of a window, which ends with it."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace.window)
        self._workspace = workspace
        (
            self._window, self._settings, self._background, self._document, self._navigation,
            self._evaluator, self._canvas, self._losses, self._notice,
        ) = workspace  # fmt: skip

    def _say(self, text: str) -> None:
        """Say what is done, and clear the error before it."""
        self._document.succeeded.emit(())
        self._canvas.hint(text)
