"""Opening, saving and leaving: nothing that is not on disk is given up without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMessageBox

from app.document.file_watch import FileWatch
from app.panels.bars.offer import Offer
from app.services.background import Occupied
from app.services.examples import SUFFIX

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.shell.main_window import MainWindow
    from app.shell.windows import Windows

Answer = QMessageBox.StandardButton


class FileCommands(QObject):
    """The File menu."""

    def __init__(
        self, window: MainWindow, document: Document, canvas: CanvasView, windows: Windows
    ) -> None:
        super().__init__(window)
        self._window = window
        self._document = document
        self._canvas = canvas
        self._windows = windows
        self._settings = windows.settings
        self.offer = Offer(window)
        self.disk = FileWatch(document)
        self.disk.changed.connect(self.offer_reload)
        self.disk.gone.connect(self.tell_gone)
        self.disk.settled.connect(self.offer.withdraw)

    def new(self) -> None:
        """Begin an empty diagram."""
        if self.may_leave():
            self._document.new()

    def open(self) -> None:
        """Ask for a file and open it."""
        name, _ = QFileDialog.getOpenFileName(
            self._window, self.tr("Open a diagram"), str(self.folder()), self._filter()
        )
        if name:
            self.open_path(Path(name))

    def open_path(self, path: Path) -> bool:
        """Open ``path``, here or in another window; False when the file is broken."""
        return self._windows.open(path, self._window)

    def open_example(self, path: Path) -> None:
        """Open a copy of an example."""
        self._windows.open_copy(path, self._window)

    def new_window(self) -> None:
        """Open one more window, empty."""
        self._windows.new()

    def save(self) -> bool:
        """Write the file; asks for one when there is none yet, and before replacing another's."""
        if self._document.path is None:
            return self.save_as()
        return self._save_over() if self._document.changed_on_disk() else self._document.save()

    def offer_reload(self) -> None:
        """Ask, without stopping anything, what to do about a file that another program wrote."""
        self.offer.ask(
            self.tr("Another program has changed {0}.").format(self.title()),
            {
                self.tr("&Reload"): self._document.reload,
                self.tr("&Keep Mine"): self._document.keep,
            },
        )

    def tell_gone(self) -> None:
        """Say that the file is not there any more."""
        self.offer.ask(
            self.tr("{0} is not there any more. The diagram is still here.").format(self.title()),
            {self.tr("&Save Again"): self.save, self.tr("Save &As…"): self.save_as},
        )

    def save_as(self) -> bool:
        """Ask for a file and write it."""
        start = self._document.path or self.folder() / f"{self.suggestion()}{SUFFIX}"
        name, _ = QFileDialog.getSaveFileName(
            self._window, self.tr("Save the diagram"), str(start), self._filter()
        )
        if not name:
            return False
        path = Path(name if name.endswith(".json") else name + SUFFIX)
        if not self._document.save_as(path):
            return False
        self._settings.remember(path)
        return True

    def close_window(self) -> None:
        """Close the window, which asks about unsaved changes."""
        self._window.close()

    def quit(self) -> None:
        """Close all windows; one that is not given up keeps the rest open."""
        self._windows.close_all()

    def may_leave(self) -> bool:
        """Whether the diagram that is open may go: it is clean, saved now, or given up.

        Not while something is under way in the window.
        """
        try:
            self._window.background.require_idle()
        except Occupied as occupied:
            self._document.problem.emit(str(occupied))
            return False
        if self._document.is_clean:
            return True
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(self.tr("Save the changes to {0}?").format(self.title()))
        box.setInformativeText(self.tr("They are lost otherwise."))
        box.setStandardButtons(Answer.Save | Answer.Discard | Answer.Cancel)
        box.setDefaultButton(Answer.Save)
        answer = box.exec()
        box.deleteLater()
        if answer == Answer.Save:
            return self.save()
        return answer == Answer.Discard

    def _save_over(self) -> bool:
        """Ask before a file is replaced that another program wrote; whether it was saved."""
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setText(self.tr("Another program has changed {0}.").format(self.title()))
        box.setInformativeText(self.tr("Saving replaces what it wrote. Reloading can be undone."))
        replace = box.addButton(self.tr("&Replace"), QMessageBox.ButtonRole.DestructiveRole)
        elsewhere = box.addButton(self.tr("Save &As…"), QMessageBox.ButtonRole.AcceptRole)
        again = box.addButton(self.tr("Re&load"), QMessageBox.ButtonRole.ActionRole)
        box.setDefaultButton(elsewhere)
        box.addButton(Answer.Cancel)
        box.exec()
        answer = box.clickedButton()
        box.deleteLater()
        if answer is again:
            self._document.reload()  # what was open is one undo away, so nothing may close yet
        elif answer is elsewhere:
            return self.save_as()
        return answer is replace and self._document.save()

    def title(self) -> str:
        """What the diagram is called: its file, else its title."""
        if self._document.path is not None:
            return self._document.path.name
        return self._document.diagram.title or self.tr("Untitled")

    def suggestion(self) -> str:
        """A name for a file, without an ending, from the title."""
        words = (self._document.diagram.title or "diagram").casefold().split()
        return "_".join("".join(c for c in word if c.isalnum()) for word in words)[:60]

    def folder(self) -> Path:
        """Where a dialog for files begins."""
        if self._document.path is not None:
            return self._document.path.parent
        recent = self._settings.recent
        return recent[0].parent if recent else Path.home()

    def _filter(self) -> str:
        return self.tr("Gradwire diagram (*{0});;JSON (*.json)").format(SUFFIX)


def dropped_files(event: QDragEnterEvent | QDropEvent) -> list[Path]:
    """The diagram files that are dragged."""
    names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    return [Path(name) for name in names if name.endswith(".json")]
