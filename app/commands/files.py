"""Opening, saving and closing. Unsaved changes are never discarded without asking."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMessageBox

from gradwire.app.document.loading import FileWatch, stem_of
from gradwire.app.panels.bars.banner import OfferBar
from gradwire.app.panels.layouts import path_to_open, path_to_save
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.background import Occupied
from gradwire.app.services.examples import SUFFIX
from gradwire.runtime.interchange import endings

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent

    from gradwire.app.panels.workspace import Workspace

Answer = QMessageBox.StandardButton


class FileCommands(WindowPart):
    """Opens and saves the document of one window."""

    fileChosen = Signal(object)
    """Path of a file to open."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.offer = OfferBar(self._frame)
        self.watch = FileWatch(self._document)
        self.watch.changed.connect(self.offer_reload)
        self.watch.gone.connect(self.offer_save)
        self.watch.settled.connect(self.offer.withdraw)

    def new(self) -> None:
        """Start an empty diagram."""
        if self.may_leave():
            self._document.new()

    def open(self) -> None:
        """Ask for a file and open it."""
        title = self.tr("Open a diagram")
        path = path_to_open(self._frame, title, self._filter(), self._folder())
        if path is not None:
            self.fileChosen.emit(path)

    def save(self) -> bool:
        """Save; ask for a file if there is none, and before overwriting others' changes."""
        if self._document.path is None:
            return self.save_as()
        return self._save_over() if self._document.changed_on_disk() else self._document.save()

    def offer_reload(self) -> None:
        """Ask, without blocking, what to do about a file that another program has changed."""
        self.offer.ask(
            self.tr("Another program has changed {0}.").format(self._document.name),
            {
                self.tr("&Reload"): self._document.reload,
                self.tr("&Keep Mine"): self._document.keep_own,
            },
        )

    def offer_save(self) -> None:
        """Ask, without blocking, what to do about a file that no longer exists."""
        self.offer.ask(
            self.tr("{0} no longer exists. The diagram is still open here.").format(
                self._document.name
            ),
            {self.tr("&Save Again"): self.save, self.tr("Save &As…"): self.save_as},
        )

    def save_as(self) -> bool:
        """Ask for a file and save to it."""
        folder = self._folder()
        start = self._document.path or folder / f"{stem_of(self._document.diagram)}{SUFFIX}"
        path = path_to_save(self._frame, self.tr("Save the diagram"), self._filter(), start)
        if path is None:
            return False
        path = path if path.name.endswith(".json") else path.with_name(path.name + SUFFIX)
        if not self._document.save_as(path):
            return False
        self._settings.remember(path)
        return True

    def may_leave(self) -> bool:
        """Whether the open diagram may be closed: it has no changes, or is now saved or discarded.

        Returns False while a job is running in the window.
        """
        try:
            self._background.require_idle()
        except Occupied as occupied:
            self._document.problem.emit(str(occupied))
            return False
        if self._document.is_clean:
            return True
        box = QMessageBox(self._frame)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(self.tr("Save the changes to {0}?").format(self._document.name))
        box.setInformativeText(self.tr("Otherwise they will be lost."))
        box.setStandardButtons(Answer.Save | Answer.Discard | Answer.Cancel)
        box.setDefaultButton(Answer.Save)
        answer = box.exec()
        box.deleteLater()
        if answer == Answer.Save:
            return self.save()
        return answer == Answer.Discard

    def _save_over(self) -> bool:
        """Ask before overwriting another program's changes; return whether it was saved."""
        box = QMessageBox(self._frame)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setText(self.tr("Another program has changed {0}.").format(self._document.name))
        box.setInformativeText(self.tr("Saving overwrites those changes. Reloading can be undone."))
        replace = box.addButton(self.tr("&Replace"), QMessageBox.ButtonRole.DestructiveRole)
        elsewhere = box.addButton(self.tr("Save &As…"), QMessageBox.ButtonRole.AcceptRole)
        again = box.addButton(self.tr("Re&load"), QMessageBox.ButtonRole.ActionRole)
        box.setDefaultButton(elsewhere)
        box.addButton(Answer.Cancel)
        box.exec()
        answer = box.clickedButton()
        box.deleteLater()
        if answer is again:
            self._document.reload()  # not saved: the old content is one undo away
        elif answer is elsewhere:
            return self.save_as()
        return answer is replace and self._document.save()

    def _filter(self) -> str:
        return self.tr("Gradwire diagram (*{0});;JSON (*.json)").format(SUFFIX)


def dropped_files(event: QDragEnterEvent | QDropEvent) -> list[Path]:
    """The files of diagrams and models, and folders of models, that are being dragged."""
    names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    known = (".json", *endings())
    return [path for path in map(Path, names) if path.name.endswith(known) or path.is_dir()]
