"""Source code, or a model, from the diagram of a session, and the files that hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import safetensors.numpy

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.interchange.export.content import ExportContent, content_of
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.interchange.export.systems.jax_source import jax_module
from gradwire.runtime.interchange.export.systems.numpy_source import numpy_module
from gradwire.runtime.interchange.export.systems.onnx.model import onnx_model
from gradwire.runtime.interchange.export.systems.torch_source import torch_module

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Session


TARGETS: Mapping[str, Callable[[ExportContent, str], tuple[str, dict[str, Array]]]] = {
    "numpy": numpy_module,
    "torch": torch_module,
    "jax": jax_module,
}
"""What writes a module for each system: from the content, and the name of the file of arrays."""


@dataclass(frozen=True, eq=False)
class Exported:
    """A module, and the large arrays that it loads from a file beside it; none is no file."""

    source: str
    arrays: Mapping[str, Array]


def export_source(session: Session, target: str, arrays_file: str = "arrays") -> Exported:
    """The diagram of a session as a module for a system, one of ``TARGETS``.

    Large arrays belong into ``arrays_file``, a safetensors file beside the module. Raises
    ExportError for what the system can't express, naming the block and the reason.
    """
    write = TARGETS.get(target)
    if write is None:
        raise ExportError(
            f"There is no export to {target!r}.",
            expected="one of " + ", ".join(TARGETS),
            next_step=did_you_mean(target, TARGETS),
        )
    source, arrays = write(content_of(session), arrays_file)
    return Exported(source, arrays)


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
