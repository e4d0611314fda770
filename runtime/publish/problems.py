"""Errors and diagnostics for a reader: what, where, expected, got, next step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, Location, shortened
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.publish.printable import visible

if TYPE_CHECKING:
    from gradwire.blocks.errors import GradwireError
    from gradwire.blocks.values import Json


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and the file it is in; ``line`` and ``column`` count from 1."""

    diagnostic: Diagnostic
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @classmethod
    def of_error(cls, error: GradwireError, file: str | None = None) -> Self:
        """The problem that an error reports, with its own file, line and column if known."""
        known = error if isinstance(error, FileError) else FileError("")
        diagnostic = Diagnostic.from_error(error, code=type(error).__name__)
        diagnostic = replace(diagnostic, what=error.what)  # the place has fields of its own
        return cls(diagnostic, known.path or file, known.line, known.column)

    @property
    def is_error(self) -> bool:
        """Whether it keeps the diagram from running."""
        return self.diagnostic.severity == "error"

    def text(self) -> str:
        """``FILE:LINE:COLUMN: error: mul1.a: what``, then expected, got and next step indented."""
        d = self.diagnostic
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        where = f"{d.location}: " if d.location != Location() else ""
        lines = [f"{place or 'gradwire'}: {d.severity}: {where}{shortened(d.what)}"]
        rest = (("expected", d.expected), ("got", d.got), ("next", d.next_step))
        lines += [f"    {name:<9} {shortened(value)}" for name, value in rest if value]
        return visible("\n".join(lines))

    def to_json(self) -> dict[str, Json]:
        """The diagnostic's fields, flat, with file, line and column."""
        place = {"file": self.file, "line": self.line, "column": self.column}
        return place | self.diagnostic.to_json()
