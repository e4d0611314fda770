"""``gradwire whatif FILE``: try cuts, opened stops and freezes without touching the file."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from gradwire.blocks.errors import ChangeError
from gradwire.runtime.cli.arguments import DiagramFile, Json, Losses, Values
from gradwire.runtime.cli.output import (
    UsageError,
    print_json_by_line,
    print_problems,
    problems_code,
)
from gradwire.runtime.cli.sessions import choose_losses, has_errors, open_session, parse_assignment
from gradwire.runtime.flow import WhatIf
from gradwire.runtime.publish.text import show
from gradwire.runtime.publish.whatif import whatif_report


def _many(option: str, metavar: str, text: str) -> object:
    return typer.Option(option, metavar=metavar, help=text + " May be repeated.",
                        show_default=False)  # fmt: skip


Names: TypeAlias = list[str] | None


def whatif(
    file: DiagramFile,
    opened: Annotated[
        Names, _many("--open", "STOP", "Open a StopGradient, or for one leaf: stop:encoder/w.")
    ] = None,
    closed: Annotated[Names, _many("--close", "STOP", "Close an open StopGradient.")] = None,
    cut: Annotated[Names, _many("--cut", "WIRE", "Cut a wire: mul1.a or w.out->mul1.a.")] = None,
    freeze: Annotated[Names, _many("--freeze", "VARIABLE", "Don't train a variable.")] = None,
    train: Annotated[Names, _many("--train", "VARIABLE", "Train a frozen variable.")] = None,
    values: Values = None,
    loss: Losses = None,
    json: Json = False,
) -> None:
    """Try a change: gradients and wires, before and after.

    The file stays as it is.
    """
    if not (opened or closed or cut or freeze or train):
        raise UsageError(
            "Nothing to try.", next_step="Give --open, --close, --cut, --freeze or --train."
        )
    session, problems = open_session(file)
    print_problems(problems)
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))
    literals = dict(map(parse_assignment, values or ()))
    feeds = {n: v.array if v.typed else v.tensor.array for n, v in literals.items()}
    trial = WhatIf(session, choose_losses(session, loss), feeds=feeds)
    trial = (
        trial.open(*opened or ())
        .close(*closed or ())
        .cut(*cut or ())
        .freeze(*freeze or ())
        .train(*train or ())
    )
    try:
        found = trial.compare()
    except ChangeError as error:
        raise UsageError(
            error.what, expected=error.expected, got=error.got, next_step=error.next_step
        ) from None
    report = whatif_report(str(file), found, problems)
    if json:
        print_json_by_line(report.to_json())
    else:
        show(report.parts())
