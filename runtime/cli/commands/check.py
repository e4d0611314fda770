"""``gradwire check FILE…``: everything that is wrong with diagrams and their lessons."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradwire.blocks.errors import FileError
from gradwire.runtime.cli.arguments import Json
from gradwire.runtime.cli.contracts import contracts_for, outcomes_of, require_contracts
from gradwire.runtime.cli.lessons import lesson_problems, note_problems
from gradwire.runtime.cli.output import (
    CLEAN,
    PROBLEMS,
    USAGE,
    UsageError,
    print_json,
    problems_code,
)
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.cli.training import training_problems
from gradwire.runtime.diagram.files.storage import replace_file
from gradwire.runtime.flow import Check, Outcome, check_gradients, contracts_of
from gradwire.runtime.flow.tools.contracts import SUFFIX
from gradwire.runtime.publish.contracts import contract_lines, contracts_json, junit
from gradwire.runtime.publish.gradient_check import gradient_lines, gradients_json
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.report import check_json


def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            parser=Path,
            metavar="FILE",
            help="Diagrams, and *.contracts files to check all of them against.",
            show_default=False,
        ),
    ],
    contracts: Annotated[
        bool,
        typer.Option(
            "--contracts",
            help="Check each diagram against the contracts that it states, and those in "
            "NAME.contracts beside it or in the *.contracts files given.",
        ),
    ] = False,
    gradients: Annotated[
        bool,
        typer.Option(
            "--gradients",
            help="Run each diagram, and compare derivatives of blocks with central differences.",
        ),
    ] = False,
    junit_file: Annotated[
        Path | None,
        typer.Option(
            "--junit", parser=Path, metavar="FILE", help="Write JUnit XML.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List all problems of diagrams, with places.

    Lines of the diagram that are no contracts are problems, whether contracts are checked or not.
    A diagram with a lesson is played: every path, text, question and goal has to make sense. So do
    the patterns of a recipe for training, and expressions in notes.
    Otherwise nothing is run, unless a contract or --gradients asks about numbers. Warnings and
    remarks are listed too, but only errors, broken contracts and wrong derivatives make the exit
    code 1.
    """
    given = [file for file in files if file.suffix == SUFFIX]
    diagrams = [file for file in files if file.suffix != SUFFIX]
    if not diagrams:
        raise UsageError("There is no diagram to check.", expected="FILE.gradwire.json")
    problems: list[Problem] = []
    outcomes: dict[str, list[Outcome]] = {}
    checks: dict[str, list[Check]] = {}
    code = CLEAN
    for file in diagrams:
        checked: list[Outcome] = []
        compared: list[Check] = []
        found: tuple[Problem, ...] = ()
        stated = 0
        try:
            session, found = open_session(file)
            stated = len(contracts_of(session.diagram))
            if not has_errors(found):
                found = (*found, *lesson_problems(session.diagram, file))
            if not has_errors(found):
                found = (*found, *note_problems(session.diagram, file))
                found = (*found, *training_problems(session, file))
            if given or contracts:
                if not given:
                    require_contracts(session, file)
                checked = outcomes_of(session, contracts_for(session, file, given))
            if gradients and not has_errors(found):
                compared = check_gradients(session)
        except FileError as error:
            found = (*found, Problem.of_error(error, str(file)))
            code = USAGE
        wrong = not all(outcome.kept for outcome in checked) or any(c.is_wrong for c in compared)
        code = code or problems_code(found) or (PROBLEMS if wrong else CLEAN)
        problems += found
        outcomes[str(file)], checks[str(file)] = checked, compared
        if not json:
            verdict = "not clean" if wrong else "clean"
            if stated and not (given or contracts):
                verdict += f"; {_contracts(stated)} not checked (--contracts)"
            lines = [problem.text() for problem in found] or [visible(f"{file}: {verdict}")]
            typer.echo("\n".join([*lines, *contract_lines(checked), *gradient_lines(compared)]))
    if json:
        report = check_json(map(str, diagrams), problems)
        report |= {"contracts": contracts_json(outcomes)} if given or contracts else {}
        print_json(report | {"gradients": gradients_json(checks)} if gradients else report)
    if junit_file is not None:
        _write(junit_file, junit(outcomes, problems))
    raise typer.Exit(code)


def _contracts(count: int) -> str:
    return "1 contract was" if count == 1 else f"{count} contracts were"


def _write(path: Path, text: str) -> None:
    try:
        replace_file(path, f'<?xml version="1.0" encoding="utf-8"?>\n{text}'.encode())
    except OSError as error:
        raise FileError(
            f"The report can't be written: {error.strerror}.",
            path=str(path),
            next_step=None
            if path.parent.is_dir()
            else f"There is no folder {path.parent}: make it first.",
        ) from None
