"""Diagrams to export, and what the runtime computes of them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from gradwire.runtime.diagram import Diagram, loads
from gradwire.runtime.interchange.export.source import export_source

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session

SUFFIX = ".gradwire.json"
FOLDERS = [Path(str(files("gradwire.assets") / name)) for name in ("diagrams", "lessons")]
EXAMPLES = {
    path.name.removesuffix(SUFFIX): path
    for folder in FOLDERS
    for path in sorted(folder.glob(f"*{SUFFIX}"))
}
"""The files of all examples, by name."""
_MAKES_FLOATS = {"Variable", "Constant", "Input", "RandomUniform", "RandomNormal", "OneHot"}


def in_float64(name: str) -> Diagram:
    """An example with everything that would be float32 in float64."""
    record = json.loads(EXAMPLES[name].read_text(encoding="utf-8"))
    for page in record["pages"].values():
        for block in page["blocks"].values():
            _widen(block)
    return loads(json.dumps(record))


def _widen(block: dict[str, Any]) -> None:
    if block["type"] in _MAKES_FLOATS and block.get("dtype", "float32") == "float32":
        whole = isinstance(block.get("value"), int) and block["type"] == "Constant"
        block["dtype"] = "int64" if whole else "float64"
    for column in block.get("columns", {}).values():
        column.setdefault("dtype", "float64")
    for part in block.values():
        if isinstance(part, dict) and "variable" in part:
            part["variable"].setdefault("dtype", "float64")


def run(session: Session, target: str, folder: Path) -> dict[str, Any]:
    """The module of an exported session, executed."""
    exported = export_source(session, target, "arrays.safetensors")
    if exported.arrays:
        arrays = {key: np.ascontiguousarray(array) for key, array in exported.arrays.items()}
        (folder / "arrays.safetensors").write_bytes(safetensors.numpy.save(arrays))
    module: dict[str, Any] = {"__file__": str(folder / "module.py"), "__name__": "exported"}
    exec(compile(exported.source, "module.py", "exec"), module)
    return module
