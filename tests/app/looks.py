"""Makes pictures of the editor to be looked at: ``python -m tests.app.looks FOLDER [ONLY]``.

Every example, arranged graphs and what stands beside the canvas, in windows of three sizes and in
three themes, each as a picture and joined on sheets. ONLY is a part of names like
``dark-1280/gan``.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.panels.tables.losses import APART
from gradwire.app.services.examples import SUFFIX, examples
from gradwire.app.services.garbage import GarbageCollector
from gradwire.app.services.theme import THEMES
from gradwire.runtime.diagram import Diagram, save
from tests.app.gallery import states
from tests.app.mouse import LEFT
from tests.app.screenshots import Editor, opened, pillow
from tests.benchmarks.graphs import chain, lstm, perceptron

SIZES = ((1280, 720), (1600, 1000), (3840, 2160))
"""Windows, px: a small screen, a usual one, and one of 4K at 100 %."""
COLUMNS, ROWS, WIDTH = 2, 3, 960
"""Pictures on a sheet, and their width there, px."""


def main(folder: Path, only: str = "") -> None:
    """Write the pictures whose names contain ``only``, and the sheets they are on."""
    application = QApplication.instance() or QApplication(sys.argv)
    GarbageCollector(application)
    for theme in THEMES:
        for width, height in SIZES:
            kind = f"{theme.replace(' ', '-')}-{width}"
            shown = [
                _shot(folder / kind, theme, (width, height), name, scene)
                for name, scene in SCENES.items()
                if only in f"{kind}/{name}"
            ]
            if shown:
                _write_sheets(folder / kind, shown)
                print(f"{kind}: {len(shown)} pictures", flush=True)
    del application


def _shot(
    folder: Path, theme: str, size: tuple[int, int], name: str, scene: Callable[[Editor], None]
) -> Image.Image:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as settings, opened(Path(settings), theme) as editor:
        editor.window.resize(*size)
        editor.rest()
        scene(editor)
        editor.rest()
        picture = pillow(editor.window.grab().toImage())
    picture.save(folder / f"{name}.png")
    return picture


def _write_sheets(folder: Path, pictures: list[Image.Image]) -> None:
    height = round(WIDTH * pictures[0].height / pictures[0].width)
    for number in range(math.ceil(len(pictures) / (COLUMNS * ROWS))):
        sheet = Image.new("RGB", (COLUMNS * WIDTH, ROWS * height), "#888888")
        some = pictures[number * COLUMNS * ROWS :][: COLUMNS * ROWS]
        for place, picture in enumerate(some):
            row, column = divmod(place, COLUMNS)
            small = picture.resize((WIDTH - 4, height - 4), Image.Resampling.LANCZOS)
            sheet.paste(small, (column * WIDTH + 2, row * height + 2))
        sheet.save(folder.with_name(f"{folder.name}-{number + 1}.png"))


def _example(path: Path) -> Callable[[Editor], None]:
    return lambda editor: editor.open(path)


def _arranged(diagram: Diagram) -> Callable[[Editor], None]:
    def scene(editor: Editor) -> None:
        _open(editor, diagram)
        editor.window.actions_by_name["arrange"].trigger()
        editor.rest()
        editor.window.canvas.zoom_to_fit()

    return scene


def _open(editor: Editor, diagram: Diagram) -> None:
    path = editor.window.settings.folder / f"looks{SUFFIX}"
    save(diagram, path)
    editor.open(path)


def _gan(editor: Editor) -> None:
    editor.open(next(each.path for each in examples() if "gan" in each.path.name))


def _panels(editor: Editor) -> None:
    """Every panel open, and a wire asked about."""
    _gan(editor)
    for dock in editor.window.docks.by_name.values():
        dock.show()
    editor.window.canvas.zoom_to_fit()
    QTest.mouseClick(
        editor.window.canvas, LEFT, pos=editor.window.canvas.wire_position("D_fake.sample")
    )


def _side_by_side(editor: Editor) -> None:
    """The lanes of two losses."""
    _gan(editor)
    editor.window.losses.choose(APART)


SCENES: dict[str, Callable[[Editor], None]] = {
    **{each.path.name.removesuffix(SUFFIX): _example(each.path) for each in examples()},
    "states": lambda editor: _open(editor, states()),
    "chain of 300": _arranged(chain(300)),
    "perceptron of 12": _arranged(perceptron(12)),
    "lstm of 16": _arranged(lstm(16)),
    "start": lambda editor: None,
    "panels": _panels,
    "losses side by side": _side_by_side,
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
