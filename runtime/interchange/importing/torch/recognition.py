"""Recognises exported programs of PyTorch by their content."""

from __future__ import annotations

from pathlib import Path

from gradwire.runtime.interchange.importing.formats import names_in_zip

MAX_MEMBERS = 200_000
MODEL = "models/model.json"


def is_pt2(head: bytes, path: Path) -> bool:
    """Whether a file is an exported program, by how it begins and what it contains."""
    return f"/{MODEL}".encode() in names_in_zip(head, path)
