"""The files of an export: a model, or source with the arrays that it loads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import safetensors.numpy

from gradwire.runtime.interchange.export.content import content_of
from gradwire.runtime.interchange.export.source import TARGETS, export_source
from gradwire.runtime.interchange.export.systems.onnx.model import onnx_model

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session

ONNX = "onnx"
ENDINGS: Final[Mapping[str, str]] = {**dict.fromkeys(TARGETS, ".py"), ONNX: ".onnx"}
"""The ending of the file for each system."""
ARRAYS = "_arrays.safetensors"
"""The end of the name of the file of arrays: no data of the user is called so by chance."""


def exported_files(session: Session, system: str, file: Path) -> dict[Path, bytes]:
    """The content of each file of an export; ``file``, which may load the others, is the last.

    Raises ExportError for what the system can't express, naming the block and the reason.
    """
    if system == ONNX:
        return {file: onnx_model(content_of(session))}
    arrays_file = file.with_name(file.stem + ARRAYS)
    exported = export_source(session, system, arrays_file.name)
    files: dict[Path, bytes] = {}
    if exported.arrays:
        plain = {key: np.ascontiguousarray(array) for key, array in exported.arrays.items()}
        files[arrays_file] = safetensors.numpy.save(plain)
    files[file] = exported.source.encode()
    return files
