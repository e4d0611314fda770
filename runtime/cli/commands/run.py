"""``gradwire run FILE``: values, gradients and wires of a diagram."""

from __future__ import annotations

import typer

from blocks.errors import FeedError
from runtime.cli.arguments import (
    DiagramFile,
    Json,
    Losses,
    ThresholdOptions,
    Values,
    parse_thresholds,
)
from runtime.cli.output import PROBLEMS, print_json_by_line, print_problems, problems_code
from runtime.cli.sessions import choose_losses, has_errors, open_session
from runtime.flow import flow_of_run
from runtime.publish.report import RunReport, run_report
from runtime.publish.text import show


def run(
    file: DiagramFile,
    values: Values = None,
    loss: Losses = None,
    thresholds: ThresholdOptions = None,
    json: Json = False,
) -> None:
    """Run a diagram: values, gradients, wires.

    Every port's value, every variable's gradient, and what every wire brings back. A loss that is
    NaN or infinite makes the exit code 1, and the block that made it so is named.
    """
    session, problems = open_session(file, values)
    print_problems(problems)
    if has_errors(problems):
        if json:
            print_json_by_line(
                RunReport(str(file), session.diagram.title, problems=problems).to_json()
            )
        raise typer.Exit(problems_code(problems))
    losses = choose_losses(session, loss)
    try:
        done = (
            session.backward(losses, adjoints="stops", contributions=True)
            if losses
            else session.run()
        )
    except FeedError as error:
        name = error.location.block if error.location else "NAME"
        error.next_step = f"Give it one with --set {name}=VALUE, or in the file."
        raise
    flow = (
        flow_of_run(session.program, done, losses, parse_thresholds(thresholds)) if losses else None
    )
    report = run_report(session, done, flow, str(file), problems)
    if json:
        print_json_by_line(report.to_json())
    else:
        show(report.parts())
    if any(origin.spoilt for origin in report.origins):
        raise typer.Exit(PROBLEMS)
