"""The result of checks: a problem, its location, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError, GradwireError, Location

if TYPE_CHECKING:
    from gradwire.blocks.values import Json

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of a diagram. An error prevents its block from running, a warning doesn't.

    ``code``, such as ``missing-input``, is stable between releases; the texts are not.
    """

    severity: Severity
    location: Location
    what: str
    expected: str | None = None
    got: str | None = None
    next_step: str | None = None
    code: str = ""

    @classmethod
    def from_error(
        cls, error: GradwireError, code: str, location: Location | None = None
    ) -> Diagnostic:
        """Convert an exception to a diagnostic, with the place in a file that it names."""
        place = error.place if isinstance(error, FileError) else ""
        return cls(
            severity="error",
            location=error.location or location or Location(),
            what=f"{place}: {error.what}" if place else error.what,
            expected=error.expected,
            got=error.got,
            next_step=error.next_step,
            code=code,
        )

    def __str__(self) -> str:
        return str(
            GradwireError(
                self.what,
                location=self.location,
                expected=self.expected,
                got=self.got,
                next_step=self.next_step,
            )
        )

    def to_json(self) -> dict[str, Json]:
        """A flat JSON object; absent parts are null."""
        return {
            "severity": self.severity,
            "code": self.code,
            "page": self.location.page,
            "block": self.location.block,
            "port": self.location.port,
            "what": self.what,
            "expected": self.expected,
            "got": self.got,
            "next_step": self.next_step,
        }
