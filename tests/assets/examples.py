"""The examples of a Markdown page, in order: Python with what it prints, and lines of shell."""

from __future__ import annotations

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "assets" / "manual"
PAGES_OF_PEERS = {
    ROOT / "README.md": "torch",
    MANUAL / "pytorch.md": "torch",
    MANUAL / "watching.md": "torch",
    MANUAL / "programs.md": "torch",
    MANUAL / "jax.md": "jax",
    MANUAL / "engines.md": "jax",
}
"""Pages whose examples need another system, by that, which test_peer_pages.py asks for."""
_FENCE = re.compile(
    r"^(````?)(\w+)\n(.*?)^\1$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Fence:
    """One block of code of a page, and the output that stands directly below it."""

    language: str
    text: str
    output: str

    @property
    def file(self) -> str:
        """The file that its first line says it is, ``# vae.py``; empty for none."""
        named = re.match(r"# ([\w/]+\.py)\n", self.text)
        return named[1] if named else ""


def fences(text: str) -> list[Fence]:
    """All blocks of code of a page."""
    return [Fence(*found.groups("")[1:]) for found in _FENCE.finditer(text)]


def run_python(path: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Run the Python of a page as one program; its names, and what was to be printed and was."""
    names: dict[str, Any] = {"__name__": f"example_of_{path.stem}"}
    outputs = []
    for fence in fences(path.read_text(encoding="utf-8")):
        if fence.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(fence.text, fence.file or str(path), "exec"), names)
            outputs.append((fence.output, printed.getvalue()))
    return names, outputs


def shell_lines(path: Path) -> list[str]:
    """Every line of shell on a page."""
    text = path.read_text(encoding="utf-8")
    return [line for f in fences(text) if f.language == "sh" for line in f.text.splitlines()]
