"""Recognises Keras files by their content."""

from __future__ import annotations

from pathlib import Path

from gradwire.runtime.interchange.importing.formats import names_in_zip

CONFIG, WEIGHTS, METADATA = "config.json", "model.weights.h5", "metadata.json"


def is_keras(head: bytes, path: Path) -> bool:
    """Whether a file is a zip with the configuration and the weights of a model."""
    names = names_in_zip(head, path)
    return CONFIG.encode() in names and WEIGHTS.encode() in names
