"""The examples that come with Gradwire, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path

SUFFIX = ".gradwire.json"
ASSETS = Path(str(files("assets")))
"""The folder of all resources."""


_LARGE = 24
"""Number of blocks from which an example is a large one."""
_VERSIONS = ("_stopped", "_unstopped")


class Group(Enum):
    """Groups of examples, in the order shown."""

    BASICS = 1
    STOPS = 2
    """Examples with a stopped and an unstopped version."""
    LARGE = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A diagram file of ``assets/diagrams`` with its title, description and group."""

    path: Path
    title: str
    description: str
    group: Group

    @property
    def stem(self) -> str:
        """Name of the file without ending and version: the same for versions of one example."""
        name = self.path.name.removesuffix(SUFFIX)
        return name.removesuffix(_VERSIONS[1]).removesuffix(_VERSIONS[0])


@cache
def examples() -> tuple[Example, ...]:
    """All examples, sorted by title after the seed diagram."""
    found = [_example(path) for path in sorted((ASSETS / "diagrams").glob(f"*{SUFFIX}"))]
    return tuple(sorted(found, key=lambda e: ("seed" not in e.path.name, e.title.casefold())))


def _example(path: Path) -> Example:
    name = path.name.removesuffix(SUFFIX).replace("_", " ").capitalize()
    record = json.loads(path.read_text(encoding="utf-8"))
    blocks = sum(len(page["blocks"]) for page in record["pages"].values())
    group = Group.LARGE if blocks >= _LARGE else Group.BASICS
    if path.name.removesuffix(SUFFIX).endswith(_VERSIONS):
        group = Group.STOPS
    return Example(path, record.get("title") or name, record.get("description") or "", group)
