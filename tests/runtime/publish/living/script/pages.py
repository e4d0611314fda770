"""Published diagrams as files that browsers open."""

from __future__ import annotations

from pathlib import Path

from gradwire.runtime.diagram import Diagram, load
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page

ASSETS = Path(__file__).parents[5] / "assets"
LESSONS = sorted(ASSETS.glob("lessons/*.json"))
EXAMPLES = [*sorted(ASSETS.glob("diagrams/*.json")), *LESSONS]


class Pages:
    """Published diagrams as files, each written once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str) -> Path:
        file = self.folder / f"{name}.html"
        if not file.exists():
            (source,) = (each for each in EXAMPLES if each.name.startswith(f"{name}."))
            self.write(file, load(source))
        return file

    def of(self, name: str, diagram: Diagram) -> Path:
        file = self.folder / f"{name}.html"
        self.write(file, diagram)
        return file

    def write(self, file: Path, diagram: Diagram) -> None:
        file.write_text(page(living_data(diagram).data, "<svg></svg>"), encoding="utf-8")
