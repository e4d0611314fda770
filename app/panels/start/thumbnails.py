"""Small pictures of diagram files, drawn by the canvas's own painter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPixmap

from app.canvas.paint.painter import paint_fitted
from app.canvas.scene.camera import Camera
from app.canvas.scene.geometry import Scene
from app.canvas.state.annotations import resolve
from app.canvas.state.view_state import ViewState
from app.evaluation.evaluator import evaluate
from blocks.errors import GradwireError
from runtime.diagram import MAIN, load

if TYPE_CHECKING:
    from pathlib import Path

    from app.services.theme import Theme

LARGEST = 200_000
"""Size of the largest file that is drawn, bytes; larger ones would keep the window waiting."""
_cache: dict[tuple[str, int, str, int, float], QPixmap] = {}
"""Pictures by file, its time of change, theme, width in px, and physical pixels per px."""


def thumbnail(path: Path, theme: Theme, size: QSize, ratio: float, *, runs: bool) -> QPixmap:
    """The main page of a diagram file, with its lanes if it ``runs``; empty if it can't be read."""
    try:
        stat = path.stat()
        key = (str(path), stat.st_mtime_ns, theme.name, size.width(), ratio)
        if key not in _cache:
            small = stat.st_size <= LARGEST
            _cache[key] = _drawn(path, theme, size, ratio, runs=runs) if small else QPixmap()
        return _cache[key]
    except (OSError, GradwireError):
        return QPixmap()


def _drawn(path: Path, theme: Theme, size: QSize, ratio: float, *, runs: bool) -> QPixmap:
    diagram = load(path)
    page = replace(diagram.main, notes={})  # their text is too small here
    diagram = diagram.with_page(MAIN, page)
    scene = Scene(diagram, MAIN)
    result = evaluate(diagram) if runs else None
    view = ViewState(scene, resolve(scene, result), Camera(), theme)
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(QColor(theme.canvas))
    with QPainter(picture) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_fitted(painter, view, QRectF(0.0, 0.0, size.width(), size.height()), theme)
    return picture
