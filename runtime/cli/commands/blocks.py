"""``gradwire blocks``: the block library."""

from __future__ import annotations

from typing import Annotated

import typer

from gradwire.blocks.errors import Location, UnknownBlockError
from gradwire.blocks.registry import registry
from gradwire.runtime.cli.arguments import Json
from gradwire.runtime.cli.output import UsageError, print_json, print_problems
from gradwire.runtime.diagram import Diagnostic
from gradwire.runtime.publish.library import block_json, block_parts, library_parts
from gradwire.runtime.publish.problems import Problem
from gradwire.runtime.publish.text import show


def blocks(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A block type, such as Mul.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """List the blocks, or say everything about one."""
    library = registry()
    print_problems(Problem(Diagnostic("warning", Location(), what)) for what in library.problems)
    try:
        chosen = [library.get(name)] if name else list(library.classes.values())
    except UnknownBlockError as error:
        raise UsageError(error.what, next_step=error.next_step) from None
    if json:
        print_json({"report": "blocks", "version": 1, "blocks": [block_json(c) for c in chosen]})
    elif name:
        show(block_parts(chosen[0]))
    else:
        show(library_parts(library.families()))
