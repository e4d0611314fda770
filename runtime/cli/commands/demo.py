"""``gradwire demo``: the diagram that Gradwire grew from."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Annotated

import typer

from gradwire.runtime.cli.commands.edit import open_window
from gradwire.runtime.cli.commands.run import run
from gradwire.runtime.cli.display import why_no_window


def demo(
    no_window: Annotated[
        bool,
        typer.Option("--no-window", help="Print only the report."),
    ] = False,
) -> None:
    """Run the seed diagram, then open it.

    loss = MakeLoss(stop_gradient(3 * b) + a): a gets a gradient, b gets none.
    """
    with as_file(files("gradwire.assets") / "diagrams" / "mxnet_seed.gradwire.json") as path:
        run(path)
        if no_window:
            return
        if reason := why_no_window():
            typer.echo(f"\nNot shown in the editor: {reason}", err=True)
            return
        raise typer.Exit(open_window(path))
