"""``gradwire timeline FILE``: one training step, block by block, in words and numbers."""

from __future__ import annotations

from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import DiagramFile, Json, Losses, Values
from gradwire.runtime.cli.output import print_json_by_line, print_problems, problems_code
from gradwire.runtime.cli.sessions import choose_blocks, choose_losses, has_errors, open_session
from gradwire.runtime.lessons.report import rows, steps_json
from gradwire.runtime.lessons.steps import Phase
from gradwire.runtime.lessons.timeline import Detail, record
from gradwire.runtime.publish.text import TextTable, show


def timeline(
    file: DiagramFile,
    block: Annotated[
        list[str] | None,
        typer.Option(
            "--block",
            metavar="BLOCK",
            help="Only the steps of this block, or of the blocks inside this page. "
            "May be repeated.",
            show_default=False,
        ),
    ] = None,
    phase: Annotated[
        list[Phase] | None,
        typer.Option("--phase", help="Only this phase. May be repeated.", show_default=False),
    ] = None,
    by: Annotated[
        Detail,
        typer.Option("--by", help="Steps by block, or by the primitives inside blocks."),
    ] = Detail.BLOCK,
    values: Values = None,
    loss: Losses = None,
    json: Json = False,
) -> None:
    """Show one training step, block by block: forward, seed, backward and update.

    Each line says what a block computes, what arrives at it, and what it passes on or throws
    away; with --by primitive each primitive inside a block does, with its formula. The update is
    that of SGD with a rate of 0.1; the file stays as it is.
    """
    session, problems = open_session(file, values)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    paths = choose_blocks(session, block) if block else None
    recorded = record(session, choose_losses(session, loss), detail=by)
    events = [
        event
        for event in (recorded.events if paths is None else recorded.events_of(paths))
        if phase is None or event.phase in phase
    ]
    if json:
        report = {"report": "timeline", "version": 2, "file": str(file)}
        about = {"losses": list(recorded.steps.run.losses), "by": by.value, "length": len(recorded)}
        print_json_by_line({
            **report,
            **about,
            "steps": steps_json(recorded, events),
            "problems": [problem.to_json() for problem in problems],
        })  # fmt: skip
    else:
        show([TextTable(str(file), ("step", "phase", "what happens"), rows(recorded, events))])
