"""``gradwire merge BASE OURS THEIRS``: three diagrams as one, as a merge driver of git asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gradwire.runtime.cli.arguments import Json, output_option
from gradwire.runtime.cli.output import CLEAN, PROBLEMS, print_json
from gradwire.runtime.diagram import Diagram, save
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.diagram.files.storage import load_version
from gradwire.runtime.diagram.merging import merge as merge_diagrams
from gradwire.runtime.publish.printable import visible


def _file(help: str) -> Any:
    return typer.Argument(parser=Path, help=help, show_default=False)


def merge(
    base: Annotated[Path, _file("What both come from.")],
    ours: Annotated[Path, _file("One side, which conflicts keep.")],
    theirs: Annotated[Path, _file("The other side.")],
    output: Annotated[
        Path | None,
        output_option("Write the merged diagram here; without it over OURS."),
    ] = None,
    json: Json = False,
) -> None:
    """Merge two versions of a diagram by blocks and wires.

    What both have changed differently is a conflict, which is listed: the merged diagram has ours
    there. The exit code is 1 if there is any. For git:
    git config merge.gradwire.driver "gradwire merge %O %A %B"
    and *.gradwire.json merge=gradwire in .gitattributes.
    """
    target = output or ours
    folder = target.absolute().parent
    found = merge_diagrams(*(_load(path, folder) for path in (base, ours, theirs)))
    save(found.diagram, target)
    if json:
        conflicts = [conflict._asdict() for conflict in found.conflicts]
        print_json({"report": "merge", "version": 1, "file": str(target), "conflicts": conflicts})
    else:
        lines = [f"conflict: {conflict}" for conflict in found.conflicts] or ["merged"]
        for line in lines:
            typer.echo(visible(f"{target}: {line}"))
    raise typer.Exit(PROBLEMS if found.conflicts else CLEAN)


def _load(path: Path, folder: Path) -> Diagram:
    """The diagram of a copy; an empty one for the empty file that git has for none."""
    if answered(path, lambda: path.is_file() and not path.stat().st_size):
        return Diagram()
    return load_version(path, folder)
