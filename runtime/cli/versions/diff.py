"""``gradwire diff A B``: what differs between two diagrams, and what that does to gradients."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gradwire.runtime.cli.arguments import Json, output_option
from gradwire.runtime.cli.commands.picture import (
    ENDINGS,
    drawing,
    missing_fonts,
    required_page,
)
from gradwire.runtime.cli.output import CLEAN, UsageError, print_json, print_problems
from gradwire.runtime.diagram import MAIN, Diagram
from gradwire.runtime.diagram.files.storage import load_version
from gradwire.runtime.programs.subjects import captured_subject
from gradwire.runtime.publish.diff import DiffReport, diff_report
from gradwire.runtime.publish.text import show

DIFFERENT = 1
"""Exit code of a comparison that found a difference, as of diff(1)."""
_GIT_NAMES = (7, 9)
"""How many arguments git passes to a command that compares: nine for a file with a new name."""


def diff(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="A B",
            help="The diagram before and after; or a model that a program makes, also of another "
            "revision: HEAD~1:model.py:make model.py:make.",
            show_default=False,
        ),
    ],
    run: Annotated[
        bool,
        typer.Option(
            "--run", help="Run both, to compare gradients by their numbers and not only structure."
        ),
    ] = False,
    meaning: Annotated[
        bool,
        typer.Option(
            "--meaning",
            help="A difference of layout, notes or titles alone counts as none for the exit code.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        output_option("Also draw the page of B with the differences: .svg, .png, .pdf or .tex."),
    ] = None,
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            metavar="PAGE",
            help="The page to draw; without it the first that differs.",
            show_default=False,
        ),
    ] = None,
    git: Annotated[
        bool,
        typer.Option("--git", help="Take the arguments of a git diff driver; always exit with 0."),
    ] = False,
    json: Json = False,
) -> None:
    """Compare two diagrams, and what the difference does to gradients.

    The exit code is that of diff(1): 0 for the same, 1 for different, 2 for trouble.
    """
    names = _names_of_git(files) if git else _two_names(files)
    notices: list[str] = []
    before, after = (_load(path, named, notices) for path, named in names)
    shown = (names[0][1], names[1][1])
    report = diff_report(before, after, shown, run=run, notices=notices)
    if output is not None:
        _draw(report, output, page)
    if json:
        print_json(report.to_json())
    else:
        show(report.parts())
    differ = report.changes.has_meaning if meaning else not report.changes.is_empty
    raise typer.Exit(DIFFERENT if differ and not git else CLEAN)


def _two_names(files: list[str]) -> list[tuple[str, str]]:
    if len(files) != 2:
        raise UsageError(
            "Two diagrams are compared.", expected="gradwire diff A B", got=f"{len(files)} files"
        )
    return [(file, file) for file in files]


def _names_of_git(files: list[str]) -> list[tuple[str, str]]:
    """The files to read, each with the name to show: git's copies have names of their own."""
    if len(files) not in _GIT_NAMES:
        raise UsageError(
            "--git is for git, which passes the path and two files, each with its hash and mode.",
            got=f"{len(files)} arguments",
            next_step='git config diff.gradwire.command "gradwire diff --git"',
        )
    path, old, new = files[0], files[1], files[4]
    renamed = files[7] if len(files) > 7 else path
    return [(old, path), (new, renamed)]


def _load(path: str, named: str, notices: list[str]) -> Diagram:
    """The diagram of a file, or of what a program makes; an empty one for git's name of no file."""
    if path in ("/dev/null", os.devnull):
        return Diagram()
    if (captured := captured_subject(path)) is not None:
        return captured.imported.diagram
    return load_version(Path(path), Path(named).parent, notices.append)


def _draw(report: DiffReport, output: Path, page: str | None) -> None:
    """Draw the page, or the first of B that differs."""
    if output.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{output}: pictures have another ending.", expected="one of " + ", ".join(ENDINGS)
        )
    if page is not None:
        page = required_page(report.changes.after, page)
    differing = (each.page for each in report.changes.pages if each.page is not None)
    headless = drawing("headless")
    print_problems(missing_fonts(output))
    headless.draw_diff(report.changes, report.effects, output, page or next(differing, MAIN))
