"""Places in files of problems that are known by their path in the document."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, offset_of
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.publish.problems import Problem

if TYPE_CHECKING:
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
    from gradwire.runtime.diagram.files.parsing import Path as Place


def placed(found: Sequence[tuple[Diagnostic, Place]], file: Path) -> list[Problem]:
    """The problems with line and column, as far as the file can be read."""
    text = ""
    if found:
        with suppress(OSError, UnicodeDecodeError, FileError):
            text = read_regular(file, 4 * MAX_CHARACTERS).decode("utf-8")
    return [_problem(diagnostic, place, text, str(file)) for diagnostic, place in found]


def _problem(diagnostic: Diagnostic, place: Place, text: str, file: str) -> Problem:
    if not text:
        return Problem(diagnostic, file)
    offset = offset_of(text, place)
    line = text.count("\n", 0, offset) + 1
    return Problem(diagnostic, file, line, offset - text.rfind("\n", 0, offset))
