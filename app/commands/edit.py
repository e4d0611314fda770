"""Edits of the page, requested by the Edit menu and the panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.canvas.input.entry.candidates import type_candidate
from runtime.diagram import Arrange, Change, RenameBlock

if TYPE_CHECKING:
    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation


class EditCommands(QObject):
    """Turns requests into changes of the document."""

    def __init__(
        self, document: Document, navigation: Navigation, canvas: CanvasView, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._navigation = navigation
        self._canvas = canvas

    def change(self, change: Change) -> bool:
        """Apply a change and return whether it was accepted; a renamed block stays selected."""
        selected = self._canvas.selection()
        if not self._document.apply(change):
            return False
        if isinstance(change, RenameBlock) and change.old in selected:
            self._canvas.select(selected - {change.old} | {change.new})
        return True

    def add_block(self, type_name: str) -> None:
        """Add a new block of that type where there is room in view."""
        self._canvas.put(type_candidate(type_name))
        self._canvas.setFocus()

    def arrange(self) -> None:
        """Arrange the page, or only the selected blocks if there are several."""
        chosen = self._canvas.selection()
        names = tuple(sorted(chosen)) if len(chosen) > 1 else ()
        lines = self._canvas.view.scene.face_lines()
        self._document.apply(Arrange(self._navigation.page, names, lines))
