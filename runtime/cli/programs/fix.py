"""``gradwire fix model.py:make``: patches of a program, each tried before it is shown."""

from __future__ import annotations

from typing import Annotated

import typer

from gradwire.runtime import extras
from gradwire.runtime.cli.arguments import Json
from gradwire.runtime.cli.output import CLEAN, PROBLEMS, print_json, say
from gradwire.runtime.publish.printable import visible


def fix(
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM",
            help="A model that a program makes (model.py:make), or a script that trains.",
            show_default=False,
        ),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENT", help="Those of the script, after --.", show_default=False
        ),
    ] = None,
    parameter: Annotated[
        str,
        typer.Option(
            "--parameter",
            metavar="NAME",
            help="Find what lets gradient through to this one of a model; without it, what helps "
            "against all that `doctor` finds.",
            show_default=False,
        ),
    ] = "",
    apply: Annotated[
        bool, typer.Option("--apply", help="Write the patches into the program's files.")
    ] = False,
    steps: Annotated[
        int, typer.Option("--steps", metavar="N", min=1, help="Updates to watch a script for.")
    ] = 20,
    json: Json = False,
) -> None:
    """Show patches of a program that let gradient through, each tried before it is shown.

    Tried are: to remove detach(), to leave no_grad and inference_mode, to keep modules in a
    ModuleList or ModuleDict, use_reentrant=False, and a least input for logarithms and roots. With
    each the model is captured again, or the script watched again, without touching a file; what
    brings no gradient, or something else that is wrong, is not shown. The exit code is 1 if
    something is wrong and no patch helps.
    """
    extras.require("libcst", "Patching a program")
    from gradwire.runtime.programs.repairing import apply_patches, attempted

    attempt = attempted(program, parameter, arguments or (), steps=steps)
    if json:
        print_json({"report": "fix", "version": 1, "program": visible(program), **attempt.json})
    else:
        for offer in attempt.offers:
            typer.echo(visible(f"# {offer.patch.what} Against: {offer.against}"))
            typer.echo(visible(f"# Tried: {offer.shown}"))
            typer.echo("\n".join(map(visible, offer.patch.diff.splitlines())))
        if not attempt.wrong:
            say("Nothing is wrong, so there is nothing to patch.")
        elif not attempt.offers:
            say(f"No patch is known to help; {attempt.tried} were tried.")
    if apply:
        done = list(apply_patches(attempt.offers))
        say(*(visible(f"{offer.patch.file}: {offer.patch.what}") for offer in done))
        if len(done) < len(attempt.offers):
            say("Other patches change the same file: run it again for them.")
    raise typer.Exit(PROBLEMS if attempt.wrong and not attempt.offers else CLEAN)
