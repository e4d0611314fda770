"""Contracts, derivatives and findings of the doctor: lines for a reader, JSON, and JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gradwire.blocks import Tensor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.tools.causes import causes
from gradwire.runtime.publish.printable import visible, xml_text
from gradwire.runtime.publish.report import NO_LOSS
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from gradwire.blocks.values import Json
    from gradwire.runtime.flow import Breach, Cause, Check, Finding, Outcome
    from gradwire.runtime.publish.problems import Problem


# Gradient checks: lines for a reader, and JSON.


def gradient_lines(checks: Sequence[Check]) -> list[str]:
    """How many blocks agree with differences, and each that does not."""
    if not checks:
        return []
    agreed = sum(check.agrees for check in checks)
    head = f"✓ {agreed} of {len(checks)} blocks have the derivative that a central difference gives"
    return [head, *(check.sentence for check in checks if not check.agrees)]


def gradients_json(checks: Mapping[str, Sequence[Check]]) -> list[dict[str, Json]]:
    """One record a block and file."""
    return [
        {
            "file": file,
            "block": check.block,
            "agrees": check.agrees,
            "wrong": check.is_wrong,
            "rule": Tensor(check.rule).to_json(),
            "difference": Tensor(check.difference).to_json(),
            "excuse": check.excuse or None,
        }
        for file, several in checks.items()
        for check in several
    ]


# The doctor's report: findings, the worst first.

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

    def to_json(self) -> dict[str, Json]:
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


def _cause_json(cause: Cause) -> dict[str, Json]:
    return {
        "culprit": cause.culprit,
        "what": cause.complaint.name,
        "error": cause.is_error,
        "why": cause.sentence,
        **({"written": cause.written} if cause.written else {}),
        "affected": list(cause.affected),
        "findings": [finding.key for finding in cause.findings],
    }


def finding_json(finding: Finding) -> dict[str, Json]:
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


Outcomes = Mapping[str, Sequence["Outcome"]]
"""By the diagram's file."""


def contract_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """``kept  flows(loss -> W)`` or ``BROKEN``, and below a broken one what breaks it."""
    lines = []
    for outcome in outcomes:
        lines.append(f"{'kept  ' if outcome.kept else 'BROKEN'}  {outcome.contract}")
        lines += [f"        {_line(breach)}" for breach in outcome.breaches]
    return [visible(line) for line in lines]


def contracts_json(outcomes: Outcomes) -> list[dict[str, Json]]:
    """One record a contract and file, with its breaches and their witnesses."""
    return [
        {
            "file": file,
            "contract": str(outcome.contract),
            "line": outcome.contract.line,
            "kept": outcome.kept,
            "breaches": [
                {
                    "subject": breach.subject or None,
                    "loss": breach.loss,
                    "why": breach.sentence,
                    "witness": list(breach.witness),
                }
                for breach in outcome.breaches
            ],
        }
        for file, checked in outcomes.items()
        for outcome in checked
    ]


def junit(outcomes: Outcomes, problems: Iterable[Problem]) -> str:
    """JUnit XML: a suite a diagram, a case a contract, and one for the diagram's own errors."""
    root = ElementTree.Element("testsuites", name="gradwire")
    errors = [problem for problem in problems if problem.is_error]
    for file, checked in outcomes.items():
        own = [problem for problem in errors if problem.file == file]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=xml_text(file),
            tests=str(len(checked) + 1),
            failures=str(sum(not outcome.kept for outcome in checked)),
            errors=str(int(bool(own))),
        )
        case = ElementTree.SubElement(suite, "testcase", classname=xml_text(file), name="check")
        if own:
            text = "\n".join(problem.text() for problem in own)
            _add(case, "error", own[0].diagnostic.what, text)
        for outcome in checked:
            about = {"classname": xml_text(file), "name": xml_text(str(outcome.contract))}
            case = ElementTree.SubElement(suite, "testcase", about)
            if outcome.breaches:
                text = "\n".join(map(_line, outcome.breaches))
                _add(case, "failure", outcome.breaches[0].sentence, text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _line(breach: Breach) -> str:
    place = f"{breach.subject}, for {breach.loss}: " if breach.subject else ""
    route = f" [{' ← '.join(breach.witness)}]" if breach.witness else ""
    return f"{place}{breach.sentence}{'' if '←' in breach.sentence else route}"


def _add(case: Element, tag: str, message: str, text: str) -> None:

    ElementTree.SubElement(case, tag, message=xml_text(message)).text = xml_text(text)
