"""``gradwire merge BASE OURS THEIRS``: three diagrams as one, as a merge driver of git asks for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.cli.arguments import Json, output_option, path_option
from gradwire.runtime.cli.commands.picture import drawing
from gradwire.runtime.cli.output import CLEAN, PROBLEMS, UsageError, print_json, say
from gradwire.runtime.diagram import Diagram, save
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.diagram.files.storage import load_version, replace_file, system_errors
from gradwire.runtime.diagram.merging import Conflict, Merged, Side, Three
from gradwire.runtime.diagram.merging import merge as merge_diagrams
from gradwire.runtime.publish.diff import short
from gradwire.runtime.publish.printable import visible


def _file(help: str) -> object:
    return typer.Argument(parser=Path, help=help, show_default=False)


def _side(name: str) -> object:
    return typer.Option(
        f"--{name}",
        metavar="CONFLICT",
        help=f"Keep {name} of this conflict, by its name in the list: 'page main: act: slope'. "
        "May be repeated.",
        show_default=False,
    )


def merge(
    base: Annotated[Path, _file("What both come from.")],
    ours: Annotated[Path, _file("One side, which conflicts keep.")],
    theirs: Annotated[Path, _file("The other side.")],
    output: Annotated[
        Path | None,
        output_option("Write the merged diagram here; without it over OURS."),
    ] = None,
    window: Annotated[
        bool,
        typer.Option("--open", help="Open conflicts side by side, to choose; saving ends it."),
    ] = False,
    html: Annotated[
        Path | None,
        path_option(
            "--html",
            metavar="FILE",
            help="Write a page with both sides of all conflicts side by side.",
        ),
    ] = None,
    keep_ours: Annotated[list[str] | None, _side("ours")] = None,
    keep_theirs: Annotated[list[str] | None, _side("theirs")] = None,
    json: Json = False,
) -> None:
    """Merge two versions of a diagram by blocks and wires.

    What both have changed differently is a conflict, which is listed: the merged diagram has ours
    there, unless a side is chosen. The exit code is 1 if one is left to choose. For git:
    git config merge.gradwire.driver "gradwire merge %O %A %B"
    and *.gradwire.json merge=gradwire in .gitattributes.
    """
    target = output or ours
    folder = target.absolute().parent
    three = Three(*(_load(path, folder) for path in (base, ours, theirs)))
    choices = _choices(keep_ours or (), keep_theirs or ())
    found = merge_diagrams(*three, choices)
    _require_known(choices, found.conflicts)
    if html is not None:
        _write_page(html, three, target.name, found)
    if window and _open(found.conflicts, choices):
        # By name: the runtime stands without the floor above it.
        room = importlib.import_module("gradwire.app.shell.merging")
        chosen = room.resolve(three, target.name, choices)
        if chosen is None:
            say("Nothing was written.")
            raise typer.Exit(PROBLEMS)
        choices = chosen
        found = merge_diagrams(*three, choices)
    save(found.diagram, target)
    left = _open(found.conflicts, choices)
    _report(target, found.conflicts, left, json=json)
    raise typer.Exit(PROBLEMS if left else CLEAN)


def _load(path: Path, folder: Path) -> Diagram:
    """The diagram of a copy; an empty one for the empty file that git has for none."""
    if answered(path, lambda: path.is_file() and not path.stat().st_size):
        return Diagram()
    return load_version(path, folder)


def _choices(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, Side]:
    if both := set(ours) & set(theirs):
        raise UsageError(f"{min(both)!r} is both --ours and --theirs.", expected="one of them")
    chosen: dict[str, Side] = dict.fromkeys(ours, "ours")
    return chosen | dict.fromkeys(theirs, "theirs")


def _require_known(choices: Mapping[str, Side], conflicts: Sequence[Conflict]) -> None:
    """Raise UsageError unless a side can be had of each conflict that was named."""
    known = {conflict.name: conflict.kept for conflict in conflicts}
    for name, side in choices.items():
        if name not in known:
            raise UsageError(
                f"--{side} {name}: there is no such conflict.",
                expected="one of " + "; ".join([*known][:20]) if known else "no choice",
                next_step=did_you_mean(name, known),
            )
        if known[name] == "neither":
            raise UsageError(
                f"--{side} {name}: one side has removed the block that the wire comes from.",
                next_step="Keep that block, if it is in conflict too, or connect the wire in the "
                "editor.",
            )


def _open(conflicts: Sequence[Conflict], choices: Mapping[str, Side]) -> list[Conflict]:
    """The conflicts that are left to choose."""
    return [each for each in conflicts if each.kept == "neither" or each.name not in choices]


def _write_page(path: Path, three: Three[Diagram], title: str, found: Merged) -> None:
    drawing("headless").start()
    page = drawing("diff_picture").MergePictures(three).html(title, found.conflicts)
    with system_errors(path, "write"):
        replace_file(path, page.encode())


def _report(
    target: Path, conflicts: Sequence[Conflict], left: Sequence[Conflict], *, json: bool
) -> None:
    if json:
        found = [{**each.to_json(), "decided": each not in left} for each in conflicts]
        print_json({"report": "merge", "version": 1, "file": str(target), "conflicts": found})
        return
    for each in conflicts:
        word = "conflict" if each in left else "decided"
        sides = f"ours {short(each.ours)}, theirs {short(each.theirs)}"
        typer.echo(visible(f"{target}: {word}: {each}: {sides}"))
    if not left:
        typer.echo(visible(f"{target}: merged"))
