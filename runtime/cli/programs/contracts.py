"""``gradwire contracts infer FILE``: the contracts that hold today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import DiagramFile, output_option
from gradwire.runtime.cli.contracts import parameters_of
from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.programs.inferring import inferred
from gradwire.runtime.programs.projects import TABLE
from gradwire.runtime.programs.references import parse_reference

_INFER = "infer"


def contracts(
    action: Annotated[str, typer.Argument(metavar=_INFER, help="What to do.", show_default=False)],
    file: DiagramFile,
    output: Annotated[
        Path | None,
        output_option("Write them to this new file instead."),
    ] = None,
) -> None:
    """Write the contracts that hold today: what gets gradient from what, and what is kept from it.

    Of a diagram these are the lines of a *.contracts file, of a program's model those of
    [tool.gradwire.contracts] in pyproject.toml. What they say is by structure alone, so that other
    numbers don't break them.
    """
    if action != _INFER:
        raise UsageError(
            f"There is nothing called {action!r} to do with contracts.",
            expected=f"gradwire contracts {_INFER} FILE",
        )
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    found = inferred(analyse(session.program), session.diagram.training, parameters_of(file))
    if not found:
        raise UsageError(f"{file} has no loss, so there is nothing to state.")
    lines = [str(contract) for contract in found]
    if reference := parse_reference(str(file)):
        name = f"{reference.file.as_posix()}:{reference.name}"
        lines = [
            f"[{TABLE}]",
            f"{json.dumps(name)} = [",
            *(f"    {json.dumps(line)}," for line in lines),
            "]",
        ]
    text = "\n".join(lines) + "\n"
    if output is None:
        typer.echo(text, nl=False)
        return
    if output.exists():
        raise UsageError(f"{output} is there already.", next_step="Say another name with -o.")
    with system_errors(output, "write"):
        replace_file(output, text.encode())
