"""``gradwire export FILE --to SYSTEM``: the diagram as source that needs no Gradwire."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import safetensors.numpy
import typer

from runtime.cli.arguments import DiagramFile
from runtime.cli.output import UsageError, print_problems, problems_code
from runtime.cli.sessions import has_errors, open_session
from runtime.diagram.files.storage import replace_file, system_errors
from runtime.interchange.export import TARGETS, export_source
from runtime.publish.printable import visible

ENDING = ".py"
ARRAYS = ".safetensors"


def _stem(file: Path) -> str:
    """The name of a diagram's file without its endings."""
    while file.suffix:
        file = file.with_suffix("")
    return file.name


def export(
    file: DiagramFile,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="SYSTEM",
            help=f"What the source is for: {', '.join(TARGETS)}.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to write; its ending is .py. Without it the source is printed.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a diagram as Python source that needs no Gradwire.

    Its losses and gradients, and the step of its optimisers if it has a recipe. Large arrays go
    into a safetensors file beside it, of the same name.
    """
    if to not in TARGETS:
        raise UsageError(f"--to {to}: unknown.", expected="one of " + ", ".join(TARGETS))
    if output is not None and output.suffix.lower() != ENDING:
        raise UsageError(f"{output}: source has another ending.", expected=ENDING)
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    arrays_file = (output or file).with_suffix(ARRAYS)
    exported = export_source(session, to, arrays_file.name)
    if output is None:
        if exported.arrays:
            raise UsageError(
                "The diagram has large arrays, which belong into a file beside the source.",
                next_step=f"Say where: -o {visible(_stem(file))}{ENDING}",
            )
        typer.echo(exported.source, nl=False)
        return
    if exported.arrays:
        plain = {key: np.ascontiguousarray(array) for key, array in exported.arrays.items()}
        with system_errors(arrays_file, "write"):
            replace_file(arrays_file, safetensors.numpy.save(plain))
        typer.echo(visible(str(arrays_file)))
    with system_errors(output, "write"):
        replace_file(output, exported.source.encode())
    typer.echo(visible(str(output)))
