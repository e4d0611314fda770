"""``gradwire flow FILE``: which wires carry gradient, and why the others don't."""

from __future__ import annotations

from typing import Annotated

import typer

from runtime.cli.arguments import DiagramFile, Json, Losses
from runtime.cli.opening import choose_losses, choose_wires, has_errors, open_session
from runtime.cli.outcome import PROBLEMS, emit, tell
from runtime.flow import analyse, observe
from runtime.publish.ledger import ledger_json, ledger_parts
from runtime.publish.report import flow_report
from runtime.publish.text import show


def flow(
    file: DiagramFile,
    loss: Losses = None,
    wire: Annotated[
        list[str] | None,
        typer.Option(
            "--wire",
            metavar="PORT",
            help="Only the wire into this input (stop.x), or those out of this output (b.out). "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    ledger: Annotated[
        bool,
        typer.Option(
            "--ledger",
            help="Run the diagram, and list what adds up to each gradient; with several losses "
            "also losses against variables.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Say which wires carry gradient, and why not.

    Structure alone decides: nothing is run, unless --ledger asks for numbers.
    """
    session, problems = open_session(file)
    tell(problem for problem in problems if problem.diagnostic.severity != "info")
    losses = choose_losses(session, loss)
    report = flow_report(
        session,
        analyse(session.program, losses),
        losses,
        choose_wires(session, wire) if wire else None,
        str(file),
        problems,
    )
    reading = observe(session, losses) if ledger and losses else None
    if json:
        emit(report.to_json() | ({} if reading is None else ledger_json(reading)))
    else:
        show([*report.parts(), *([] if reading is None else ledger_parts(reading))])
    if has_errors(problems):
        raise typer.Exit(PROBLEMS)
