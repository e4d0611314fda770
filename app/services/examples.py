"""The examples that come with Gradwire, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

SUFFIX = ".gradwire.json"
ASSETS = Path(str(files("assets")))
"""The folder of all resources."""


@dataclass(frozen=True, slots=True)
class Example:
    """A diagram file of ``assets/diagrams`` with its title and description."""

    path: Path
    title: str
    description: str


@cache
def examples() -> tuple[Example, ...]:
    """All examples, sorted by title after the seed diagram."""
    found = [_example(path) for path in sorted((ASSETS / "diagrams").glob(f"*{SUFFIX}"))]
    return tuple(sorted(found, key=lambda e: ("seed" not in e.path.name, e.title.casefold())))


def _example(path: Path) -> Example:
    name = path.name.removesuffix(SUFFIX).replace("_", " ").capitalize()
    record = json.loads(path.read_text(encoding="utf-8"))
    return Example(path, record.get("title") or name, record.get("description") or "")
