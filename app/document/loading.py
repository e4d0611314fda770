"""Reads a diagram with what the editor must know about its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.app.document.file_watch import Stamp, stamp
from gradwire.blocks.errors import GradwireError
from gradwire.runtime import diagram as files
from gradwire.runtime.data import keep_allowed
from gradwire.runtime.diagram import Diagram, home_of
from gradwire.runtime.interchange import DEFAULTS, ImportOptions, import_apart, is_model

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.interchange import Imported


class Loaded(NamedTuple):
    """A diagram read from a file. A copy has no path, so that saving can't overwrite the file, nor
    has the import of another system's model.
    """

    diagram: Diagram
    path: Path | None
    stamp: Stamp | None
    notice: str = ""
    """What reading a file of an older version changed to keep its meaning."""
    imported: Imported | None = None
    """What is known of a model that was imported; None for a diagram."""

    def copy(self) -> Loaded:
        """The same diagram without a file."""
        return Loaded(self.diagram, None, None, self.notice)


def read_file(path: Path, pulse: files.Pulse, options: ImportOptions = DEFAULTS) -> Loaded:
    """Read a diagram, or import a model as ``options`` say; raises GradwireError and OSError."""
    if is_model(path):
        found = _import(path, options, pulse)
        return Loaded(found.diagram, None, None, imported=found)
    before = stamp(path)  # first: a write during the read counts as a change
    notices: list[str] = []
    return Loaded(files.load(path, pulse, notices.append), path, before, "\n".join(notices))


def _import(path: Path, options: ImportOptions, pulse: files.Pulse) -> Imported:
    """Import a model; ``pulse`` is called again and again, since it also ends what is cancelled."""
    reached = 0.0

    def advance(what: str, share: float) -> None:
        nonlocal reached
        reached = share

    def cancelled() -> bool:
        pulse(reached)
        return False

    return import_apart(path, options, progress=advance, cancelled=cancelled)


def stamp_of_equal(path: Path, diagram: Diagram, pulse: files.Pulse) -> Stamp | None:
    """The stamp of a file that has this diagram; None if it has another."""
    found = read_file(path, pulse)
    return found.stamp if found.diagram == diagram else None


def write_file(path: Path, diagram: Diagram, pulse: files.Pulse) -> Stamp | None:
    """Write a diagram to a file, and return its stamp.

    Data files that lie outside of its folder, and that the diagram could read before, are allowed
    as if the user had chosen them.
    """
    files.save(diagram, path, pulse)
    keep_allowed(diagram, home_of(path))
    return stamp(path)


def saved_diagram(path: Path | None) -> Diagram:
    """The diagram in a file; an empty one without a file, or if it can't be read."""
    try:
        return Diagram() if path is None else files.load(path)
    except (GradwireError, OSError):
        return Diagram()


def stem_of(diagram: Diagram) -> str:
    """A file name made from the title of a diagram, without a suffix."""
    words = (diagram.title or "diagram").casefold().split()
    return "_".join("".join(c for c in word if c.isalnum()) for word in words)[:60]
