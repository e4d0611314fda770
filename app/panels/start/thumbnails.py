"""Small pictures of diagram files, drawn by the canvas's own painter."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from gradwire.app.canvas.paint.painter import paint_fitted
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.services.examples import in_variant
from gradwire.app.services.theme import THEMES
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import MAIN, load

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.diagram import Diagram

LARGEST = 200_000
"""Size of the largest file that has a picture, bytes; of a larger one little could be seen."""


@dataclass(frozen=True, eq=False)
class PictureContent:
    """What a picture shows: a diagram, and its result if it was run. Equal only to itself."""

    diagram: Diagram
    result: EvaluationResult | None


def read(path: Path, *, runs: bool, variant: str = "") -> PictureContent | None:
    """The main page of a file, run if it ``runs``; None if it can't be read or is too large.

    ``variant`` is one of the study of an example.

    It can take long, on a slow disk for instance: not for the window's thread.
    """
    try:
        stat = path.stat()
        if stat.st_size > LARGEST:
            return None
        return _read(path, runs, variant, (stat.st_ino, stat.st_mtime_ns, stat.st_size))
    except (OSError, GradwireError):
        return None


@lru_cache(maxsize=64)
def _read(path: Path, runs: bool, variant: str, stamp: tuple[int, ...]) -> PictureContent:
    diagram = in_variant(load(path), path, variant)
    page = replace(diagram.main, notes={})  # their text is too small here
    diagram = diagram.with_page(MAIN, page)
    return PictureContent(diagram, evaluate(diagram) if runs else None)


def draw(content: PictureContent, theme: Theme, size: QSize, ratio: float) -> QPixmap:
    """The main page in ``size`` px, with ``ratio`` physical pixels per px and lanes if it ran."""
    return _draw(content, theme.name, size, ratio)


@lru_cache(maxsize=64)
def _draw(content: PictureContent, theme_name: str, size: QSize, ratio: float) -> QPixmap:
    """Kept for the start pages of other windows, which show the same examples."""
    theme = THEMES[theme_name]
    scene = Scene(content.diagram, MAIN)
    view = ViewState(scene, resolve(scene, content.result), Camera(), theme)
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(QColor(theme.canvas))
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_fitted(painter, view, QRectF(0.0, 0.0, size.width(), size.height()), theme)
    return picture
