"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DiagramFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="A *.gradwire.json file.", show_default=False)
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Give a variable, an input or a constant a value: a number, true, false, nan, inf, "
        "or nested lists. May be repeated.",
        show_default=False,
    ),
]
Losses: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--loss",
        metavar="PORT",
        help="Differentiate this port (loss.out, or just loss). May be repeated; without it, "
        "the Loss blocks of the diagram.",
        show_default=False,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, at full precision.")]
