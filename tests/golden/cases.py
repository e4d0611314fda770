"""What every schema makes of its files: cases that can be checked, or are left out and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.golden.comparison import Comparison

DATA = Path(__file__).parent / "data"
"""The cases that came with the project."""


@dataclass(frozen=True)
class Case:
    """One case of a file: ``check`` runs it, or ``left_out`` says why nothing does."""

    identity: str
    check: Callable[[], Comparison] | None
    left_out: str = ""

    def __str__(self) -> str:
        return self.identity


def identified(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The cases of a document by id; by place where they have none, which fails when they run."""
    for i, case in enumerate(document["cases"]):
        known = isinstance(case, dict) and "id" in case
        yield str(case["id"]) if known else f"case {i}", case


def choices(schema: str) -> dict[str, Any]:
    """Where our numbers differ from a system's by choice, with reasons; one file a schema."""
    text = (Path(__file__).parent / "choices" / f"{schema}.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read
