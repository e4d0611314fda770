"""``gradwire picture FILE -o OUT``: a page as PNG, SVG, PDF or TikZ."""

from __future__ import annotations

import importlib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gradwire.blocks.errors import Location, RunError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime import extras
from gradwire.runtime.cli.arguments import DiagramFile, output_option
from gradwire.runtime.cli.output import UsageError, print_problems, problems_code
from gradwire.runtime.cli.sessions import has_errors, open_session
from gradwire.runtime.diagram import MAIN, Diagnostic, Diagram
from gradwire.runtime.diagram.pages import page_named
from gradwire.runtime.publish.printable import visible
from gradwire.runtime.publish.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradwire.runtime.diagram.model import Page

ENDINGS = (".svg", ".png", ".pdf", ".tex")
"""Endings of the files that can be drawn."""


class Legend(StrEnum):
    """Which states and badges the legend explains."""

    OCCURRING = "occurring"
    ALL = "all"
    NONE = "none"


class ThemeName(StrEnum):
    """Names of themes as they are typed."""

    LIGHT = "light"
    DARK = "dark"
    HIGH_CONTRAST = "high-contrast"


class Text(StrEnum):
    """How SVG holds text."""

    SHAPES = "shapes"
    EMBEDDED = "embedded"
    TEXT = "text"


def picture(
    file: DiagramFile,
    output: Annotated[
        Path,
        output_option("The file to write; its ending is .svg, .png, .pdf or .tex (TikZ)."),
    ],
    page: Annotated[str, typer.Option("--page", metavar="PAGE", help="The page to draw.")] = MAIN,
    every: Annotated[
        bool,
        typer.Option(
            "--all-pages",
            help="Draw every page: sheets of one PDF, or a file each (OUT-page.svg).",
        ),
    ] = False,
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="BLOCK",
            help="Only this block, and the wires between selected ones. May be repeated.",
            show_default=False,
        ),
    ] = None,
    legend: Annotated[
        Legend, typer.Option("--legend", help="States to explain: those that occur, all or none.")
    ] = Legend.OCCURRING,
    theme: Annotated[ThemeName, typer.Option("--theme", help="Colours.")] = ThemeName.LIGHT,
    bare: Annotated[
        bool, typer.Option("--no-numbers", help="Leave out values and gradients.")
    ] = False,
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            metavar="CM",
            min=1.0,
            max=200.0,
            help="Width on paper; without it, 96 px of the canvas are an inch.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        Text,
        typer.Option(
            "--text",
            help="Text in SVG: shapes, the same everywhere; text with its fonts embedded; or text"
            " in the reader's sans-serif.",
        ),
    ] = Text.SHAPES,
) -> None:
    """Draw a diagram as PNG, SVG, PDF or TikZ.

    Needs PySide6, but no screen. A diagram with errors is drawn with them, and the exit code is 1.
    """
    if output.suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{output}: pictures have another ending.", expected="one of " + ", ".join(ENDINGS)
        )
    if every and select:
        raise UsageError("--all-pages draws whole pages; --select chooses blocks of one.")
    session, problems = open_session(file)
    page = required_page(session.diagram, page)
    _require(session.diagram.pages[page], page, select or ())
    print_problems(problems)
    options = {
        "legend": legend.value,
        "theme": theme.value.replace("-", " "),
        "numbers": str(not bare),
        "width": str(width),
        "lettering": text.value,
    }
    headless = drawing("headless")
    print_problems(missing_fonts(output, text))
    drawn = headless.draw(
        session.diagram, output, options, page=None if every else page, blocks=select or ()
    )
    for made in drawn:
        typer.echo(visible(str(made)))
    if has_errors(problems):
        raise typer.Exit(problems_code(problems))


def missing_fonts(output: Path, text: Text = Text.SHAPES) -> Iterator[Problem]:
    """Warnings where a picture lacks the fonts that it should have."""
    install = f"Install it: {extras.command('pymupdf_fonts')}."
    if text is Text.EMBEDDED and output.suffix.lower() != ".svg":
        what = "Only SVG has a choice of text: --text embedded changes nothing here."
        yield _warning(output, what, "Use --text with an .svg file.")
    elif text is Text.EMBEDDED and not drawing("svg").can_embed():
        what = "No fonts can be embedded, so text is drawn as shapes: the typeface is missing."
        yield _warning(output, what, install)
        return
    if not extras.installed("pymupdf_fonts"):
        what = "The typeface is not installed, so text looks different on each computer."
        yield _warning(output, what, install)


def _warning(output: Path, what: str, next_step: str) -> Problem:
    warning = Diagnostic("warning", Location(), what, code="no-fonts", next_step=next_step)
    return Problem(warning, str(output))


def drawing(module: str) -> Any:
    """A module of the editor's pictures. Raises RunError if Qt is missing."""
    extras.require("PySide6", "Drawing", note="No screen is needed.")
    try:
        # By name: the runtime does not import the floor above it.
        return importlib.import_module(f"gradwire.app.pictures.{module}")
    except ImportError as error:
        if error.name and error.name.startswith("gradwire."):
            raise  # one of ours, which no package manager has
        raise RunError(
            f"A system library that Qt needs is missing: {error}.",
            next_step="Install it with the system's package manager.",
        ) from None


def required_page(diagram: Diagram, text: str) -> str:
    """The page that ``--page`` names, by its name or path. Raises UsageError where none does."""
    page = page_named(diagram, text)
    if page is None:
        raise UsageError(
            f"--page {text}: there is no such page.",
            expected="one of " + ", ".join(list(diagram.pages)[:20]),
            next_step=did_you_mean(text, diagram.pages),
        )
    return page


def _require(page: Page, name: str, blocks: Sequence[str]) -> None:
    """Raise UsageError unless the page has the blocks."""
    for block in blocks:
        if block not in page.blocks:
            raise UsageError(
                f"--select {block}: page {name} has no such block.",
                next_step=did_you_mean(block, page.blocks),
            )
