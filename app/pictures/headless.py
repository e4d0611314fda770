"""Pictures without a window, for the command line."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.diff_picture import DiffPicture
from gradwire.app.pictures.files import contents, write
from gradwire.app.pictures.options import PictureOptions
from gradwire.app.pictures.page_picture import PagePicture, first_use, page_pictures, restricted
from gradwire.app.services import theme
from gradwire.blocks.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram, DiagramChanges
    from gradwire.runtime.flow import Effects

_applications: list[QApplication] = []
"""The application that this module made; Qt needs it for fonts until the process ends."""


def draw(
    diagram: Diagram,
    path: Path,
    options: Mapping[str, str],
    *,
    page: str | None,
    blocks: Collection[str] = (),
) -> list[Path]:
    """Draw a page, some ``blocks`` of it, or without ``page`` every page; return the files.

    ``options`` are the texts of :class:`PictureOptions`. Raises RunError for a file that can't be
    written.
    """
    start()
    chosen = PictureOptions.parse(options)
    result = evaluate(diagram)
    if page is None:
        pictures = page_pictures(diagram, result, chosen)
    else:
        drawn = restricted(diagram, page, blocks) if blocks else diagram
        use = first_use(diagram, page)
        if result is not None:
            result = replace(result, diagram=drawn)
        pictures = [PagePicture(drawn, page, result, use, chosen)]
    return _written(path, pictures, diagram.title or path.stem)


def draw_diff(changes: DiagramChanges, effects: Effects, path: Path, page: str) -> list[Path]:
    """Draw what changed on a page, as it is afterwards; return the files."""
    start()
    picture = DiffPicture(changes, effects, page, evaluate(changes.after))
    return _written(path, [picture], changes.after.title or path.stem)


def _written(path: Path, pictures: Sequence[PagePicture], title: str) -> list[Path]:
    made = contents(path, pictures, title)
    for file, content in made.items():
        if reason := write(file, content):
            raise RunError(f"{file} was not written: {reason}.", next_step="Choose another folder.")
    return list(made)


def start() -> None:
    """Make Qt ready to draw, on no screen."""
    if QApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        _applications.append(QApplication(["gradwire"]))
        theme.apply(theme.LIGHT, _applications[0])
