"""Writes the diagram for other systems, and as pages for readers and classes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.app.commands.writing import WritingCommands
from gradwire.app.document.loading import stem_of
from gradwire.app.panels.dialogs.class_sheet import ClassSheet
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.publish import Exercise, ExercisePages, published, write_together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradwire.app.panels.workspace import Workspace
    from gradwire.blocks.errors import Location
    from gradwire.runtime.diagram import Diagram


class ExportCommands(WritingCommands):
    """Writes the document of one window for other systems, and shows the block that can't be."""

    def __init__(self, workspace: Workspace, show_place: Callable[[Location], object]) -> None:
        super().__init__(workspace)
        self._show_place = show_place

    def export(self, system: str) -> None:
        """Ask for a file, and write the diagram for a system, with large arrays beside."""
        from gradwire.runtime.interchange import ENDINGS  # which few starts need

        title, ending = self.tr("Export the diagram"), ENDINGS[system]
        kind = self.tr("Python source") if ending == ".py" else self.tr("ONNX model")
        path = self._ask_for_file(title, ending, f"{kind} (*{ending})", endings=(ending,))
        files = None if path is None else self._made(path, system)
        if path is None or not files:
            return
        others = [file for file in files if file != path]
        if self._may_replace(title, others) and all(
            self._write(file, content) for file, content in files.items()
        ):
            self._document.succeeded.emit((path, *others))

    def _made(self, path: Path, system: str) -> Mapping[Path, bytes] | None:
        """The files; None if that was cancelled, or a block can't be written, which is shown."""
        diagram, text = self._document.diagram, self.tr("Writing {0}").format(path.name)
        try:
            return self._background.run(
                text, lambda pulse: _files(diagram, system, path), pure=True
            )
        except Cancelled:
            return None
        except GradwireError as error:
            self._document.problem.emit(self.tr("Nothing was written. {0}").format(error))
            if error.location is not None and error.location.block:
                self._show_place(error.location)
            return None


def _files(diagram: Diagram, system: str, path: Path) -> Mapping[Path, bytes]:
    """The files of an export. Raises GradwireError for the first error of the diagram."""
    session = Session(diagram)
    for problem in session.diagnostics:
        if problem.severity == "error":
            raise GradwireError(
                problem.what,
                location=problem.location,
                expected=problem.expected,
                got=problem.got,
                next_step=problem.next_step,
            )
    from gradwire.runtime.interchange import exported_files

    return exported_files(session, system, path)


ENDINGS = (".html", ".htm")


class PublishCommands(WritingCommands):
    """Writes the page of the document of one window, and says where it is only a picture."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.sheet: ClassSheet | None = None
        """The open sheet of a class."""

    def publish(self) -> None:
        """Ask for a file, and write the page."""
        path = self._ask_for_page(self.tr("Publish a page"))
        if path is None:
            return
        diagram, text = self._document.diagram, self.tr("Writing {0}").format(path.name)
        page = self._run(text, lambda pulse: published(diagram), pure=True)
        if page is None or not self._write(path, page.html.encode()):
            return
        self._document.succeeded.emit((path,))
        if page.obstacle:
            text = self.tr("{0} is a picture, as browsers can't compute the diagram. {1}")
            self._document.problem.emit(text.format(path.name, page.obstacle))

    def save_exercises(self) -> None:
        """Ask for whom a lesson is, and where to write their pages."""
        diagram = self._document.diagram
        if self.sheet is not None:
            return
        try:
            Exercise(seed=1).require(diagram)
        except GradwireError as error:
            self._document.problem.emit(str(error))
            return
        folder = self._folder()
        self.sheet = ClassSheet(diagram, stem_of(diagram), folder, self._frame)
        self.sheet.saveRequested.connect(self._save_exercises)
        self.sheet.finished.connect(self._forget_sheet)
        self.sheet.finished.connect(self.sheet.deleteLater)
        self.sheet.open()

    def _forget_sheet(self) -> None:
        self.sheet = None

    def _save_exercises(self) -> None:
        """Ask for a file, and write what the sheet shows."""
        title = self.tr("Save exercises for a class")
        sheet, path = self.sheet, self._ask_for_page(title)
        if sheet is None or path is None:
            return
        files = sheet.files(path)
        if not self._may_replace(title, (file for file in files if file != path)):
            return
        sheet.accept()
        try:
            self._write_pages(path, files)
        except Cancelled:
            return
        except OSError as error:
            text = self.tr("No page was written to {0}: {1}. Choose another folder.")
            self._document.problem.emit(text.format(path.parent, error.strerror or str(error)))
        except GradwireError as error:
            self._document.problem.emit(self.tr("No page was written. {0}").format(error))
        else:
            self._document.succeeded.emit(tuple(files))

    def _write_pages(self, path: Path, files: Mapping[Path, Exercise]) -> None:
        """Compare the lesson with the runtime, and write all its pages or none."""
        diagram, run = self._document.diagram, self._background.run
        text = self.tr("Preparing {0}").format(path.name)
        pages = run(text, lambda pulse: ExercisePages(diagram), pure=True)
        wanted = {file: partial(pages.page, exercise) for file, exercise in files.items()}
        text = self.tr("Writing {0} pages").format(len(files))
        run(text, lambda pulse: write_together(wanted, pulse))

    def _ask_for_page(self, title: str) -> Path | None:
        return self._ask_for_file(title, ".html", self.tr("Page (*.html)"), endings=ENDINGS)
