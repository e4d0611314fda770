"""File > Export for: the diagram as source for another system, or as an ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.app.commands.writing import WritingCommands
from gradwire.app.services.background import Cancelled
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session

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
