"""Short answers about diagrams and programs' models, as data: what assistants are told.

Each names a parameter by the model's own name and a line by its file relative to the working
folder, and says how far it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram import load
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow import WhatIf, diagnose, fix, parse_contracts, reassurance
from gradwire.runtime.flow.tools.contracts import contracts_of
from gradwire.runtime.interchange.importing.imported import Imported
from gradwire.runtime.programs.assertions import Gradients
from gradwire.runtime.programs.naming import check_named, in_paths
from gradwire.runtime.programs.projects import project_at
from gradwire.runtime.programs.references import Captured, capture_reference, parse_reference
from gradwire.runtime.programs.reviews import written_place
from gradwire.runtime.publish.diff import diff_report
from gradwire.runtime.publish.text import TextTable

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.flow import Finding
    from gradwire.runtime.flow.tools.contracts import Contract
    from gradwire.runtime.flow.words.states import Verdict

MOST = 20
"""Entries of a list in an answer, at most."""


def _never() -> bool:
    return False


class Subject(Gradients):
    """A diagram's file, or a model that a program makes, to answer questions about."""

    def __init__(
        self,
        name: str,
        cancelled: Callable[[], bool] = _never,
        replaced: Mapping[str, str] | None = None,
    ) -> None:
        """Load or capture it, anew each time; ``replaced`` is that of ``capture_reference``.

        Raises FileError, and Interrupted once cancelled.
        """
        self.name = name
        reference = parse_reference(name)
        self._captured: Captured | None = None
        if reference is not None:
            self._captured = capture_reference(reference, cancelled=cancelled, replaced=replaced)
        super().__init__(
            Imported(load(name)) if self._captured is None else self._captured.imported
        )

    @cached_property
    def _own_names(self) -> dict[str, str]:
        return {path: own for own, path in self.imported.parameters.items()}

    def called(self, path: str) -> str:
        """The model's own name of a variable; the path where it has none."""
        return self._own_names.get(path, path)

    def line(self, written: str) -> str:
        """``src/model.py:42`` for a place as diagrams have it; empty for none."""
        place = written_place(written, self.files)
        return f"{place.file}:{place.line}" if place else written.partition(": ")[0]

    @property
    def files(self) -> Mapping[str, str]:
        """Those of the program, as ``references.Captured`` has them."""
        return {} if self._captured is None else self._captured.files

    @property
    def certainty(self) -> str:
        """How the diagram's gradients compare with the program's own."""
        checked = [remark.text for remark in self.imported.remarks if remark.kind == "checked"]
        return " ".join(checked) or "This is the diagram's own arithmetic."

    def path(self, parameter: str) -> str:
        """The path of a variable, by the model's name or the diagram's; raises RunError."""
        path = self.imported.parameters.get(parameter, parameter)
        variables = self.flow.program.sources("variable")
        if path not in variables:
            known = self.imported.parameters or variables
            raise RunError(
                f"There is no parameter {parameter[:200]!r}.",
                next_step=did_you_mean(parameter, list(known)),
            )
        return path

    def contracts(self) -> Sequence[Contract]:
        """What the diagram and the project state about it; raises FileError."""
        reference = parse_reference(self.name)
        file = Path(self.name)
        own = contracts_of(self.imported.diagram, None if reference else file)
        project = project_at((reference.file if reference else file).parent)
        return [*own, *(project.about(self.name) if project else ())]


def doctor(subject: Subject) -> dict[str, object]:
    """What is wrong with a whole model, the gravest first."""
    if not subject.flow.losses:
        return {"model": subject.name, "answer": "It has no loss, so nothing has a gradient."}
    session = subject.session
    names = subject.imported.parameters
    stated = [c for contract in subject.contracts() for c in in_paths(contract, names)]
    found = diagnose(session, contracts=stated)
    answer: dict[str, object] = {
        "model": subject.name,
        "losses": [loss.block for loss in subject.flow.losses[:MOST]],
        "parameters": len(subject.flow.program.trainable),
        "findings": [_finding(subject, finding) for finding in found[:MOST]],
        "certainty": subject.certainty,
    }
    if len(found) > MOST:
        answer["more"] = len(found) - MOST
    if not found:
        answer["answer"] = reassurance(session.program, session.losses)
    return answer


