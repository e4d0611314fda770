"""Keeps a document's journal entry up to date while it has unsaved changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from gradwire.app.services.background import tell

if TYPE_CHECKING:
    from gradwire.app.document.document import Document
    from gradwire.app.services.journal import Journal

DELAY = 300
"""Milliseconds from an unsaved change to its entry in the journal."""


class Autosave(QObject):
    """Writes a change within ``DELAY``, even if further changes keep coming."""

    failed = Signal(str)
    """Why the journal can't be written; emitted once until it can be again."""
    _refused = Signal(str)

    def __init__(self, document: Document, journal: Journal) -> None:
        super().__init__(document)
        self._document = document
        self._journal = journal
        self._key = journal.key()
        self._reported = False
        self._closed = False
        self._timer = QTimer(self, singleShot=True, interval=DELAY)
        self._timer.timeout.connect(self.write)
        self._refused.connect(self._report)
        document.diagramChanged.connect(self._schedule)
        document.cleanChanged.connect(self._schedule)
        document.saved.connect(self.forget)
        document.opened.connect(self.forget)

    def write(self) -> None:
        """Write the diagram to the journal now, or remove its entry if the file is up to date."""
        if self._document.is_clean:
            self.forget()
            return
        self._timer.stop()
        document = self._document
        self._journal.write(
            self._key, document.diagram, document.path, partial(tell, self._refused)
        )

    def forget(self) -> None:
        """Remove the entry: the document has nothing left to lose."""
        self._timer.stop()
        self._reported = False
        if not self._closed:
            self._journal.forget(self._key)

    def close(self) -> None:
        """Remove the entry for good: the window is closed."""
        self.forget()
        self._closed = True

    def _schedule(self) -> None:
        if not self._closed and not self._timer.isActive():
            self._timer.start()

    def _report(self, reason: str) -> None:
        if not self._reported:
            self._reported = True
            self.failed.emit(reason)
