"""``gradwire FILE``: the editor, or why it can't open."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from gradwire.blocks.nearest import nearest
from gradwire.runtime.cli.arguments import path_argument
from gradwire.runtime.cli.entry import COMMANDS
from gradwire.runtime.cli.output import UsageError


def edit(
    file: Annotated[
        Path | None,
        path_argument("FILE", "The diagram to open."),
    ] = None,
) -> None:
    """Open the editor; `gradwire FILE` does the same."""
    if file is not None and not file.exists():
        near = nearest(str(file), COMMANDS)
        raise UsageError(
            f"There is no file {str(file)!r}, and no command of that name.",
            next_step=f"Did you mean gradwire {near[0]}?"
            if near
            else "`gradwire --help` lists the commands; `gradwire` alone starts a new diagram.",
        )
    raise typer.Exit(open_window(file))


def open_window(file: Path | None) -> int:
    """Run the editor until its window is closed; its exit code. RunError where none can open."""
    # By name: the runtime stands without the floor above it, and Qt comes in here and nowhere else.
    code: int = importlib.import_module("gradwire.app.shell.application").run(file)
    return code