def why(subject: Subject, parameter: str) -> dict[str, object]:
    """Why one parameter gets gradient or not, and what would let it through, which was tried."""
    path = subject.path(parameter)
    verdict = subject.observed.variable(path)
    repair = fix(subject.session, path, flow=subject.flow)
    answer = {
        "parameter": subject.called(path),
        "state": verdict.state.value,
        "why": verdict.sentence,
        "line": _line_of(subject, verdict),
        "cure": verdict.cure,
        "tried": "" if repair is None else repair.sentence,
        "route": list(verdict.witness)[:MOST],
        "certainty": subject.certainty,
    }
    return {name: value for name, value in answer.items() if value}


def what_if(subject: Subject, stops: Sequence[str]) -> dict[str, object]:
    """What changes without some stops of gradient, by the names that answers have for them."""
    trial = WhatIf(subject.session).open(*stops)
    compared = trial.compare()
    changed = [
        {
            "parameter": subject.called(name),
            "before": _size(difference.before),
            "after": _size(difference.after),
        }
        for name, difference in compared.variables().items()
        if difference.changed
    ]
    answer: dict[str, object] = {
        "without": list(stops),
        "changed": changed[:MOST],
        "unit": "root mean square of the gradient of all losses; null for none",
        "certainty": subject.certainty,
    }
    if len(changed) > MOST:
        answer["more"] = len(changed) - MOST
    return answer


def contracts(subject: Subject, lines: Sequence[str]) -> dict[str, object]:
    """Which contracts hold: the given ones, or else those that are stated about it."""
    stated = parse_contracts("\n".join(lines)) if lines else subject.contracts()
    if not stated:
        return {"model": subject.name, "answer": "No contract is stated about it."}
    outcomes = check_named(
        stated,
        subject.observed,
        subject.flow,
        subject.imported.diagram.training,
        subject.imported.parameters,
    )
    return {
        "model": subject.name,
        "kept": all(outcome.kept for outcome in outcomes),
        "contracts": [
            {
                "contract": str(outcome.contract),
                "kept": outcome.kept,
                "broken_by": [
                    {
                        "parameter": subject.called(breach.subject),
                        "why": breach.sentence,
                        "line": subject.line(breach.written),
                    }
                    for breach in outcome.breaches[:MOST]
                ],
            }
            for outcome in outcomes
        ],
        "certainty": subject.certainty,
    }


def diff(before: Subject, after: Subject) -> dict[str, object]:
    """What differs between two diagrams or models, and what that does to gradients."""
    names = (before.name, after.name)
    report = diff_report(before.imported.diagram, after.imported.diagram, names)
    lines: list[str] = []
    for part in report.parts()[1:]:
        if isinstance(part, TextTable):
            lines.append(part.title)
            lines += ["  ".join(filter(None, row)) for row in part.rows]
        else:
            lines.append(str(part))
    shown = lines[: 4 * MOST]
    return {
        "before": before.name,
        "after": after.name,
        "same": report.changes.is_empty,
        "differences": shown,
        **({"more": len(lines) - len(shown)} if len(lines) > len(shown) else {}),
    }


def _finding(subject: Subject, finding: Finding) -> dict[str, object]:
    affected = [subject.called(name) for name in finding.affected]
    entry = {
        "what": finding.complaint.words,
        "where": subject.called(finding.key),
        "why": finding.sentence,
        "line": subject.line(finding.written),
        "cure": finding.cure,
        "tried": "" if finding.fix is None else finding.fix.sentence,
        "affected": affected[:MOST],
        "is_error": finding.complaint.is_error,
    }
    return {name: value for name, value in entry.items() if value}


def _line_of(subject: Subject, verdict: Verdict) -> str:
    written = next((cutter.written for cutter in verdict.cutters if cutter.written), "")
    return subject.line(written)


def _size(gradient: Array | None) -> float | None:
    return None if gradient is None else float(f"{rms(gradient):.4g}")
