"""``gradwire check FILE…``: everything that is wrong with diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from blocks.errors import FileError
from runtime.cli.arguments import Json
from runtime.cli.opening import has_errors, open_session
from runtime.cli.outcome import CLEAN, PROBLEMS, USAGE, emit
from runtime.publish.problems import Problem
from runtime.publish.report import check_json


def check(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Diagrams.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """List all problems of diagrams, with places.

    Nothing is run. Warnings and remarks are listed too, but only errors make the exit code 1.
    """
    problems: list[Problem] = []
    code = CLEAN
    for file in files:
        try:
            _, found = open_session(file)
        except FileError as error:
            found = (Problem.of_error(error, str(file)),)
            code = USAGE
        if code == CLEAN and has_errors(found):
            code = PROBLEMS
        problems += found
        if not json:
            typer.echo("\n".join(p.text() for p in found) if found else f"{file}: clean")
    if json:
        emit(check_json(map(str, files), problems))
    raise typer.Exit(code)
