"""File > Export for: the diagram as source for another system, or as an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QMessageBox

from gradwire.app.commands.files import folder_of
from gradwire.app.document.loading import stem_of
from gradwire.app.panels.workspace import WindowPart
from gradwire.app.pictures.files import write
from gradwire.app.services.background import Cancelled, Occupied
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradwire.app.panels.workspace import Workspace
    from gradwire.blocks.errors import Location
    from gradwire.runtime.diagram import Diagram


class ExportCommands(WindowPart):
    """Writes the document of one window for other systems, and shows the block that can't be."""

    def __init__(self, workspace: Workspace, show_place: Callable[[Location], object]) -> None:
        super().__init__(workspace)
        self._show_place = show_place

    def export(self, system: str) -> None:
        """Ask for a file, and write the diagram for a system, with large arrays beside."""
        path = self._ask_for_file(system)
        files = None if path is None else self._made(path, system)
        if path is None or not files or not self._may_replace([f for f in files if f != path]):
            return
        for file, content in files.items():
            if reason := write(file, content):
                text = self.tr("{0} was not written: {1}. Choose another folder.")
                self._document.problem.emit(text.format(file, reason))
                return
        self._document.succeeded.emit((path, *(file for file in files if file != path)))

    def _ask_for_file(self, system: str) -> Path | None:
        from gradwire.runtime.interchange import ENDINGS  # which few starts need

        ending = ENDINGS[system]
        start = folder_of(self._document, self._settings) / (
            stem_of(self._document.diagram) + ending
        )
        kind = self.tr("Python source") if ending == ".py" else self.tr("ONNX model")
        name, _ = QFileDialog.getSaveFileName(
            self._window, self.tr("Export the diagram"), str(start), f"{kind} (*{ending})"
        )
        if not name:
            return None
        path = Path(name)
        return path if path.suffix.lower() == ending else path.with_name(path.name + ending)

    def _made(self, path: Path, system: str) -> Mapping[Path, bytes] | None:
        """The files; None if that was cancelled, or a block can't be written, which is shown."""
        diagram, text = self._document.diagram, self.tr("Writing {0}").format(path.name)
        try:
            return self._background.run(
                text, lambda pulse: _files(diagram, system, path), pure=True
            )
        except Cancelled:
            return None
        except (GradwireError, Occupied) as error:
            self._document.problem.emit(self.tr("Nothing was written. {0}").format(error))
            if error.location is not None and error.location.block:
                self._show_place(error.location)
            return None

    def _may_replace(self, files: list[Path]) -> bool:
        """Ask before replacing the file of arrays, whose name nobody chose."""
        known = [file.name for file in files if file.exists()]
        if not known:
            return True
        text = self.tr("Replace {0}?").format(", ".join(known))
        asked = QMessageBox.question(self._window, self.tr("Export the diagram"), text)
        return asked == QMessageBox.StandardButton.Yes


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
