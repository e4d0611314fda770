"""Recognises Keras files by their content."""

from __future__ import annotations

import zipfile
from pathlib import Path

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.zips import directory
from gradwire.runtime.diagram.files.regular import open_regular

CONFIG, WEIGHTS, METADATA = "config.json", "model.weights.h5", "metadata.json"
_ZIP = b"PK\x03\x04"


def is_keras(head: bytes, path: Path) -> bool:
    """Whether a file is a zip with the configuration and the weights of a model."""
    if not head.startswith(_ZIP):
        return False
    try:
        with open_regular(path) as file:
            names = directory(file)
    except (FileError, OSError, zipfile.BadZipFile):
        return False
    return CONFIG.encode() in names and WEIGHTS.encode() in names
