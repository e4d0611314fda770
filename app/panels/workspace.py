"""What the parts of one window share: its document, its canvas, and where messages go."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject

from gradwire.app.evaluation.worker import SessionWorker
from gradwire.blocks.classes.identity import by_identity

if TYPE_CHECKING:
    from collections.abc import Collection

    from PySide6.QtWidgets import QMainWindow

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.document.document import Document
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.evaluation.evaluator import Evaluator
    from gradwire.app.panels.bars.banner import Notice
    from gradwire.app.panels.tables.losses import Losses
    from gradwire.app.services.background import Background
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.diagram import Page


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
        (
            self._frame, self._settings, self._background, self._document, self._navigation,
            self._evaluator, self._canvas, self._losses, self._notice,
        ) = workspace  # fmt: skip

    @property
    def _page(self) -> Page:
        """The page that is shown."""
        return self._document.diagram.pages[self._navigation.page]

    def _show_added(self, blocks: Collection[str], notes: Collection[str]) -> None:
        """Select what was added to the page, and bring it into view."""
        self._canvas.select(blocks, notes)
        bounds = self._canvas.view.scene.bounds_of(blocks, notes)
        if bounds is not None:
            self._canvas.reveal(bounds)

    def _folder(self) -> Path:
        """The folder that a file dialog starts in."""
        if self._document.path is not None:
            return self._document.path.parent
        recent = self._settings.recent
        return recent[0].parent if recent else Path.home()

    def _say(self, text: str) -> None:
        """Say what is done, and clear the error before it."""
        self._document.succeeded.emit(())
        self._canvas.hint(text)


class QueryingPart(WindowPart):
    """A part that asks about diagrams on a thread of its own."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.worker = SessionWorker(self)
        self.worker.finished.connect(self._take)

    def _take(self, kind: str, answer: object) -> None:
        """Take an answer of some kind, or the exception in place of one."""
        raise NotImplementedError  # each part has its own
