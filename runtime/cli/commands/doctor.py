"""``gradwire doctor FILE``: what is wrong with a whole diagram's gradients, the worst first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import (
    DiagramFile,
    Json,
    Losses,
    ThresholdOptions,
    Values,
    parse_thresholds,
    path_option,
)
from gradwire.runtime.cli.contracts import contracts_for, contracts_in_paths
from gradwire.runtime.cli.output import PROBLEMS, print_json, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_losses, has_errors, open_session
from gradwire.runtime.flow import diagnose, reassurance
from gradwire.runtime.publish.contracts import DoctorReport
from gradwire.runtime.publish.text import show


def doctor(
    file: DiagramFile,
    contracts: Annotated[
        list[Path] | None,
        path_option(
            "--contracts",
            metavar="FILE",
            help="Contracts besides those that the diagram states; without it those in "
            "NAME.contracts, if there are any. May be repeated.",
        ),
    ] = None,
    values: Values = None,
    loss: Losses = None,
    thresholds: ThresholdOptions = None,
    json: Json = False,
) -> None:
    """Rank what is wrong with a diagram's gradients.

    Values and gradients that are not finite and where that begins, broken contracts, variables
    without gradient, zero, too large or too small ones, losses that train nothing, targets and
    advantages that are trained, variables that no optimiser updates, and stops that cut nothing;
    each with what would help. What is not finite and broken contracts make the exit code 1: the
    rest may be meant so.
    """
    session, problems = open_session(file, values)
    print_problems(problems)
    if has_errors(problems):
        if json:
            print_json(DoctorReport(str(file), (), (), problems).to_json())
        raise typer.Exit(problems_code(problems))
    losses = choose_losses(session, loss)
    applied = contracts_in_paths(contracts_for(session, file, contracts or ()), file)
    found = (
        tuple(diagnose(session, losses, contracts=applied, thresholds=parse_thresholds(thresholds)))
        if losses
        else ()
    )
    well = reassurance(session.program, losses) if losses and not found else ""
    report = DoctorReport(str(file), tuple(losses), found, problems, well)
    if json:
        print_json(report.to_json())
    else:
        show(report.parts())
    if any(finding.complaint.is_error for finding in found):
        raise typer.Exit(PROBLEMS)
