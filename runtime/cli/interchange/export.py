"""``gradwire export FILE --to SYSTEM``: the diagram as source or model for another system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import DiagramFile, output_option
from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.interchange.export.source import (
    ENDINGS,
    TARGETS,
    export_source,
    exported_files,
)
from gradwire.runtime.publish.printable import visible


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
            help=f"What it is for: {', '.join(ENDINGS)}.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        output_option(
            "The file to write; its ending is .py, or .onnx. Without it source is printed."
        ),
    ] = None,
) -> None:
    """Write a diagram as Python source that needs no Gradwire, or as an ONNX model.

    Source has its losses and gradients, and the step of its optimisers if it has a recipe; large
    arrays go into a safetensors file beside it. A model has its values only.
    """
    if to not in ENDINGS:
        raise UsageError(f"--to {to}: unknown.", expected="one of " + ", ".join(ENDINGS))
    ending = ENDINGS[to]
    if output is None and to not in TARGETS:
        raise UsageError(
            "A model is no text that could be printed.",
            next_step=f"Say where: -o {visible(_stem(file))}{ending}",
        )
    if output is not None and output.suffix.lower() != ending:
        raise UsageError(f"{output}: it has another ending.", expected=ending)
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    if output is None:
        exported = export_source(session, to)
        if exported.arrays:
            raise UsageError(
                "The diagram has large arrays, which belong into a file beside the source.",
                next_step=f"Say where: -o {visible(_stem(file))}{ending}",
            )
        typer.echo(exported.source, nl=False)
        return
    for path, content in exported_files(session, to, output).items():
        with system_errors(path, "write"):
            replace_file(path, content)
        typer.echo(visible(str(path)))
