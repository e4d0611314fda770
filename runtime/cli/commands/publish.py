"""``gradwire publish FILE -o OUT``: a page that computes the diagram in any browser, offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradwire.blocks.errors import Location
from gradwire.runtime.cli.arguments import DiagramFile, output_option, path_option
from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.lessons.setting import MAX_SEED
from gradwire.runtime.publish.contents import included
from gradwire.runtime.publish.exercises import read_names
from gradwire.runtime.publish.living.lesson import Exercise
from gradwire.runtime.publish.living.publishing import published
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem

ENDINGS = (".html", ".htm")


def publish(
    file: DiagramFile,
    output: Annotated[
        Path,
        output_option("The file to write; its ending is .html."),
    ],
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            max=MAX_SEED,
            help="Chooses the numbers of a lesson that vary; 0 leaves that to the reader.",
        ),
    ] = 0,
    names: Annotated[
        Path | None,
        path_option(
            "--names",
            metavar="LIST",
            help="Learners, one name a line: each gets a seed, the first 1.",
        ),
    ] = None,
) -> None:
    """Write a page for readers without Gradwire: they change numbers and open stops, and see why.

    One file that needs no network. What a browser can't compute becomes a picture with the reason.
    The file is replaced when all of the page is written, and stays as it was if that fails.
    """
    if output.suffix.lower() not in ENDINGS:
        raise UsageError(f"{output}: pages have another ending.", expected=".html")
    session, problems = open_session(file)
    print_problems(problems)
    page = published(session.diagram, Exercise(seed, read_names(names) if names else ()))
    if page.obstacle and not has_errors(problems):
        what = f"The page is a picture: {page.obstacle}"
        warning = Diagnostic("warning", Location(), what, code="still-picture")
        print_problems([Problem(warning, str(file))])
    with system_errors(output, "write"):
        replace_file(output, page.html.encode())
    typer.echo(visible(str(output)))
    if told := included(session.diagram):
        typer.echo(visible(told), err=True)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
