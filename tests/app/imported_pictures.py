"""Makes the manual's pictures of imported models: ``python -m tests.app.imported_pictures``.

Needs PyTorch. The models are those of ``tests.interchange``, captured and shown by the editor.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QApplication

import gradwire as gw
from gradwire.app.services.examples import SUFFIX
from tests.app.screenshots import PICTURES, opened, pillow, quantized, small
from tests.assets.examples import MANUAL, fences

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

    from gradwire.runtime.interchange.importing.imported import Imported

WIDTH = 1200
"""Width of the window, px."""


def broken() -> Imported:
    """The autoencoder of the manual, whose variance is detached."""
    page = fences((MANUAL / "pytorch.md").read_text(encoding="utf-8"))
    code = next(fence for fence in page if fence.language == "python")
    names: dict[str, Any] = {"__name__": "vae"}
    exec(compile(code.text, code.file, "exec"), names)
    found: Imported = names["imported"]
    return found


def captured(name: str) -> Imported:
    """A model of the tests, captured."""
    from tests.interchange.torch_models import case

    model, args = case(name)
    return gw.capture(model, *args)


def shown(imported: Imported, folder: Path, height: int, *trail: str, dock: str = "") -> QImage:
    """The window with a page of a model and one of its panels."""
    with opened(folder) as editor:
        window = editor.window
        window.resize(WIDTH, height)
        path = window.settings.folder / f"model{SUFFIX}"
        gw.save(imported.diagram, path)
        editor.open(path)
        if trail:
            window.navigation.go(trail)
        if dock:
            window.docks.bring_up(dock)
        editor.rest()
        window.canvas.zoom_to_fit()
        editor.rest()
        return window.grab().toImage()


def main() -> None:
    """Write all pictures."""
    application = QApplication.instance() or QApplication(sys.argv)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pictures = {
            "resnet_block": shown(captured("ResNet-18"), folder, 420, "layer2", "0"),
            "gpt_block": shown(captured("GPT"), folder, 420, "blocks", "0"),
            "broken_vae": shown(broken(), folder, 860, dock="doctor"),
        }
        for name, picture in pictures.items():
            quantized(pillow(small(picture))).save(PICTURES / f"{name}.png", optimize=True)
    del application


if __name__ == "__main__":
    main()
