"""A card of the start page: the picture and the title of a diagram, in one or two versions.

The pictures are small, and drawn by the canvas's own painter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QPixmap
from PySide6.QtWidgets import QAbstractButton, QToolButton, QWidget

from gradwire.app.canvas.paint.painter import paint_fitted
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, tool_button
from gradwire.app.services.examples import in_variant
from gradwire.app.services.plain_text import tooltip, unmarked
from gradwire.app.services.theme import THEMES, current_theme
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import MAIN, load

if TYPE_CHECKING:
    from collections.abc import Sequence
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


PICTURE = QSize(232, 116)
"""Size of the picture, px."""
_RADIUS = 6.0


class Version(NamedTuple):
    """A file, what the switch calls it (if there is one), and a description; ``variant`` is that
    of the example's study, if it is not the file as it is.
    """

    path: Path
    label: str
    description: str
    variant: str = ""


class PictureButton(QAbstractButton):
    """The picture of the shown version, which opens it; empty until its content is there."""

    contentWanted = Signal(object, str)
    """Path and variant of a file whose content ``show_content`` is to be called with."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._path: Path | None = None
        self._variant = ""
        self._content: PictureContent | None = None
        self._drawn: tuple[str, float, QPixmap] | None = None
        self.setFixedSize(PICTURE)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def show_file(self, path: Path, variant: str = "") -> None:
        """Show another file, or a variant of it, once its content is there."""
        self._path, self._variant, self._content, self._drawn = path, variant, None, None
        self.contentWanted.emit(path, variant)
        self.update()

    def show_content(self, path: Path, content: PictureContent | None, variant: str = "") -> None:
        """Draw the content of a file if that is the one shown; None is drawn empty."""
        if (path, variant) == (self._path, self._variant):
            self._content, self._drawn = content, None
            self.update()

    @property
    def is_drawn(self) -> bool:
        """Whether the content is there."""
        return self._content is not None

    def _picture(self, content: PictureContent) -> QPixmap:
        """The content in the theme and for the screen, drawn anew only if either changed."""
        key = (current_theme().name, self.devicePixelRatioF())
        if self._drawn is None or self._drawn[:2] != key:
            self._drawn = (*key, draw(content, current_theme(), PICTURE, key[1]))
        return self._drawn[2]

    def paintEvent(self, event: QPaintEvent) -> None:
        used, box = current_theme(), QRectF(self.rect()).adjusted(1.0, 1.0, -1.0, -1.0)
        frame = QPainterPath()
        frame.addRoundedRect(box, _RADIUS, _RADIUS)
        active = self.hasFocus() or self.underMouse()
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillPath(frame, QColor(used.canvas))
            if self._content is not None:
                painter.setClipPath(frame)
                painter.drawPixmap(0, 0, self._picture(self._content))
                painter.setClipping(False)
            colour = used.accent if active else used.hairline
            painter.setPen(QPen(QColor(colour), 2.0 if active else 1.0))
            painter.drawPath(frame)


class DiagramCard(QWidget):
    """A diagram in one or more versions, with a switch between several."""

    opened = Signal(object, str)
    """Path and variant of the version to open."""

    def __init__(self, title: str, versions: Sequence[Version], *, runs: bool) -> None:
        """``runs``: whether its pictures show the gradients of a run."""
        super().__init__()
        self.title = title
        self.runs = runs
        self.versions = tuple(versions)
        self._shown = self.versions[0]
        self.picture = PictureButton(self)
        self.picture.clicked.connect(self._open)
        caption = labels.strong(title)
        caption.setWordWrap(True)
        self.switch = self._make_switch() if len(self.versions) > 1 else []
        column = make_column(self, self.picture, caption, margins=(0, 0, 0, 6), spacing=4)
        if self.switch:
            column.addLayout(make_row(None, *self.switch, STRETCH, spacing=2))
        column.addStretch(1)
        self.setFixedWidth(PICTURE.width())

    def start(self) -> None:
        """Show the first version, whose content is wanted from now on."""
        self._show(self._shown)

    def _make_switch(self) -> list[QToolButton]:
        made = []
        for version in self.versions:
            show = partial(self._show, version)
            button = tool_button(self, unmarked(version.label), show, flat=False, kind="switch")
            button.setCheckable(True)
            button.setAutoExclusive(True)
            button.setChecked(version is self._shown)
            made.append(button)
        return made

    def _open(self) -> None:
        self.opened.emit(self._shown.path, self._shown.variant)

    def _show(self, version: Version) -> None:
        self._shown = version
        name = f"{self.title}, {version.label}" if version.label else self.title
        self.picture.setAccessibleName(name)
        self.picture.setToolTip(tooltip(version.description))
        self.picture.show_file(version.path, version.variant)
