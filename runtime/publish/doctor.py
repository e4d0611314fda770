"""The doctor's report: findings, the worst first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blocks import Tensor
from runtime.publish.report import NO_LOSS
from runtime.publish.text import Part, Table

if TYPE_CHECKING:
    from runtime.flow import Finding
    from runtime.publish.problems import Problem


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Findings about one diagram."""

    file: str
    losses: tuple[str, ...]
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()
    well: str = ""
    """What can be said where there are no findings."""

    def parts(self) -> list[Part]:
        """One table, or that all is well."""
        if not self.losses:
            return [self.file, NO_LOSS]
        if not self.findings:
            return [self.file, self.well]
        rows = tuple(
            (str(rank), f.complaint.words, f.key, f.sentence)
            for rank, f in enumerate(self.findings, 1)
        )
        return [self.file, Table("Findings", ("", "what", "where", "why"), rows)]

    def to_json(self) -> dict[str, Any]:
        """``{"report": "doctor", "version": 1, …}``."""
        return {
            "report": "doctor",
            "version": 1,
            "file": self.file,
            "losses": list(self.losses),
            "findings": [_finding_json(finding) for finding in self.findings],
            "problems": [problem.to_json() for problem in self.problems],
        }


def _finding_json(finding: Finding) -> dict[str, Any]:
    fix = finding.fix
    return {
        "what": finding.complaint.name,
        "error": finding.complaint.is_error,
        "where": finding.key,
        "loss": finding.loss,
        "why": finding.sentence,
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
