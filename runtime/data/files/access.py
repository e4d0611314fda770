"""Which data files a diagram may read: those in its folder, and those that the user chose.

A diagram may come from anywhere. Without this rule it could read any file of whoever opens it, and
show it on the canvas or publish it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.data_paths import with_data_paths
from gradwire.runtime.diagram.files.regular import lies_inside, resolved
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

_allowed: set[Path] = set()


def allow_data(path: str | Path) -> Path:
    """Let diagrams of this process read a data file outside of their folders, or all in a folder
    and in the folders inside; returns its path.

    To be called for what the user has chosen, never for what only a diagram names.
    """
    with system_errors(Path(path), "read"):
        real = resolved(Path(path))
    _allowed.add(real)
    return real


def allowed_data() -> tuple[Path, ...]:
    """The files and folders that were allowed, for another process that reads on behalf of this."""
    return tuple(_allowed)


def located(path: str, folder: Path | None) -> Path:
    """The file that a diagram in ``folder`` means by ``path``; None for one without a file.

    Links are followed before the folder is compared. Raises FileError for a file outside that the
    user has not chosen.
    """
    if not path:
        raise FileError("No data file is chosen.", next_step="Choose one in the Inspector.")
    with system_errors(Path(path), "read"):
        real = resolved(Path(path) if folder is None else folder / path)
    if any(real.is_relative_to(allowed) for allowed in _allowed):
        return real
    if folder is None:
        raise FileError(
            "The diagram has no folder yet that its data file could lie in.",
            path=path,
            next_step="Save the diagram, or choose the data file again.",
        )
    if not lies_inside(real, folder):
        raise FileError(
            "The data file lies outside of the diagram's folder.",
            path=path,
            expected="a file in the folder of the diagram, or in a folder inside",
            next_step="Move it there, or choose it in the Inspector to allow it until you quit; "
            "add --allow-data DIR to gradwire train; in Python, call gradwire.allow_data(path).",
        )
    return real


def keep_allowed(diagram: Diagram, folder: Path) -> None:
    """Let the diagram read its data files also once its own file is in another folder.

    To be called when the user moves the diagram. Files that it can't read stay forbidden.
    """

    def allow(path: str) -> str:
        with suppress(FileError):
            real = located(path, diagram.folder)
            if not real.is_relative_to(folder):
                allow_data(real)
        return path

    with_data_paths(diagram, allow)
