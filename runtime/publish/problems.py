"""Errors and diagnostics for a reader: what, where, expected, got, next step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from blocks.errors import FileError, GradwireError, Location

if TYPE_CHECKING:
    from runtime.diagram import Diagnostic


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; ``line`` and ``column`` count from 1."""

    severity: str
    what: str
    location: Location | None = None
    expected: str | None = None
    got: str | None = None
    next_step: str | None = None
    code: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @classmethod
    def of_error(cls, error: GradwireError, file: str | None = None) -> Self:
        """What the error says; its own file, line and column where it knows them."""
        known = error if isinstance(error, FileError) else FileError("")
        return cls(
            "error",
            error.what,
            error.location,
            error.expected,
            error.got,
            error.next_step,
            type(error).__name__,
            known.path or file,
            known.line,
            known.column,
        )

    @classmethod
    def of_diagnostic(cls, diagnostic: Diagnostic, file: str | None = None) -> Self:
        """What the diagnostic says, about that file."""
        d = diagnostic
        return cls(d.severity, d.what, d.location, d.expected, d.got, d.next_step, d.code, file)

    def text(self) -> str:
        """``FILE:LINE:COLUMN: error: mul1.a: what``, then expected, got and next step indented."""
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        where = f"{self.location}: " if self.location else ""
        lines = [f"{place or 'gradwire'}: {self.severity}: {where}{self.what}"]
        rest = (("expected", self.expected), ("got", self.got), ("next", self.next_step))
        return "\n".join(lines + [f"    {name:<9} {value}" for name, value in rest if value])

    def to_json(self) -> dict[str, Any]:
        """All fields by name; the location as page, block and port."""
        place = self.location or Location()
        return {
            "severity": self.severity,
            "code": self.code,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "page": place.page,
            "block": place.block,
            "port": place.port,
            "what": self.what,
            "expected": self.expected,
            "got": self.got,
            "next_step": self.next_step,
        }
