"""Makes the pictures of README and manual with the editor: ``python -m tests.app.screenshots``.

A window without a screen is driven by mouse and keys; pictures are what it shows then.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PIL import Image
from PySide6.QtCore import QBuffer, QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import gradwire as gw
from gradwire.app.services.examples import ASSETS, SUFFIX
from gradwire.app.services.settings import Settings
from gradwire.app.shell.main_window import MainWindow
from gradwire.runtime.diagram import apply, save
from gradwire.runtime.diagram.edits.changes import StyleBlocks
from gradwire.runtime.diagram.model import Size, Style
from tests.app.closing import give_up
from tests.app.gallery import states
from tests.app.mouse import LEFT

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

PICTURES = ASSETS / "manual" / "pictures"
TOUR = ASSETS / "screenshots" / "tour.gif"
COLOURS = 96
"""Colours of the moving picture: flat tints need few."""
_CURSOR = ((0, 0), (0, 16), (4, 12.5), (6.5, 18), (9, 17), (6.5, 11.5), (11.5, 11.5))


class Editor:
    """One window that is driven; ``frames`` are its pictures, each with its milliseconds."""

    def __init__(self, folder: Path, theme: str = "light") -> None:
        store = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)
        settings = Settings(store)
        settings.theme = theme
        self.window = MainWindow(settings)
        self.window.resize(1100, 620)
        self.window.show()
        self.frames: list[tuple[Image.Image, int]] = []
        self._at = QPoint(560, 420)

    def open(self, path: Path) -> None:
        """Open a file, with the palette hidden and the page as large as it fits."""
        assert self.window.open_path(path)
        self.window.docks.by_name["palette"].hide()
        self.rest()
        self.window.canvas.zoom_to_fit()
        self.rest()

    def rest(self) -> None:
        """Wait until everything that was asked for is shown."""
        evaluator, trial = self.window.evaluator, self.window.trial.worker
        QTest.qWait(400)
        while evaluator.busy or trial.is_pending("trial"):
            QTest.qWait(50)
        QTest.qWait(100)

    def shoot(self, milliseconds: int) -> None:
        """Keep what the window shows, with the pointer."""
        picture = self.window.grab().toImage()
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._at)
        painter.setBrush(QColor("white"))
        painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in _CURSOR]))
        painter.end()
        self.frames.append((pillow(picture), milliseconds))

    def glide(self, to: QPoint, steps: int = 6) -> None:
        """Move the pointer to a place on the canvas, seen on the way."""
        start, end = self._at, self.window.canvas.mapTo(self.window, to)
        for step in range(1, steps + 1):
            self._at = start + (end - start) * (step / steps)
            QTest.mouseMove(self.window.canvas, self.window.canvas.mapFrom(self.window, self._at))
            self.shoot(60)

    def click(self, at: QPoint) -> None:
        """Go there, rest, press."""
        self.glide(at)
        QTest.mouseClick(self.window.canvas, LEFT, pos=at)
        self.rest()


def tour(editor: Editor) -> None:
    """A stopped wire, why it is stopped, and what comes back once the stop is tried open."""
    canvas = editor.window.canvas
    editor.window.docks.by_name["inspector"].hide()
    editor.open(ASSETS / "diagrams" / f"mxnet_seed{SUFFIX}")
    editor.shoot(1800)
    editor.click(canvas.wire_position("triple.b"))
    editor.shoot(3200)
    editor.click(canvas.block_rect("stop").topLeft() + QPoint(15, 10) * canvas.zoom())
    editor.shoot(3600)
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    editor.rest()
    editor.shoot(1200)


def lanes(editor: Editor) -> Iterator[tuple[str, QImage]]:
    """Every state and badge: the chains that carry gradient, then the others."""
    path = editor.window.settings.folder / f"states{SUFFIX}"
    save(states(), path)
    editor.open(path)
    editor.window.settings.picture = {"legend": "none"}
    page = editor.window.document.diagram.main
    for name, chosen in (
        ("carrying", [block for block, at in page.layout.items() if at.x < 1100]),
        ("cut", [block for block, at in page.layout.items() if at.x > 1100]),
    ):
        editor.window.canvas.select(frozenset(chosen))
        editor.window.actions_by_name["copy_picture"].trigger()
        yield name, QApplication.clipboard().image()


def stills(folder: Path) -> Iterator[tuple[str, QImage]]:
    """The pictures of the manual, by name."""
    with opened(folder) as editor:
        yield from lanes(editor)
    with opened(folder) as editor:
        editor.open(ASSETS / "diagrams" / f"mxnet_seed{SUFFIX}")
        editor.click(editor.window.canvas.wire_position("triple.b"))
        yield "editor", editor.window.grab().toImage()
    with opened(folder) as editor:
        editor.open(ASSETS / "diagrams" / f"gan{SUFFIX}")
        yield "gan", editor.window.grab().toImage()
    with opened(folder) as editor:
        path = editor.window.settings.folder / f"moons{SUFFIX}"
        save(moons(), path)
        editor.open(path)
        yield "views", editor.window.grab().toImage()


def moons() -> Diagram:
    """Two moons that a network tells apart after some training, in views."""
    draw = np.random.default_rng(4)
    angle, labels = draw.uniform(0.0, np.pi, 200), np.repeat([0, 1], 100)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    places = np.where(labels[:, None] == 0, upper, (1.0, 0.5) - upper)

    @gw.page
    def network(points: Any) -> Any:
        hidden = gw.tanh(gw.linear(points, gw.own(seed=1), gw.own(), units=16, name="hidden"))
        return gw.linear(hidden, gw.own(seed=2), gw.own(), units=1, name="readout")

    points = gw.constant("moons", places + draw.normal(scale=0.12, size=(200, 2)))
    targets = gw.constant("classes", labels)
    score = network(points, name="network")
    error = gw.binary_cross_entropy(score, gw.constant("targets", labels[:, None] * 1.0))
    loss = gw.loss(error, name="loss")
    decision = gw.field(points, targets, page="network", name="decision", resolution=120)
    session = gw.Session(gw.build(loss, decision, gw.histogram(score, bins=24, name="scores")))
    optimiser = gw.Adam(lr=0.02)
    for _ in range(400):
        session.step(optimiser)
    trained = session.diagram_with_values()
    sizes = {"decision": Style(size=Size(420.0, 340.0))}
    return gw.arrange(apply(trained, StyleBlocks(sizes)).after)


@contextmanager
def opened(folder: Path, theme: str = "light") -> Iterator[Editor]:
    """A window that is closed at the end."""
    editor = Editor(folder, theme)
    try:
        yield editor
    finally:
        give_up(editor.window)


def pillow(picture: QImage) -> Image.Image:
    """A picture of Qt's as one of Pillow's."""
    buffer = QBuffer()
    buffer.open(QBuffer.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    return Image.open(io.BytesIO(buffer.data().data())).convert("RGB")


def small(picture: QImage, width: int = 1280) -> QImage:
    """No wider than ``width``."""
    smooth = Qt.TransformationMode.SmoothTransformation
    return picture.scaledToWidth(width, smooth) if picture.width() > width else picture


def main(only: str = "") -> None:
    """Write all pictures, or those whose name has ``only`` in it."""
    application = QApplication.instance() or QApplication(sys.argv)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        if only in "tour":
            with opened(Path(place)) as editor:
                tour(editor)
                write_tour(editor.frames)
        for name, picture in stills(Path(place)):
            if only in name:
                quantized(pillow(small(picture))).save(PICTURES / f"{name}.png", optimize=True)
    del application


def quantized(picture: Image.Image) -> Image.Image:
    """With a palette of its own: a third of the size, and no difference to be seen."""
    return picture.quantize(COLOURS * 2, dither=Image.Dither.NONE)


def write_tour(frames: list[tuple[Image.Image, int]]) -> None:
    """Join the frames, all with the colours of the busiest one."""
    first = max(frames, key=lambda frame: len(frame[0].getcolors(1 << 24) or ()))[0]
    palette = first.quantize(COLOURS, dither=Image.Dither.NONE)
    pictures = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame, _ in frames]
    pictures[0].save(
        TOUR,
        save_all=True,
        append_images=pictures[1:],
        duration=[milliseconds for _, milliseconds in frames],
        loop=0,
        optimize=True,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
