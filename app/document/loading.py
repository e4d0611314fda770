"""Reads a diagram with what the editor must know about its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.document.file_watch import Stamp, stamp
from runtime import diagram as files

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.diagram import Diagram


class Loaded(NamedTuple):
    """A diagram read from a file. A copy has no path, so that saving can't overwrite the file."""

    diagram: Diagram
    path: Path | None
    stamp: Stamp | None
    notice: str = ""
    """What reading a file of an older version changed to keep its meaning."""

    def copy(self) -> Loaded:
        """The same diagram without a file."""
        return Loaded(self.diagram, None, None, self.notice)


def read_file(path: Path, pulse: files.Pulse) -> Loaded:
    """Read a file; raises GradwireError and OSError."""
    before = stamp(path)  # first: a write during the read counts as a change
    notices: list[str] = []
    return Loaded(files.load(path, pulse, notices.append), path, before, "\n".join(notices))
