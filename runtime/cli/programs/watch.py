"""``gradwire watch train.py``: runs a program, and says what is wrong in its trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import Json, path_argument, path_option
from gradwire.runtime.cli.output import CLEAN, PROBLEMS, print_json, say
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.programs.scripts import watched_script
from gradwire.runtime.publish.printable import visible


def watch(
    script: Annotated[
        Path,
        path_argument("SCRIPT", "A program that trains with PyTorch, as for `python SCRIPT`."),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGUMENT", help="Its own arguments.", show_default=False),
    ] = None,
    guard: Annotated[
        bool,
        typer.Option("--guard", help="Stop before an update by a gradient that is not finite."),
    ] = False,
    html: Annotated[
        Path | None,
        path_option("--html", metavar="OUT", help="Write a report of each model to this page."),
    ] = None,
    source: Annotated[
        bool, typer.Option("--source", help="Quote the program's lines in reports.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a Python program, and say what is wrong with the gradients of what it trains.

    Its code stays as it is: every model that it trains with PyTorch is watched, and findings go to
    standard error when they come up. With --json standard output has the reports alone, and what
    the program prints goes to standard error. The exit code is the program's own, or 1 where that
    is 0 and something was found.
    """
    code, reports = watched_script(
        script, arguments or [], guard=guard, source=source, is_quiet=json
    )
    if html is not None:
        with system_errors(html, "write"):
            for place, report in enumerate(reports):
                name = f"{html.stem}{place + 1 if place else ''}{html.suffix}"
                report.html(html.with_name(name))
    if json:
        print_json({"exit_code": code, "models": [report.as_json() for report in reports]})
    elif reports:
        say(*(visible(str(report).splitlines()[0]) for report in reports))
    else:
        say("Nothing was trained by this program with PyTorch.")
    found = any(report.found for report in reports)
    raise typer.Exit(PROBLEMS if found and code == CLEAN else code)
