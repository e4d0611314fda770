"""Recognises exported programs of PyTorch by their content."""

from __future__ import annotations

import zipfile
from pathlib import Path

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.zips import directory
from gradwire.runtime.diagram.files.regular import open_regular

MAX_MEMBERS = 200_000
MODEL = "models/model.json"


def is_pt2(head: bytes, path: Path) -> bool:
    """Whether a file is an exported program, by how it begins and what it contains."""
    if not head.startswith(b"PK"):
        return False
    try:
        with open_regular(path) as file:
            return f"/{MODEL}".encode() in directory(file)
    except (FileError, OSError, zipfile.BadZipFile):
        return False
