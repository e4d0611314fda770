"""``gradwire run FILE``: values, gradients and wires of a diagram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gradwire.blocks.errors import FeedError
from gradwire.runtime.cli.arguments import (
    Device,
    DiagramFile,
    EngineName,
    Json,
    Losses,
    Threads,
    ThresholdOptions,
    Values,
    parse_thresholds,
)
from gradwire.runtime.cli.engines import opened_engine
from gradwire.runtime.cli.output import PROBLEMS, print_json_by_line, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_losses, has_errors, open_session
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.flow import flow_of_run
from gradwire.runtime.publish.report import RunReport, run_report
from gradwire.runtime.publish.text import show

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.publish.problems import Problem


def run(
    file: DiagramFile,
    values: Values = None,
    loss: Losses = None,
    thresholds: ThresholdOptions = None,
    engine: EngineName = "numpy",
    device: Device = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Run a diagram: values, gradients, wires.

    Every port's value, every variable's gradient, and what every wire brings back. A loss that is
    NaN or infinite makes the exit code 1, and the block that made it so is named.
    """
    with opened_engine(EngineChoice(engine, device, threads)) as opened:
        session, problems = open_session(file, values, partial(Session, engine=opened))
        print_problems(problems)
        if has_errors(problems):
            if json:
                print_json_by_line(
                    RunReport(str(file), session.diagram.title, problems=problems).to_json()
                )
            raise typer.Exit(problems_code(problems))
        report = _report(session, choose_losses(session, loss), thresholds, file, problems)
        if json:
            print_json_by_line(report.to_json())
        else:
            show(report.parts())
    if any(origin.spoilt for origin in report.origins):
        raise typer.Exit(PROBLEMS)


def _report(
    session: Session,
    losses: Sequence[PortPath],
    thresholds: list[str] | None,
    file: Path,
    problems: Iterable[Problem],
) -> RunReport:
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
    return run_report(session, done, flow, str(file), problems)
