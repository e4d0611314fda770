"""``gradwire desktop``: Gradwire in the menu of the desktop, and its files open with it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from platformdirs.unix import Unix

from gradwire.runtime.cli.desktop.entries import Entries, start_command
from gradwire.runtime.cli.output import PROBLEMS, UsageError, say

ELSEWHERE = {
    "darwin": "make an application of `{}` with Automator (Run Shell Script, with the input as "
    'arguments: add "$@"), and choose it for a diagram in Finder by Get Info > Open with.',
    "win32": "right-click a diagram, then Open with > Choose another app, and choose "
    "gradwire-editor.exe beside {}.",
}
"""How it is done on systems that keep this elsewhere."""


def desktop(
    install: Annotated[bool, typer.Option("--install", help="Write what is missing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take away what it wrote.")] = False,
) -> None:
    """Put Gradwire into the desktop's menu, and open diagrams with it.

    On Linux: an entry of the menu, an icon, the type of files *.gradwire.json, and a description
    for software centres, below XDG_DATA_HOME. What is there already and is not of Gradwire, and
    what you have changed, stays as it is.
    """
    if sys.platform in ELSEWHERE:
        command = sys.executable if sys.platform == "win32" else start_command()
        raise UsageError(
            "`gradwire desktop` is for Linux.",
            next_step=f"Here, {ELSEWHERE[sys.platform].format(command)}",
        )
    if install == remove:
        raise UsageError("Say --install or --remove.")
    entries = Entries(Unix().user_data_path)
    done, left = entries.install() if install else entries.remove()
    for path in done:
        typer.echo(f"{'wrote' if install else 'removed'} {path}")
    if not done and not left:
        typer.echo("nothing to do")
    for path in left:
        say(f"{path} is not as Gradwire wrote it, and stays as it is.")
    if left:
        raise typer.Exit(PROBLEMS)
