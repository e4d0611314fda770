"""The doctor's report: findings, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.blocks import Tensor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.publish.report import NO_LOSS
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from gradwire.runtime.flow import Cause, Finding
    from gradwire.runtime.publish.problems import Problem

_MOST = 5
"""At most so many victims of a culprit have a row of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class DoctorReport:
    """Findings about one diagram."""

    file: str
    losses: tuple[str, ...]
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()
    well: str = ""
    """What can be said where there are no findings."""

    def parts(self) -> list[Part]:
        """One table by cause, or that all is well."""
        if not self.losses:
            return [self.file, NO_LOSS]
        if not self.findings:
            return [self.file, self.well]
        rows = [
            row for rank, cause in enumerate(causes(self.findings), 1) for row in _rows(rank, cause)
        ]
        return [self.file, TextTable("Findings", ("", "what", "where", "why"), tuple(rows))]

    def to_json(self) -> dict[str, Any]:
        """``{"report": "doctor", "version": 2, …}``."""
        return {
            "report": "doctor",
            "version": 2,
            "file": self.file,
            "losses": list(self.losses),
            "causes": [_cause_json(cause) for cause in causes(self.findings)],
            "findings": [finding_json(finding) for finding in self.findings],
            "problems": [problem.to_json() for problem in self.problems],
        }


def _rows(rank: int, cause: Cause) -> list[tuple[str, ...]]:
    """A row of the culprit, then one for each of the first victims."""
    victims = cause.victims
    head = (str(rank), cause.complaint.words, cause.culprit, cause.sentence)
    rows: list[tuple[str, ...]] = [head]
    rows += [("", "", f"  {victim.key}", victim.sentence) for victim in victims[:_MOST]]
    if len(victims) > _MOST:
        rows.append(("", "", f"  and {len(victims) - _MOST} more", ""))
    return rows


def _cause_json(cause: Cause) -> dict[str, Any]:
    return {
        "culprit": cause.culprit,
        "what": cause.complaint.name,
        "error": cause.is_error,
        "why": cause.sentence,
        **({"written": cause.written} if cause.written else {}),
        "affected": list(cause.affected),
        "findings": [finding.key for finding in cause.findings],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding, for JSON."""
    fix = finding.fix
    return {
        "what": finding.complaint.name,
        "error": finding.complaint.is_error,
        "where": finding.key,
        "loss": finding.loss,
        "why": finding.sentence,
        **({"written": finding.written} if finding.written else {}),
        "witness": list(finding.witness),
        "fix": None
        if fix is None
        else {
            "open": list(fix.switches or fix.opened),
            "straight_through": list(fix.straight_through),
            "train": list(fix.trained),
            "rms": None if fix.rms is None else Tensor(fix.rms).to_json(),
            "why": fix.sentence,
        },
    }
