"""Contracts kept and broken: lines for a reader, JSON, and JUnit XML for a CI server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from gradwire.runtime.publish.printable import visible, xml_text

if TYPE_CHECKING:
    from gradwire.runtime.flow import Breach, Outcome
    from gradwire.runtime.publish.problems import Problem

Outcomes = Mapping[str, Sequence["Outcome"]]
"""By the diagram's file."""


def contract_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """``kept  flows(loss -> W)`` or ``BROKEN``, and below a broken one what breaks it."""
    lines = []
    for outcome in outcomes:
        lines.append(f"{'kept  ' if outcome.kept else 'BROKEN'}  {outcome.contract}")
        lines += [f"        {_line(breach)}" for breach in outcome.breaches]
    return [visible(line) for line in lines]


def contracts_json(outcomes: Outcomes) -> list[dict[str, Any]]:
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


def _add(case: ElementTree.Element, tag: str, message: str, text: str) -> None:
    ElementTree.SubElement(case, tag, message=xml_text(message)).text = xml_text(text)
