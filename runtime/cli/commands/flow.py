"""``gradwire flow FILE``: which wires carry gradient, and why the others don't."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import (
    DiagramFile,
    Json,
    Losses,
    ThresholdOptions,
    parse_thresholds,
)
from gradwire.runtime.cli.output import print_json_by_line, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_losses, choose_wires, has_errors, open_session
from gradwire.runtime.flow import ObservedFlow, contracts_of, observe, with_fix
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.badges import badges
from gradwire.runtime.publish.flow_report import (
    dialect_table,
    dialects_json,
    flow_report,
    ledger_json,
    ledger_parts,
)
from gradwire.runtime.publish.text import show


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
    run: Annotated[
        bool,
        typer.Option(
            "--run",
            help="Run the diagram: how much each wire carries, what cancels, and what would let "
            "gradient through, with the number it would give.",
        ),
    ] = False,
    other_systems: Annotated[
        bool,
        typer.Option(
            "--dialects",
            help="Run the diagram, and show what PyTorch, JAX, TensorFlow and MXNet would report "
            "for each variable, and what weight decay would do to it.",
        ),
    ] = False,
    thresholds: ThresholdOptions = None,
    json: Json = False,
) -> None:
    """Show which wires carry gradient, and why the others don't.

    Structure alone decides: nothing is run, unless --run, --ledger or --dialects asks for numbers.
    JSON of all wires has a line for each, with the first three of every list and their number;
    with --wire the lists are whole.
    """
    session, problems = open_session(file)
    print_problems(problems)
    losses = choose_losses(session, loss)
    structural = analyse(session.program, losses)
    observed = ObservedFlow(structural, {})
    if (run or ledger or other_systems) and losses and not has_errors(problems):
        observed = observe(session, losses, thresholds=parse_thresholds(thresholds))
    report = flow_report(
        session,
        observed if run else structural,
        losses,
        choose_wires(session, wire) if wire else None,
        str(file),
        problems,
        () if wire else badges(observed, contracts_of(session.diagram, file)),
        partial(with_fix, session, flow=structural) if run and observed.runs else None,
    )
    ledger, other_systems = ledger and bool(observed.runs), other_systems and bool(observed.runs)
    if json:
        more = ledger_json(observed) if ledger else {}
        more |= {"dialects": dialects_json(observed)} if other_systems else {}
        print_json_by_line(report.to_json() | more)
    else:
        parts = [*report.parts(), *(ledger_parts(observed) if ledger else [])]
        show([*parts, *([dialect_table(observed)] if other_systems else [])])
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
