"""``gradwire check FILE…``: everything that is wrong with diagrams and their lessons."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from json import dumps
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from gradwire.blocks.errors import FileError
from gradwire.runtime.cli.arguments import Json, path_argument, path_option
from gradwire.runtime.cli.contracts import (
    contracts_for,
    contracts_in_paths,
    outcomes_of,
    require_contracts,
)
from gradwire.runtime.cli.output import (
    CLEAN,
    PROBLEMS,
    USAGE,
    UsageError,
    print_json,
    problems_code,
)
from gradwire.runtime.cli.places import lesson_problems, note_problems, training_problems
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram.files.storage import replace_file
from gradwire.runtime.flow import (
    Check,
    Finding,
    Outcome,
    check_gradients,
    contracts_of,
)
from gradwire.runtime.flow.tools.contracts import SUFFIX
from gradwire.runtime.flow.tools.findings import CONTRACT
from gradwire.runtime.programs.projects import FILE, TABLE, project_at
from gradwire.runtime.programs.reviews import (
    ReviewResult,
    baseline,
    read_baseline,
    results_of,
    review,
    sarif,
)
from gradwire.runtime.programs.subjects import captured_subject
from gradwire.runtime.progress_bars import bar
from gradwire.runtime.publish.contracts import (
    contract_lines,
    contracts_json,
    finding_json,
    gradient_lines,
    gradients_json,
    junit,
)
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.report import check_json
from gradwire.runtime.version import __version__


def check(
    files: Annotated[
        list[Path] | None,
        path_argument(
            "FILE",
            "Diagrams, models that a program makes (model.py:make), and *.contracts files to "
            "check all of them against. Without any, all that [tool.gradwire.contracts] of "
            "pyproject.toml is about.",
        ),
    ] = None,
    contracts: Annotated[
        bool,
        typer.Option(
            "--contracts",
            help="Check each diagram against the contracts that it states, those in "
            "NAME.contracts beside it and in pyproject.toml, or in the *.contracts files given.",
        ),
    ] = False,
    gradients: Annotated[
        bool,
        typer.Option(
            "--gradients",
            help="Run each diagram, and compare derivatives of blocks with central differences.",
        ),
    ] = False,
    findings: Annotated[
        bool,
        typer.Option(
            "--findings", help="Run each diagram, and let all that `doctor` finds count as wrong."
        ),
    ] = False,
    baseline_file: Annotated[
        Path | None,
        path_option(
            "--baseline",
            metavar="FILE",
            help="What is wrong and listed there is known: it counts no more.",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option("--update-baseline", help="List all that is wrong now in the baseline."),
    ] = False,
    sarif_file: Annotated[
        Path | None,
        path_option(
            "--sarif",
            metavar="FILE",
            help="Write SARIF, which shows at the lines of a pull request.",
        ),
    ] = None,
    junit_file: Annotated[
        Path | None,
        path_option("--junit", metavar="FILE", help="Write JUnit XML."),
    ] = None,
    json: Json = False,
) -> None:
    """List all problems of diagrams, with places.

    Lines of the diagram that are no contracts are problems, whether contracts are checked or not.
    A diagram with a lesson is played: every path, text, question and goal has to make sense. So do
    the patterns of a recipe for training, and expressions in notes.
    Otherwise nothing is run, unless a contract, --gradients or --findings asks about numbers.
    Warnings and remarks are listed too, but only errors, broken contracts, wrong derivatives and,
    if asked for, findings make the exit code 1.
    """
    if update and baseline_file is None:
        raise UsageError("--update-baseline needs --baseline FILE, which it writes.")
    given = [file for file in files or () if file.suffix == SUFFIX]
    diagrams = [file for file in files or () if file.suffix != SUFFIX]
    if not files:
        diagrams, contracts = _of_project(), True
    if not diagrams:
        raise UsageError("There is no diagram to check.", expected="FILE.gradwire.json")
    known = None if update or baseline_file is None else read_baseline(baseline_file)
    wanted = _Wanted(given, contracts or bool(given), gradients, findings)
    with bar("Checking diagrams", len(diagrams)) as shown:
        every = [_checked(file, wanted) for file in shown.over(diagrams)]
    whole = review(chain.from_iterable(each.results() for each in every))
    new = whole if known is None else whole.beyond(known)
    codes = [each.code for each in every if each.code]
    code = USAGE if USAGE in codes else next(iter(codes), CLEAN)
    if code == PROBLEMS and (update or not new.results):
        code = CLEAN
    if json:
        print_json(_report(every, wanted))
    else:
        typer.echo("\n".join(chain.from_iterable(each.lines(wanted) for each in every)))
        if known is not None:
            typer.echo(f"Beyond the baseline: {len(new.results)} of {len(whole.results)}")
    if update and baseline_file is not None:
        _write(baseline_file, baseline(whole))
    if sarif_file is not None:
        _write(sarif_file, dumps(sarif(new, __version__), indent=1))
    if junit_file is not None:
        outcomes = {str(each.file): each.outcomes for each in every}
        text = junit(outcomes, [problem for each in every for problem in each.problems])
        _write(junit_file, f'<?xml version="1.0" encoding="utf-8"?>\n{text}')
    raise typer.Exit(code)


class _Wanted(NamedTuple):
    """What is checked besides the diagrams themselves."""

    given: Sequence[Path]
    contracts: bool
    gradients: bool
    findings: bool


class _Checked(NamedTuple):
    """What came of one diagram or model."""

    file: Path
    code: int
    stated: int
    """Contracts that it has itself."""
    problems: Sequence[Problem]
    outcomes: Sequence[Outcome]
    checks: Sequence[Check]
    findings: Sequence[Finding]

    @property
    def is_wrong(self) -> bool:
        """Whether something is wrong that keeps it not from running."""
        broken = not all(outcome.kept for outcome in self.outcomes)
        return broken or any(check.is_wrong for check in self.checks) or bool(self.findings)

    def lines(self, wanted: _Wanted) -> Iterator[str]:
        verdict = "not clean" if self.is_wrong else "clean"
        if self.stated and not wanted.contracts:
            verdict += f"; {_contracts(self.stated)} not checked (--contracts)"
        yield from [p.text() for p in self.problems] or [visible(f"{self.file}: {verdict}")]
        yield from contract_lines(self.outcomes)
        yield from gradient_lines(self.checks)
        for finding in self.findings:
            yield visible(f"{finding.complaint.words}: {finding.key}: {finding.sentence}")

    def results(self) -> Iterator[ReviewResult]:
        captured = None if self.code == USAGE else captured_subject(self.file)
        return results_of(
            str(self.file),
            problems=self.problems,
            outcomes=self.outcomes,
            checks=self.checks,
            findings=self.findings,
            files=None if captured is None else captured.files,
        )


def _checked(file: Path, wanted: _Wanted) -> _Checked:
    outcomes: Sequence[Outcome] = ()
    compared: Sequence[Check] = ()
    findings: Sequence[Finding] = ()
    problems: tuple[Problem, ...] = ()
    stated, code = 0, CLEAN
    try:
        session, problems = open_session(file)
        stated = len(contracts_of(session.diagram))
        if not has_errors(problems):
            problems = (*problems, *lesson_problems(session.diagram, file))
        if not has_errors(problems):
            problems = (*problems, *note_problems(session.diagram, file))
            problems = (*problems, *training_problems(session, file))
        if wanted.contracts:
            if not wanted.given:
                require_contracts(session, file)
            outcomes = outcomes_of(session, contracts_for(session, file, wanted.given), file)
        if wanted.gradients and not has_errors(problems):
            compared = check_gradients(session)
        if wanted.findings and not has_errors(problems) and session.losses:
            from gradwire.runtime.flow import diagnose  # which imports all rules

            applied = contracts_in_paths(contracts_for(session, file, wanted.given), file)
            found = diagnose(session, contracts=applied)
            # Broken contracts are told by their outcomes.
            findings = [f for f in found if not (wanted.contracts and f.complaint is CONTRACT)]
    except FileError as error:
        problems = (*problems, Problem.of_error(error, str(file)))
        code = USAGE
    made = _Checked(file, code, stated, problems, outcomes, compared, findings)
    code = code or problems_code(problems) or (PROBLEMS if made.is_wrong else CLEAN)
    return made._replace(code=code)


def _report(every: Sequence[_Checked], wanted: _Wanted) -> dict[str, object]:
    report = check_json(
        [str(each.file) for each in every], [p for each in every for p in each.problems]
    )
    if wanted.contracts:
        report["contracts"] = contracts_json({str(each.file): each.outcomes for each in every})
    if wanted.gradients:
        report["gradients"] = gradients_json({str(each.file): each.checks for each in every})
    if wanted.findings:
        report["findings"] = [
            {"file": str(each.file), **finding_json(finding)}
            for each in every
            for finding in each.findings
        ]
    return report


def _of_project() -> list[Path]:
    """All that the project in the working folder states contracts about; raises UsageError."""
    project = project_at(Path.cwd())
    if project is None:
        raise UsageError(
            "There is no diagram to check.",
            expected=f"FILE.gradwire.json, or [{TABLE}] in {FILE}",
        )
    folder = project.file.parent
    return [Path(os.path.relpath(folder / name)) for name in project.contracts]


def _contracts(count: int) -> str:
    return "1 contract was" if count == 1 else f"{count} contracts were"


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise FileError(
            f"The report can't be written: {error.strerror}.",
            path=str(path),
            next_step=None
            if path.parent.is_dir()
            else f"There is no folder {path.parent}: make it first.",
        ) from None
