"""Writes the answers of a lesson to a small file, which ``gradwire grade`` marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import replace_file

if TYPE_CHECKING:
    from gradwire.app.document.document import Document
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.lessons import Walk


class AnswersFile(QObject):
    """Asks for the learner's name and a file."""

    def __init__(self, parent: QWidget, document: Document, settings: Settings) -> None:
        super().__init__(parent)
        self._parent, self._document, self._settings = parent, document, settings

    def choose(self, walk: Walk | None) -> None:
        """Ask for a name and a file, and write the answers given so far."""
        if walk is None:
            return
        name, accepted = QInputDialog.getText(
            self._parent,
            self.tr("Save answers"),
            self.tr("Your name, as your teacher knows it:"),
            text=self._settings.learner,
        )
        if not accepted or not name.strip():
            return
        self._settings.learner = name.strip()
        start = f"{name.strip()}.answers.json"
        chosen, _ = QFileDialog.getSaveFileName(
            self._parent, self.tr("Save answers"), start, self.tr("Answers (*.json)")
        )
        if chosen:
            self.write(walk, Path(chosen), name.strip())

    def write(self, walk: Walk, path: Path, learner: str) -> None:
        """Write the answers."""
        text = json.dumps(walk.answers(learner), ensure_ascii=False, indent=1)
        try:
            replace_file(path, f"{text}\n".encode())
        except (OSError, FileError) as error:
            text = self.tr("{0} was not written. {1}")
            self._document.problem.emit(text.format(path.name, error))
        else:
            self._document.succeeded.emit((path,))
